"""Top-N lists, which are another task than predicted ratings: EASE, popularity, and lists by predicted rating."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete._types import Matrix

LENGTH = 20
PENALTY = 200.0  # of EASE, in people; its paper has 200 to 1000 for tables of this kind, none was tuned here


def ease(M: Matrix, penalty: float = PENALTY) -> Matrix:
    """Scores of EASE (Steck, Embarrassingly Shallow Autoencoders for Sparse Data, 2019) from what was rated.

    The ridge regression of every column of the mask on the others has the closed form ``B = I - P / diag(P)`` with
    ``P = (M^T M + penalty I)^-1``.
    """
    P = np.linalg.inv(M.T @ M + penalty * np.eye(M.shape[1]))
    B = -P / np.diag(P)
    np.fill_diagonal(B, 0.0)
    return np.asarray(M @ B)


def top_lists(data: str, X: Matrix, split: Callable[..., Any], seeds: int) -> list[dict[str, Any]]:
    """Share of held-out ratings in the upper quarter of all that lists of 20 have, of what a person has not rated."""
    wanted = float(np.nanquantile(X, 0.75))
    found: dict[str, list[tuple[float, float]]] = {}
    for seed in range(seeds):
        train, test = split(X, seed)
        R = train.sparse(X.shape)
        M = np.zeros(X.shape)
        M[train.rows, train.columns] = 1.0
        liked = np.zeros(X.shape, dtype=bool)
        good = test.values >= wanted
        liked[test.rows[good], test.columns[good]] = True
        done = sc.complete(R, method="shrunk", missing="absent", biases="both", progress=False)
        sides = {
            "EASE": ease(M),
            "most rated": np.tile(M.sum(axis=0), (len(X), 1)),
            "simcomplete, by predicted rating": done.imputed(),
        }
        for side, scores in sides.items():
            found.setdefault(side, []).append(quality(np.where(M > 0, -np.inf, scores), liked))
    names = ("recall_20", "ndcg_20")
    return [
        {"data": data, "side": side, **dict(zip(names, np.mean(values, axis=0).tolist(), strict=True))}
        for side, values in found.items()
    ]


def quality(scores: Matrix, liked: Any) -> tuple[float, float]:
    """Recall and normalised discounted gain of the first 20, over people with something to find."""
    some = liked.any(axis=1)
    order = np.argsort(-scores[some], axis=1, kind="stable")[:, :LENGTH]
    hits = np.take_along_axis(liked[some], order, axis=1)
    most = np.minimum(liked[some].sum(axis=1), LENGTH)
    gains = 1 / np.log2(np.arange(2, LENGTH + 2))
    ideal = np.cumsum(gains)[most - 1]
    return float(np.mean(hits.sum(axis=1) / most)), float(np.mean(hits @ gains / ideal))
