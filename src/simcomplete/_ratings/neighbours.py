"""Similarities of ratings drawn towards 0 where few values are in common, and what neighbours make of a value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from simcomplete._rows.budget import require, row_blocks
from simcomplete._types import Matrix, Vector

SHRINKAGES_OF_PAIRS = (0.0, 3.0, 10.0, 30.0, 100.0, 300.0)  # tried, in common values
DENSE_SHARE = 0.1  # from this share of known values on, products of dense matrices are quicker
WEIGHT_OF_NOTHING = 0.9  # quantile of the weights: what says "as the mean" beside the neighbours


class PairSums(NamedTuple):
    """Cosines of rows over common columns, and how many these are."""

    cosines: Matrix
    counts: Matrix

    def shrunk(self, shrinkage: float) -> Matrix:
        """Cosines times n / (n + shrinkage), with a diagonal of 1."""
        S = shrunk_by_counts(self.cosines, self.counts, shrinkage)
        np.fill_diagonal(S, 1.0)
        return S


def shrunk_by_counts(S: Matrix, counts: Matrix, shrinkage: float) -> Matrix:
    """Similarities times n / (n + shrinkage), n the number of common values."""
    return np.asarray(S * (counts / np.maximum(counts + shrinkage, 1.0)))


def mask_of(Z: Any) -> Any:
    """1 where a value is known."""
    M = Z.copy()
    M.data = np.ones_like(M.data)
    return M


def pair_sums(Z: Any) -> PairSums:
    """Cosines of all rows of a sparse matrix over the columns that two rows have in common."""
    n, d = Z.shape
    M = mask_of(Z)
    require(5 * 8 * n * n, f"similarities of {n} rows with each other", "give fewer rows, or the transpose")
    squares = Z.copy()
    squares.data = Z.data**2
    if Z.nnz > DENSE_SHARE * n * d:
        Z, M, squares = Z.toarray(), M.toarray(), squares.toarray()
    cosines, counts = np.empty((n, n)), np.empty((n, n), dtype=np.float32)
    for rows in row_blocks(n, 5 * 8 * n):
        dot, own, other, common = (_dense(a[rows] @ b.T) for a, b in ((Z, Z), (squares, M), (M, squares), (M, M)))
        norm = np.sqrt(own) * np.sqrt(other)
        cosines[rows] = np.clip(np.divide(dot, norm, out=np.zeros_like(dot), where=norm > 0), -1.0, 1.0)
        counts[rows] = common
    return PairSums((cosines + cosines.T) / 2, counts)


def _dense(product: Any) -> Matrix:
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def neighbour_weights(S: Matrix, power: float) -> tuple[Matrix, float]:
    """Positive similarities to a power, none with itself, and the weight of "as the mean" beside them."""
    W = np.maximum(S, 0.0) ** power
    np.fill_diagonal(W, 0.0)
    positive = W[: min(len(W), 500)]
    positive = positive[positive > 0]
    return W, float(np.quantile(positive, WEIGHT_OF_NOTHING)) if len(positive) else 1.0


def by_neighbours(W: Matrix, base: float, Z: Any, M: Any) -> Matrix:
    """Weighted means of what neighbours have: for rows of weights, all columns of the sparse matrix Z."""
    # Of sparse matrices, products with dense ones are quick from the left only.
    return np.asarray((Z.T @ W.T).T / ((M.T @ W.T).T + base))


def best_shrinkage(sums: PairSums, Z: Any, rows: Vector, columns: Vector, truth: Vector, most: int = 400) -> float:
    """The shrinkage whose neighbours come nearest to hidden values of some rows."""
    some = np.unique(rows)
    some = some[np.linspace(0, len(some) - 1, min(len(some), most)).astype(np.int64)]
    inside = np.isin(rows, some)
    place, M = np.searchsorted(some, rows[inside]), mask_of(Z)

    def error(shrinkage: float) -> float:
        W = np.maximum(shrunk_by_counts(sums.cosines[some], sums.counts[some], shrinkage), 0.0)
        W[np.arange(len(some)), some] = 0.0
        positive = W[W > 0]
        base = float(np.quantile(positive, WEIGHT_OF_NOTHING)) if len(positive) else 1.0
        found = by_neighbours(W, base, Z, M)[place, columns[inside]]
        return float(np.mean((found - truth[inside]) ** 2))

    return min(SHRINKAGES_OF_PAIRS, key=error)
