"""Many candidates: ``python -m benchmarks.scale [--quick] [--threads N] [--json FILE]``.

Candidates are a float32 file in a temporary folder, the factor goes to another; both are removed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

from benchmarks.__main__ import table
from benchmarks.measure import Settings, cores, facts, fresh, slope
from benchmarks.scale_sides import write

SIZES, FEATURES, QUERIES, RANK = (10_000, 100_000, 1_000_000), 784, 200, 100
DENSE = 20_000  # rows of a matrix of all pairs
STEPS = 3  # of descent, of the paper's 10,000
PATIENCE, ROOM = 600, 12 * 2**30  # seconds and bytes for KNNImputer
SIDES = "benchmarks.scale_sides:"


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.scale", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="small sizes, in a minute: a smoke test, no result")
    parser.add_argument("--only", choices=("blocks", "knn", "dense", "descent"), action="append")
    parser.add_argument("--json", type=Path, metavar="FILE", help="also write every row, with machine facts, here")
    parser.add_argument("--threads", type=int, default=cores(), help="threads of every side (default: all cores)")
    parser.add_argument("--seed", type=int, default=0, help="of the data (default: 0)")
    parser.add_argument("--sizes", type=int, nargs="+", metavar="N", help=f"rows of the files (default: {SIZES})")
    parser.add_argument("--folder", type=Path, help="where the temporary files go (4 GB)")
    told = parser.parse_args()
    settings = Settings(quick=told.quick, threads=told.threads, seed=told.seed)
    print(", ".join(f"{name} {value}" for name, value in facts(settings).items()))
    wanted = told.only or ["blocks", "knn", "dense", "descent"]
    written: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=told.folder) as room:
        parts = {
            "blocks": lambda: blocks(settings, Path(room), told.sizes),
            "knn": lambda: neighbours(settings, Path(room), told.sizes),
            "dense": lambda: dense(settings),
            "descent": lambda: descent(settings),
        }
        for name in wanted:
            rows = parts[name]()
            print(f"\n{name}\n{table(rows)}", flush=True)
            written += [{"benchmark": f"scale, {name}", **row, **facts(settings)} for row in rows]
            if told.json:
                told.json.write_text(json.dumps(written, indent=1) + "\n", encoding="utf-8")


def shape(settings: Settings) -> dict[str, int]:
    return {"n_q": 20, "rank": 10} if settings.quick else {"n_q": QUERIES, "rank": RANK}


def files(settings: Settings, room: Path, asked: list[int] | None = None) -> list[tuple[int, int, Path]]:
    """Sizes and files of candidates, made where they are not there yet."""
    sizes, d = ((5_000, 10_000, 20_000), 64) if settings.quick else (SIZES, FEATURES)
    found = [(n, d, room / f"{n}.npy") for n in asked or sizes]
    for n, _, path in found:
        if not path.exists():
            write(path, n, d, settings.seed)
    return found


def blocks(settings: Settings, room: Path, sizes: list[int] | None = None) -> list[dict[str, Any]]:
    """The two passes beside their bare products, and with the certificate; the exponent of growth in the last row."""
    rows: list[dict[str, Any]] = []
    for n, d, path in files(settings, room, sizes):
        told = {**shape(settings), "seed": settings.seed}
        repeats = 3 if n <= 100_000 else 1
        floor = fresh(SIDES + "bare", {**told, "n": n, "d": d}, repeats, settings.threads)
        for verify in (False, True):
            if verify and n == 1_000_000:
                continue  # two more passes: the ratio is that of 100,000
            arguments = {**told, "path": str(path), "verify": verify}
            side = fresh(SIDES + "by_block", arguments, repeats, settings.threads)
            rows.append(
                {
                    "side": "verify" if verify else "two passes",
                    "n_p": n,
                    "d": d,
                    **shape(settings),
                    "seconds": side["seconds"],
                    "cpu_s": side["cpu_s"],
                    "bare_s": floor["seconds"],
                    "bare_cpu_s": floor["cpu_s"],
                    "ratio": side["seconds"] / floor["seconds"],
                    "cpu_ratio": side["cpu_s"] / floor["cpu_s"],
                    "peak_mib": side["peak_mib"],
                    "before_mib": side["before_mib"],
                    "residual": side["result"]["residual"] if verify else "",
                    "repeats": repeats,
                    "times": side["times"],
                }
            )
    plain = [row for row in rows if row["side"] == "two passes"]
    grown = [row["n_p"] for row in plain]
    for name in ("seconds", "cpu_s") if len(grown) > 1 else ():
        whole, last = slope(grown, [row[name] for row in plain]), slope(grown[-2:], [row[name] for row in plain[-2:]])
        print(f"growth in n_p by {name}: exponent {whole:.3f}, over the last step {last:.3f}")
    return rows


def neighbours(settings: Settings, room: Path, sizes: list[int] | None = None) -> list[dict[str, Any]]:
    """scikit-learn's KNNImputer, as far as it goes."""
    rows = []
    for n, d, path in files(settings, room, sizes):
        arguments = {"path": str(path), "n_q": shape(settings)["n_q"], "seed": settings.seed, "room": ROOM}
        row: dict[str, Any] = {"side": "KNNImputer", "n_p": n, "d": d, "seconds": "", "cpu_s": "", "peak_mib": ""}
        try:
            side = fresh(SIDES + "knn", arguments, 1, settings.threads, timeout=PATIENCE)
            row |= {name: side[name] for name in ("seconds", "cpu_s", "peak_mib")} | {"outcome": "finished"}
        except subprocess.TimeoutExpired:
            row["outcome"] = f"not within {PATIENCE} s"
        except subprocess.CalledProcessError as error:
            row["outcome"] = f"ended with {error.returncode}, {ROOM / 2**30:.0f} GiB allowed"
        rows.append(row)
        if row["outcome"] != "finished":
            break  # what is larger will not finish either
    return rows


def dense(settings: Settings) -> list[dict[str, Any]]:
    """A matrix of all pairs, given or made from rows that may all be incomplete."""
    rows = []
    n, d = (2500, 64) if settings.quick else (DENSE, FEATURES)
    for given in ("matrix", "samples"):
        arguments = {**shape(settings), "n": n, "d": d, "seed": settings.seed, "side": given}
        side = fresh(SIDES + "dense", arguments, 1, settings.threads)
        rows.append(
            {
                "given": given,
                "n": n,
                "rank": arguments["rank"],
                **{name: side[name] for name in ("seconds", "cpu_s", "peak_mib", "before_mib")},
                "matrix_mib": n * n * 4 / 2**20,
                "route": side["result"]["route"],
            }
        )
    return rows


def descent(settings: Settings) -> list[dict[str, Any]]:
    """The paper's descent on the matrix of all pairs: seconds of one step, and of 10,000 of them by multiplication."""
    n, d = (2500, 64) if settings.quick else (DENSE, FEATURES)
    arguments = {**shape(settings), "n": n, "d": d, "seed": settings.seed, "steps": STEPS}
    side = fresh(SIDES + "descent", arguments, 1, settings.threads)
    step = side["result"]
    return [
        {
            "n": n,
            "rank": arguments["rank"],
            **step,
            "steps_10000_h": step["step_s"] * 10_000 / 3600,
            "peak_mib": side["peak_mib"],
        }
    ]


if __name__ == "__main__":
    main()
