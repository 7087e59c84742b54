"""Asking an index: FAISS narrows down, the rows themselves decide."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.search import Neighbours, check_k
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.progress import track
from simcomplete._rows.validate import as_array
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError
from simcomplete.index._rows import narrowed
from simcomplete.index._vectors import VectorIndex

SPARE = 16  # found beyond k, so that rounding in float32 seldom decides who is among the k
ROUNDING = 2.0**-24


def search(
    index: VectorIndex,
    queries: Any,
    k: int,
    *,
    signs: Any = None,
    exclude: NDArray[np.int64] | None = None,
    bounds: tuple[float, float] | None = None,
    progress: bool | None = None,
) -> Neighbours:
    """Find the `k` rows with the largest inner products.

    Parameters
    ----------
    index : VectorIndex
        What `build` made.
    queries : array or frame of shape (n_q, r)
        Complete vectors, for example what `PosteriorCompleter.transform` makes of rows with missing values.
    k : int
        How many; all, if there are fewer.
    signs : array of shape (r,), optional
        Signs of the columns in the product.
    exclude : array of int, shape (n_q,), optional
        For each query a row that is left out, usually the query itself.
    bounds : tuple of float, optional
        Scores are clipped to these bounds, beyond which there is only rounding.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Neighbours
        Positions and products in float64, best first, ties by lower position.
    """
    k = check_k(k)
    Q = as_array(queries, "queries").astype(np.float64)
    if Q.shape[1] != index.rows.width:
        raise InputError(f"queries have {Q.shape[1]} entries and the rows of the index {index.rows.width}")
    if np.isnan(Q).any():
        raise InputError(
            f"{int(np.isnan(Q).any(axis=1).sum())} of {len(Q)} queries have missing values, which an index cannot "
            "compare; make complete vectors of them first, with PosteriorCompleter().fit(rows).transform(queries)"
        )
    Q = Q if signs is None else Q * to_numpy(signs)
    k = min(k, index.rows.n - (exclude is not None))
    if k < 1:
        raise InputError("there is no other row to search among; give at least two")
    own = np.full(len(Q), -1) if exclude is None else exclude
    low, high = bounds or (-np.inf, np.inf)
    ids, scores = np.empty((len(Q), k), dtype=np.int64), np.empty((len(Q), k))
    for part in track(row_blocks(len(Q), 24 * (k + SPARE) * index.rows.width), "search", progress):
        for i, near, exact in _candidates(index, Q[part], k, own[part]):
            at = i + part.start
            value = np.where(near == own[at], -np.inf, np.clip(exact, low, high))
            best = np.lexsort((near, -value))[:k]
            ids[at], scores[at] = near[best], value[best]
    return Neighbours(ids, scores)


def recall(found: NDArray[np.int64], true: NDArray[np.int64]) -> float:
    """Share of the true neighbours that were found.

    Examples
    --------
    >>> recall(np.array([[3, 1], [0, 2]]), np.array([[1, 3], [0, 5]]))
    0.75
    """
    hits = [len(np.intersect1d(f, t)) for f, t in zip(found, true, strict=True)]
    return float(np.sum(hits) / true.size)


def _candidates(
    index: VectorIndex, Q: NDArray[np.float64], k: int, own: NDArray[np.int64]
) -> Iterator[tuple[int, NDArray[np.int64], NDArray[np.float64]]]:
    """Give for every query the rows that can be among its best k, with exact scores."""
    rows = index.rows
    single = narrowed(Q, "queries")
    rough, near = index.faiss.search(single, min(rows.n, k + 1 + SPARE))
    # Casting a row and a query and summing r products in any order errs by at most this (Higham, section 3.1).
    slack = 1.01 * (rows.width + 3) * ROUNDING * np.linalg.norm(Q, axis=1) * index.longest + 1e-37
    exact = np.einsum("qkr,qr->qk", rows.take(near.clip(0).ravel()).reshape(*near.shape, -1), Q)
    for i in range(len(Q)):
        ids, scores = near[i][near[i] >= 0], exact[i][near[i] >= 0]
        others = np.sort(scores[ids != own[i]])
        if len(others) < k:  # lists or graph ended early
            ids = np.arange(rows.n)
        elif index.kind == "flat" and len(ids) < rows.n and others[-k] <= rough[i, -1] + slack[i]:
            radius = np.nextafter(np.float32(others[-k] - slack[i]), np.float32(-np.inf))
            ids = index.faiss.range_search(single[i : i + 1], float(radius))[2]
        else:
            yield i, ids, scores
            continue
        parts = row_blocks(len(ids), 8 * rows.width)
        yield i, ids, np.concatenate([np.einsum("kr,r->k", rows.take(ids[part]), Q[i]) for part in parts])
