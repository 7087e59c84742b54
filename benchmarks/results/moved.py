"""How far the results have moved since a revision: ``python -m benchmarks.results.moved REVISION [--again N]``.

The stored rows of both versions are compared trial by trial. With ``--again`` that many trials of the older version are
drawn, as many of each part and method as possible, and run with the present version; nothing is stored.
"""

from __future__ import annotations

import argparse
import math
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from benchmarks.__main__ import table
from benchmarks.measure import ROOT
from benchmarks.results import data
from benchmarks.results.page import ROWS
from benchmarks.results.runner import Row, solve
from benchmarks.results.trial import KEY, Trial
from simcomplete._rows.json_files import parse_json
from simcomplete._rows.progress import track

MOVED = 0.01  # of an error: beyond this a trial is counted as moved


def main() -> None:
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.results.moved", description="This version and an older."
    )
    parser.add_argument("revision", help="of the older version, as git knows it")
    parser.add_argument("--again", type=int, default=0, metavar="N", help="draw N trials and run them now")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (0)")
    asked = parser.parse_args()
    text = subprocess.run(
        ["git", "show", f"{asked.revision}:{ROWS.relative_to(ROOT).as_posix()}"],
        cwd=ROOT,
        check=True,
        capture_output=True,
        text=True,
    ).stdout
    before = list(read(text))
    now = again(before, asked.again, asked.seed) if asked.again else list(read(ROWS.read_text(encoding="utf-8")))
    print(table(compared(before, now)))


def read(text: str) -> Iterator[Row]:
    """Rows of a file of results."""
    for line in text.splitlines():
        yield parse_json(line, "a row", "choose a revision whose rows are whole")


def key(row: Row) -> tuple[object, ...]:
    """Which trial a row is of."""
    return tuple(row[name] for name in KEY)


def again(before: Sequence[Row], n: int, seed: int) -> list[Row]:
    """Run drawn trials with the present version: one of every part, method and effort in turn."""
    groups: dict[tuple[object, ...], list[Trial]] = defaultdict(list)
    for row in before:
        if data.there(row["dataset"]):
            groups[row["part"], row["method"], row["effort"]].append(Trial(**{name: row[name] for name in KEY}))
    rng = np.random.default_rng(seed)
    orders = [[trials[i] for i in rng.permutation(len(trials))] for trials in groups.values()]
    rounds = range(max(map(len, orders)))
    drawn = [trials[number] for number in rounds for trials in orders if number < len(trials)][:n]
    return [row for trial in track(drawn, "trials") for row in solve([trial])]


def compared(before: Iterable[Row], now: Iterable[Row]) -> list[Row]:
    """One line for every part, method and effort: ratios of errors, and differences of recall and coverage."""
    known = {key(row): row for row in before}
    pairs: dict[tuple[str, str], list[tuple[Row, Row]]] = defaultdict(list)
    for row in now:
        old = known.get(key(row))
        if old is not None and old["outcome"] == row["outcome"] == "done":
            effort = f", {row['effort']}" if row["effort"] else ""
            pairs[row["part"], row["method"] + effort].append((old, row))
    lines = []
    for (part, method), both in pairs.items():
        ratios = [new["error"] / old["error"] for old, new in both if old["error"]]
        line: Row = {"part": part, "method": method, "trials": len(both)}
        line["mean_ratio"] = math.exp(sum(map(math.log, ratios)) / len(ratios)) if ratios else 1.0
        line["least"], line["most"] = min(ratios, default=1.0), max(ratios, default=1.0)
        line["worse"] = sum(ratio > 1 + MOVED for ratio in ratios)
        for name in ("recall_ten", "coverage"):
            differences = [new[name] - old[name] for old, new in both if name in old and name in new]
            line[name] = sum(differences) / len(differences) if differences else None
        lines.append(line)
    return lines


if __name__ == "__main__":
    main()
