"""What `method="auto"` chooses, and how good that is: ``python -m benchmarks.auto_choice [--seeds 2]``.

Complete rows of the data sets in SIMCOMPLETE_DATA lose values: a tenth, half and four fifths of them at random, and
those that are large. Errors are those of the queries' similarities with the truth, relative to S0 (doing nothing is 1).
"""

from __future__ import annotations

import argparse
import time
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.results.data import COMPLETE, load, there
from simcomplete._auto.elect import DEFAULT_METHODS

CANDIDATES, QUERIES = 400, 100
LOST = ("0.1", "0.5", "0.8", "large")


def problem(name: str, lost: str, seed: int) -> tuple[Any, Any, Any]:
    """Candidates, queries, and these before they lost values."""
    X = load(name)
    X = X[np.random.default_rng(seed).permutation(len(X))[: CANDIDATES + QUERIES]]
    P, whole = X[:CANDIDATES], X[CANDIDATES:]
    if lost == "large":
        away = whole > np.quantile(P, 0.7, axis=0)
    else:
        away = np.random.default_rng(seed).random(whole.shape) < float(lost)
    away[:, 0] &= ~away.all(axis=1)  # something is left of every row
    return P, np.where(away, np.nan, whole), whole


def errors_of(P: Any, Q: Any, whole: Any) -> tuple[dict[str, float], Any, float]:
    """Errors of the methods that are compared, what `auto` made, and its processor seconds."""
    n = len(P)
    truth, S0 = (sc.overlap_similarity(np.vstack([P, rows]), progress=False)[n:] for rows in (whole, Q))
    asked: dict[str, Any] = {"progress": False, "random_state": 0}
    began = time.process_time()
    done = sc.complete(P, Q, **asked)
    seconds = time.process_time() - began

    def error(S: Any) -> float:
        return float(np.sum((S - truth) ** 2) / np.sum((S0 - truth) ** 2))

    made = {name: error(sc.complete(P, Q, method=name, **asked).similarity()[n:]) for name in DEFAULT_METHODS}
    return made, done, seconds


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.auto_choice", description=__doc__.splitlines()[0])
    parser.add_argument("--seeds", type=int, default=2)
    parser.add_argument("--sets", nargs="+", default=[name for name in COMPLETE if there(name)])
    told = parser.parse_args()
    rows, taken, wanted = [], 0, 0
    for name in told.sets:
        for lost in LOST:
            for seed in range(told.seeds):
                made, done, seconds = errors_of(*problem(name, lost, seed))
                best = min(made, key=lambda method: made[method])
                taken, wanted = taken + 1, wanted + (best == done.method)
                expected = {row["method"]: row["error"] for row in done.election}
                rows.append(
                    {
                        "data": name,
                        "lost": lost,
                        "seed": seed,
                        "chosen": done.method,
                        "expected": expected[done.method],
                        "error": made[done.method],
                        "best": best,
                        "its_error": made[best],
                        "cpu_s": seconds,
                    }
                )
    print(table(rows))
    worse = [row["error"] / row["its_error"] for row in rows]
    print(f"the best was chosen in {wanted} of {taken}; error over that of the best: at most {max(worse):.2f}")
    print(f"worse than doing nothing in {sum(row['error'] > 1 for row in rows)}")


if __name__ == "__main__":
    main()
