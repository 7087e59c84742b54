"""What each method finds first: ``python -m benchmarks.what_is_found [NAME=FILE.npz ...]``.

Queries are copies of candidates, exact and with noise of .1 and .25 standard deviations, and other rows; 80 % of their
values are missing. How often the source of a copy is ranked first, and recall@10 of the other rows. Data, sizes and
seeds of benchmarks.search_cells; ``--help`` shows what else can be asked. A table of docs/find-the-same.md.
"""

from __future__ import annotations

import argparse

import numpy as np
from sklearn.impute import KNNImputer
from sklearn.metrics.pairwise import cosine_similarity

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.find_the_same import NOISES
from benchmarks.search_cells import asked_cells
from simcomplete.index import recall

NEAREST = 10


def main() -> None:
    cells, asked = asked_cells(argparse.ArgumentParser(prog="python -m benchmarks.what_is_found"))
    for cell in cells:
        found = [one(cell, seed, asked.effort) for seed in asked.seeds]
        rows = []
        for method in found[0]:
            shares = np.mean([each[method] for each in found], axis=0)
            names = [*(f"source first, noise {noise:g}" for noise in NOISES), "recall@10 of others"]
            rows.append(
                {"data": str(cell), "method": method} | dict(zip(names, (f"{x:.3f}" for x in shares), strict=True))
            )
        print(table(rows), flush=True)


def one(cell, seed, effort):
    """For every method the share of sources that are first, by noise, and recall of queries that are no copies."""
    P, fresh, rng = cell.parts(seed)
    source = rng.permutation(len(P))[: cell.n_q]
    copies = [P[source] + noise * P.std(axis=0) * rng.standard_normal((len(source), P.shape[1])) for noise in NOISES]
    Q = cell.hidden(np.concatenate([*copies, fresh]), rng)
    nearest = np.argsort(-cosine_similarity(fresh, P), axis=1)[:, :NEAREST]
    out = {}
    for method, S in similarities(P, Q, effort).items():
        order = np.argsort(-S, axis=1, kind="stable")[:, :NEAREST]
        first, last = order[: -len(fresh), 0].reshape(len(NOISES), -1), order[-len(fresh) :]
        out[method] = [*(first == source).mean(axis=1), recall(last, nearest)]
    return out


def similarities(P, Q, effort):
    """Similarities of queries and candidates, by each method."""
    asked = {name: {"method": name} for name in ("overlap", "mean", "smcnn")}
    asked["posterior, copies=False"] = {"method": "posterior", "effort": effort, "copies": False}
    asked["posterior"] = {"method": "posterior", "effort": effort}
    found = {
        name: sc.complete(P, Q, progress=False, **own).similarity("queries", "candidates")
        for name, own in asked.items()
    }
    filled = KNNImputer(n_neighbors=NEAREST).fit(P).transform(Q)
    return {**found, "KNNImputer": cosine_similarity(filled, P)}


if __name__ == "__main__":
    main()
