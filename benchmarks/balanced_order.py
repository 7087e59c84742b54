"""Recall@10 among incomplete rows in the order of similarity and balanced: ``python -m benchmarks.balanced_order``.

400 rows of digits, breast_cancer and wine (178) of scikit-learn, features of the latter two divided by their standard
deviations; seeds 10 and 11, `effort="fast"`. The figures of docs/find-the-same.md.
"""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.__main__ import table
from simcomplete.index import recall

SEEDS, ROWS, K = (10, 11), 400, 10
RATES = {
    "half of the values": lambda n: np.full(n, 0.5),
    "four fifths": lambda n: np.full(n, 0.8),
    "rows from .2 to .8": lambda n: np.linspace(0.2, 0.8, n),
    "half of the rows .1, half .95": lambda n: np.where(np.arange(n) % 2, 0.1, 0.95),
}


def main() -> None:
    cells, wine = load_breast_cancer().data, load_wine().data
    data = {"digits": load_digits().data, "breast_cancer": cells / cells.std(axis=0), "wine": wine / wine.std(axis=0)}
    for name, X in data.items():
        print(table([recalls(name, X, missing) for missing in RATES]), flush=True)


def recalls(name, X, missing):
    """Share of the true ten nearest that are among the first ten, in both orders."""
    found = {"similarity": [], "balanced": []}
    for seed in SEEDS:
        rng = np.random.default_rng(seed)
        whole = X[rng.permutation(len(X))[:ROWS]]
        gone = rng.random(whole.shape) < rng.permutation(RATES[missing](len(whole)))[:, None]
        gone[gone.all(axis=1), 0] = False
        truth = cosine_similarity(whole)
        np.fill_diagonal(truth, -2)
        nearest = np.argsort(-truth, axis=1)[:, :K]
        done = sc.complete(np.where(gone, np.nan, whole), method="posterior", effort="fast", progress=False)
        for order, shares in found.items():
            shares.append(recall(done.search(K, order=order).ids, nearest))
    return {"data": name, "missing": missing, **{order: f"{np.mean(of):.3f}" for order, of in found.items()}}


if __name__ == "__main__":
    main()
