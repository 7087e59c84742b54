"""What intervals and probabilities of a result cost after it was computed: ``python -m benchmarks.answers``.

Processor time of 500 queries and 3000 candidates of image-like data with 784 features, 80 % of the queries' values
missing, ``effort="fast"``; the first time, when tables are made and regressions learnt, and the median of later ones.
"""

from __future__ import annotations

import time

import numpy as np

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.data import MISSING, imagelike

CANDIDATES, QUERIES, FEATURES, REPEATS = 3000, 500, 784, 5


def main() -> None:
    X = imagelike(CANDIDATES + QUERIES, 1, FEATURES, 0)[0]
    P, Q = X[:CANDIDATES], X[CANDIDATES:]
    Q = np.where(np.random.default_rng(0).random(Q.shape) < MISSING, np.nan, Q)
    done = sc.complete(P, Q, method="posterior", effort="fast", progress=False)
    t = float(np.quantile(done.similarity("queries", "candidates"), 0.95))
    asked = {
        "interval(0.9)": lambda: done.interval(0.9),
        "quantile(0.5)": lambda: done.quantile(0.5),
        "std()": lambda: done.std(),
        f"probability(above={t:.2f})": lambda: done.probability(above=t),
        "top_probability(10)": lambda: done.top_probability(10),
        "search(10, above=...)": lambda: done.search(10, above=t),
    }
    rows = []
    for name, ask in asked.items():
        first, *later = [seconds(ask) for _ in range(REPEATS + 1)]
        rows.append({"asked": name, "first, s": f"{first:.3f}", "later, s": f"{np.median(later):.3f}"})
    print(table(rows))


def seconds(ask):
    """CPU time of one call."""
    began = time.process_time()
    ask()
    return time.process_time() - began


if __name__ == "__main__":
    main()
