"""A history of speed: ``python -m benchmarks.track [--no-run] [--history FILE] [--picture FILE]``.

Appends ratios of processor time, measured side by side in one process with one thread, to a file with one JSON object
for every run: the commit, the kind of machine (processor and cores), versions, ratios. Then draws all runs. A ratio
that is a fifth above the smallest of earlier runs on the same kind of machine is red, on the screen and in the picture;
`--check` then ends with status 1.
"""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import subprocess
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks import scale_sides
from benchmarks.data import digits, imagelike
from benchmarks.measure import ROOT, cores, timed

HISTORY, PICTURE = ROOT / "benchmarks" / "history.jsonl", ROOT / "docs" / "benchmarks-history.svg"
WORSE = 1.2  # times the best earlier ratio
RED, PLAIN = "\033[31m", "\033[0m"

Run = dict[str, Any]
Solve = Callable[[], Any]


def sides(quick: bool = False) -> dict[str, tuple[Solve, Solve]]:
    """What is tracked: the ratio of the first to the second of every pair."""
    n, few, d = (2_500, 200, 64) if quick else (10_000, 1000, 784)
    many = 5_000 if quick else 50_000
    rank, asked = 20 if quick else 100, {"progress": False, "random_state": 0}
    Q = scale_sides.queries(200, d, 0)

    def spectral(rows: int) -> Solve:
        P = scale_sides.rows(0, rows, d, 0)
        return lambda: sc.complete(P, Q, method="smcnn", rank=rank, route="structured", verify=False, **asked)

    small = imagelike(few, 100 if quick else 200, d, 0)
    pixels = digits(few, 50 if quick else 200, 0)
    A = np.random.default_rng(0).random((2_000, d))

    def products() -> None:
        for _ in range(20):
            A.T @ A

    def posterior(effort: str) -> Solve:
        return lambda: sc.complete(*small, method="posterior", effort=effort, **asked)

    def completed(method: str) -> Solve:
        return lambda: sc.complete(*pixels, method=method, **asked)

    return {
        f"smcnn {n:,} x {d} / bare products": (spectral(n), scale_sides.bare(n, d, 200, rank, 0)),
        f"smcnn {many:,} x {d} / bare products": (spectral(many), scale_sides.bare(many, d, 200, rank, 0)),
        f"posterior full {few} x {d} / 20 products": (posterior("full"), products),
        f"posterior best {few} x {d} / full": (posterior("best"), posterior("full")),
        "auto, digits / posterior full": (completed("auto"), completed("posterior")),
    }


def measured(pairs: dict[str, tuple[Solve, Solve]], repeats: int = 3) -> dict[str, float]:
    """Ratios of processor time, by turns: medians over the repeats, after one run that is not counted."""
    found = {}
    for name, (one, other) in pairs.items():
        timed(one, 1, 1), timed(other, 1, 1)
        times = [(timed(one, 1, 1).cpu_s, timed(other, 1, 1).cpu_s) for _ in range(repeats)]
        found[name] = statistics.median(a / b for a, b in times)
    return found


def kind_of_machine() -> str:
    """Processor and cores; no name of a host."""
    model = platform.processor() or platform.machine()
    info = Path("/proc/cpuinfo")
    if info.exists():
        named = [
            line.split(":", 1)[1].strip() for line in info.read_text().splitlines() if line.startswith("model name")
        ]
        model = named[0] if named else model
    return f"{model}, {cores()} cores"


def commit() -> str:
    """The commit, with a plus where files differ from it."""
    asked = {"cwd": ROOT, "capture_output": True, "text": True, "check": True}
    name = subprocess.run(["git", "rev-parse", "--short", "HEAD"], **asked).stdout.strip()
    changed = subprocess.run(["git", "status", "--porcelain", "--untracked-files=no"], **asked).stdout.strip()
    return name + "+" * bool(changed)


def read(path: Path) -> list[Run]:
    """All runs, the oldest first."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()] if path.exists() else []


def append(path: Path, run: Run) -> None:
    """Add one run."""
    with path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(run) + "\n")


def worsened(runs: list[Run]) -> dict[tuple[int, str], float]:
    """Ratios that are a fifth worse than the best before them: (position of the run, name) to times that best."""
    best: dict[tuple[str, str], float] = {}
    found = {}
    for i, run in enumerate(runs):
        for name, ratio in run["ratios"].items():
            key = (run["machine"], name)
            if key in best and ratio > WORSE * best[key]:
                found[i, name] = ratio / best[key]
            best[key] = min(ratio, best.get(key, ratio))
    return found


def shown(runs: list[Run], *, colour: bool) -> str:
    """The last run, each ratio beside the best before it on the same kind of machine."""
    last, red = runs[-1], worsened(runs)
    lines = [f"{last['commit']}, {last['machine']}"]
    for name, ratio in last["ratios"].items():
        same = [run["ratios"][name] for run in runs[:-1] if run["machine"] == last["machine"] and name in run["ratios"]]
        text = f"  {name:48s} {ratio:7.2f}" + (f"   best before {min(same):.2f}" if same else "")
        worse = (len(runs) - 1, name) in red
        text += "   a fifth worse, or more" * worse
        lines.append(f"{RED}{text}{PLAIN}" if worse and colour else text)
    return "\n".join(lines)


def draw(runs: list[Run], path: Path) -> None:
    """One panel for every ratio, a line for every kind of machine, what worsened in red."""
    import matplotlib

    matplotlib.use("Agg")
    matplotlib.rcParams["svg.hashsalt"] = "history"  # the same runs give the same file
    import matplotlib.pyplot as plt

    names = list(dict.fromkeys(name for run in runs for name in run["ratios"]))
    machines, red = list(dict.fromkeys(run["machine"] for run in runs)), worsened(runs)
    figure, panels = plt.subplots(len(names), 1, figsize=(8, 1.7 * len(names)), sharex=True, squeeze=False)
    for name, panel in zip(names, panels[:, 0], strict=True):
        for machine in machines:
            at = [i for i, run in enumerate(runs) if run["machine"] == machine and name in run["ratios"]]
            panel.plot(at, [runs[i]["ratios"][name] for i in at], "-", color="0.6", linewidth=1)
            colours = ["red" if (i, name) in red else "0.2" for i in at]
            panel.scatter(at, [runs[i]["ratios"][name] for i in at], c=colours, s=22, zorder=3)
        panel.set_title(name, loc="left", fontsize=9)
        panel.set_ylim(bottom=0)
        panel.tick_params(labelsize=8)
    panels[-1, 0].set_xticks(range(len(runs)), [run["commit"] for run in runs], rotation=45, ha="right")
    figure.tight_layout()
    figure.savefig(path, metadata={"Date": None} if path.suffix == ".svg" else None)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.track", description=__doc__)
    parser.add_argument("--history", type=Path, default=HISTORY, metavar="FILE", help="runs, one in every line")
    parser.add_argument("--picture", type=Path, default=PICTURE, metavar="FILE", help=".svg or .png")
    parser.add_argument("--no-run", action="store_true", help="measure nothing, draw what is there")
    parser.add_argument("--quick", action="store_true", help="small sizes: a smoke test, no result")
    parser.add_argument("--check", action="store_true", help="status 1 where the last run has a ratio that worsened")
    asked = parser.parse_args()
    if not asked.no_run:
        run = {
            "commit": commit(),
            "date": datetime.now(UTC).date().isoformat(),
            "machine": kind_of_machine(),
            "python": platform.python_version(),
            "numpy": np.__version__,
            "ratios": {name: round(ratio, 3) for name, ratio in measured(sides(asked.quick)).items()},
        }
        append(asked.history, run)
    runs = read(asked.history)
    if not runs:
        sys.exit(f"{asked.history} has no runs yet; leave out --no-run")
    print(shown(runs, colour=sys.stdout.isatty()))
    draw(runs, asked.picture)
    if asked.check and any(i == len(runs) - 1 for i, _ in worsened(runs)):
        sys.exit(1)


if __name__ == "__main__":
    main()
