"""Similarities of ratings drawn towards 0 where few values are in common, and what neighbours make of a value."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

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


class Weights(NamedTuple):
    """Weights of neighbours, and that of "as the mean" beside them."""

    W: NDArray[Any]
    base: float


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
    require(4 * 8 * n * n, f"similarities of {n} rows with each other", "give fewer rows, or the transpose")
    squares = Z.copy()
    squares.data = Z.data**2
    if Z.nnz > DENSE_SHARE * n * d:
        Z, M, squares = Z.toarray(), M.toarray(), squares.toarray()
    cosines, norms, counts = np.empty((n, n)), np.empty((n, n)), np.empty((n, n), dtype=np.float32)
    columns = [part.T.tocsr() if hasattr(part, "tocsr") else part.T for part in (Z, M)]
    for rows in row_blocks(n, 3 * 8 * n):
        norms[rows] = np.sqrt(_dense(squares[rows] @ columns[1]))  # lengths of rows, on the columns of each other one
        cosines[rows] = _dense(Z[rows] @ columns[0])
        counts[rows] = _dense(M[rows] @ columns[1])
    for rows in row_blocks(n, 3 * 8 * n):
        norm = norms[rows] * norms[:, rows].T
        found = np.divide(cosines[rows], norm, out=np.zeros_like(norm), where=norm > 0)
        cosines[rows] = np.clip(found, -1.0, 1.0)
    return PairSums(cosines, counts)


def _dense(product: Any) -> Matrix:
    return np.asarray(product.toarray() if hasattr(product, "toarray") else product)


def neighbour_weights(S: Matrix, power: float) -> Weights:
    """Positive similarities to a power, none with itself, and the weight of "as the mean" beside them."""
    W = np.maximum(S, 0.0).astype(np.float32) ** np.float32(power)
    np.fill_diagonal(W, 0.0)
    return Weights(W, weight_of_nothing(W[: min(len(W), 500)]))


def weight_of_nothing(W: NDArray[Any]) -> float:
    """A quantile of the weights that are not 0."""
    positive = W[W > 0]
    return float(np.quantile(positive, WEIGHT_OF_NOTHING)) if len(positive) else 1.0


def by_neighbours(weights: Weights, positions: NDArray[np.int64], Z: Any) -> Matrix:
    """Weighted means of what neighbours have, for all columns of some rows of the sparse matrix Z."""
    # Of sparse matrices, products with dense ones are quick from the left only.
    W = weights.W[positions].astype(np.float64).T
    return np.asarray((Z.T @ W).T / ((mask_of(Z).T @ W).T + weights.base))


def neighbours_at(weights: Weights, ZT: Any, rows: NDArray[Any], columns: NDArray[Any]) -> Vector:
    """The same for some cells, column by column; rows are positions of rows of the weights, ZT the transpose."""
    out = np.zeros(len(rows))
    order = np.argsort(columns, kind="stable")
    starts = np.searchsorted(columns[order], np.arange(ZT.shape[0] + 1))
    for k in np.flatnonzero(np.diff(starts)):
        cells, own = order[starts[k] : starts[k + 1]], slice(ZT.indptr[k], ZT.indptr[k + 1])
        W = weights.W[np.ix_(rows[cells], ZT.indices[own])].astype(np.float64)
        out[cells] = W @ ZT.data[own] / (W.sum(axis=1) + weights.base)
    return out


def best_shrinkage(
    sums: PairSums, ZT: Any, rows: NDArray[Any], columns: NDArray[Any], truth: Vector, most: int = 1000
) -> float:
    """The shrinkage whose neighbours come nearest to hidden values of some rows; ZT has what is left, transposed."""
    some = np.unique(rows)
    some = some[np.linspace(0, len(some) - 1, min(len(some), most)).astype(np.int64)]
    inside = np.isin(rows, some)
    place = np.searchsorted(some, rows[inside])

    def error(shrinkage: float) -> float:
        W = np.maximum(shrunk_by_counts(sums.cosines[some], sums.counts[some], shrinkage), 0.0)
        W[np.arange(len(some)), some] = 0.0
        found = neighbours_at(Weights(W, weight_of_nothing(W)), ZT, place, columns[inside])
        return float(np.mean((found - truth[inside]) ** 2))

    return min(SHRINKAGES_OF_PAIRS, key=error)
