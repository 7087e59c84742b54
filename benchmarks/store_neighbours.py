"""What is lost when the neighbours of a query come from a store: ``python -m benchmarks.store_neighbours FOLDER``.

Share of the 48 neighbours by overlap cosine that an exact store finds, recall at 10 of the truth, and mean squared
error of similarities, with neighbours from all candidates and from the store. Digits, and what FOLDER has.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete._posterior.candidates.source import no_positions
from simcomplete._posterior.shared.rows import ObservedRows, unit_rows
from simcomplete.estimators import PosteriorCompleter
from simcomplete.index import recall
from simcomplete.stores import SqliteStore

NAMES = ("mnist", "usps", "agnews_minilm384", "cifar10_gray", "protein")
QUERIES, MOST, SEED = 200, 3000, 0


def main() -> None:
    tables = {"digits": sc.datasets.load("digits").X}
    for name in NAMES if len(sys.argv) > 1 else ():
        file = Path(sys.argv[1]) / f"{name}.npz"
        if file.is_file():
            tables[name] = np.load(file)["X"].astype(np.float64)
    for name, X in tables.items():
        for missing in (0.5, 0.8):
            print(name, row(X, missing), flush=True)


def row(X: Any, missing: float) -> str:
    X = X[np.random.default_rng(SEED).permutation(len(X))]
    n = min(MOST, len(X) - QUERIES)
    P, T = X[:n], X[n : n + QUERIES]
    Q = sc.masks.apply(T, sc.masks.random(T, missing=missing, random_state=SEED))
    model = PosteriorCompleter(effort="fast").fit(P)
    quick = model.attach(SqliteStore(), neighbours="store").model
    rows = ObservedRows.of(Q, model._model.candidates.scale)
    near = [
        each._model.candidates.nearest(rows.values, rows.observed, 48, no_positions()).ids for each in (model, quick)
    ]
    S = unit_rows(T) @ model.candidates_.T
    true = np.argsort(-S, axis=1, kind="stable")[:, :10]
    told = [f"{n} x {X.shape[1]}, {missing} missing: {recall(near[1], near[0]):.3f} of the 48"]
    for each in (model, quick):
        found = each.transform(Q) @ model.candidates_.T
        ids = np.argsort(-found, axis=1, kind="stable")[:, :10]
        told.append(f"recall {recall(ids, true):.3f}, squared error {np.mean((found - S) ** 2):.3g}")
    return "; ".join(told)


if __name__ == "__main__":
    main()
