"""Rows of one table that are the same: ``python -m benchmarks.find_duplicates [NAME=FILE.npz ...]``.

A twentieth of the rows is there twice, with gaps of its own in each copy and perhaps noise; seeds 10 to 12 pooled.
Found at P(same) >= .9, and by a plain rule: equal in all features in common, three at least. Columns with one value in
more than 95 % of the rows are left out. Further tables are arrays `X` of .npz files.
The table of docs/find-the-same.md.
"""

from __future__ import annotations

import sys

import numpy as np
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_wine

import simcomplete as sc
from benchmarks.__main__ import table

SEEDS, SHARE, MOST_ROWS, LEAST_COMMON = (10, 11, 12), 0.05, 600, 3
CASES = ((0.0, 0.0), (0.3, 0.0), (0.5, 0.0), (0.0, 0.05), (0.3, 0.05))


def main() -> None:
    loaders = {"digits": load_digits, "breast_cancer": load_breast_cancer, "wine": load_wine, "diabetes": load_diabetes}
    data = {name: load().data for name, load in loaders.items()}
    for word in sys.argv[1:]:
        name, _, file = word.partition("=")
        with np.load(file, allow_pickle=False) as archive:
            data[name] = archive["X"]
    for name, X in data.items():
        print(table(list(rows_of(name, X))), flush=True)


def rows_of(name, X):
    """One line for every rate of missing values and noise."""
    X = X[~np.isnan(X).any(axis=1)]
    common = np.array([np.unique(column, return_counts=True)[1].max() for column in X.T]) / len(X)
    X = X[:, common <= 0.95]
    for missing, noise in CASES:
        found, false, plain, plain_false, alone = [], 0, [], 0, 0
        for seed in SEEDS:
            rng = np.random.default_rng(seed)
            Y = X[rng.permutation(len(X))[:MOST_ROWS]]
            copies = int(SHARE * len(Y))
            twin = Y[:copies] + noise * Y.std(axis=0) * rng.standard_normal((copies, Y.shape[1]))
            both = np.concatenate([Y, twin])
            both = np.where(rng.random(both.shape) < missing, np.nan, both)
            true = {(i, len(Y) + i) for i in range(copies)}
            got = {tuple(pair) for pair in sc.duplicates(both, progress=False).pairs.tolist()}
            equal = equal_pairs(both)
            found.append(len(got & true) / copies)
            plain.append(len(equal & true) / copies)
            false, plain_false = false + len(got - true), plain_false + len(equal - true)
            alone += len(sc.duplicates(both[: len(Y)], progress=False))
        yield {
            "data": f"{name}, {len(Y)} x {X.shape[1]}",
            "missing": missing,
            "noise": noise,
            "found": f"{np.mean(found):.2f}",
            "false": false,
            "false, no copies": alone,
            "equal: found": f"{np.mean(plain):.2f}",
            "equal: false": plain_false,
        }


def equal_pairs(X):
    """Pairs that are equal in all features in common, and have enough of them."""
    pairs = set()
    for i in range(len(X)):
        both = ~np.isnan(X[i]) & ~np.isnan(X[i + 1 :])
        same = np.all(~both | (X[i] == X[i + 1 :]), axis=1) & (both.sum(axis=1) >= LEAST_COMMON)
        pairs |= {(i, i + 1 + int(j)) for j in np.flatnonzero(same)}
    return pairs


if __name__ == "__main__":
    main()
