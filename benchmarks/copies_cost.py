"""What looking for copies costs: ``python -m benchmarks.copies_cost [NAME=FILE.npz ...]``.

CPU time of `complete` with copies over that without, 200 queries that are no copies, 80 % of their values missing;
the median of ratios of runs side by side, after one of each.
"""

from __future__ import annotations

import argparse
import time

import numpy as np

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.search_cells import Cell, data

REPEATS, CANDIDATES, QUERIES = 9, 1000, 200


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.copies_cost")
    parser.add_argument("files", nargs="*", metavar="NAME=FILE.npz", help="further tables, arrays X")
    parser.add_argument("--effort", nargs="+", default=["fast", "full"], help="of posterior (fast full)")
    asked = parser.parse_args()
    tables = data(asked.files)
    print(table([line(name, tables[name][0], effort) for name in tables for effort in asked.effort]))


def line(name, X, effort):
    """Seconds without, and how many times as long it takes with copies."""
    n = min(CANDIDATES, 3 * len(X) // 4)
    P, fresh, rng = Cell(name, X, n, QUERIES, "independent").parts(0)
    Q = Cell(name, X, n, QUERIES, "independent").hidden(fresh[:QUERIES], rng)
    times = np.array([[seconds(P, Q, effort, copies) for copies in (False, True)] for _ in range(REPEATS + 1)])[1:]
    return {
        "data": f"{name}, {n} x {X.shape[1]}, {len(Q)} queries",
        "effort": effort,
        "without, s": float(np.median(times[:, 0])),
        "ratio": f"{np.median(times[:, 1] / times[:, 0]):.2f}",
    }


def seconds(P, Q, effort, copies):
    """CPU time of one call."""
    began = time.process_time()
    sc.complete(P, Q, method="posterior", effort=effort, copies=copies, progress=False)
    return time.process_time() - began


if __name__ == "__main__":
    main()
