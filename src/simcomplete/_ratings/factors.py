"""Factor models of a sparse matrix: of its values, and of which of them are known.

Both are rows of normal coefficients on features of columns, with a precision for every feature that is learnt along
(so that features that explain nothing lose their weight), and one noise.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from scipy.sparse.linalg import svds

from simcomplete._ratings.neighbours import mask_of
from simcomplete._types import Matrix, Vector

STEPS = 25  # of the factor model; the error of hidden values changes in the fourth digit after these
REFINED_STEPS = 8  # from a model of fewer values
COEFFICIENT_STEPS = 8
MASK_FACTORS = 10


class RatingFactors(NamedTuple):
    """Values are products of rows with columns."""

    rows: Matrix
    columns: Matrix

    def of(self, positions: Any) -> Matrix:
        """Values of some rows."""
        return np.asarray(self.rows[positions] @ self.columns.T)

    def at(self, rows: Any, columns: Any) -> Vector:
        """Values of some cells."""
        return np.asarray(np.einsum("ij,ij->i", self.rows[rows], self.columns[columns]))


class _Coefficients(NamedTuple):
    mean: Matrix
    covariance: Any
    squares: Matrix  # sums of outer products of features, over what each row has


def _outer(F: Matrix, covariance: Any = 0.0) -> Matrix:
    return np.asarray((F[:, :, None] * F[:, None, :] + covariance).reshape(len(F), -1))


def _coefficients(Z: Any, M: Any, F: Matrix, FF: Matrix, noise: float, precision: Vector) -> _Coefficients:
    """Normal posterior of the coefficients of every row on features F of columns, FF their outer products."""
    n, r = Z.shape[0], F.shape[1]
    squares = M @ FF
    covariance = np.linalg.inv(squares.reshape(n, r, r) / noise + np.diag(precision))
    mean = np.einsum("nij,nj->ni", covariance, (Z @ F) / noise)
    return _Coefficients(mean, covariance, squares)


def _precision(found: _Coefficients) -> Vector:
    total = (found.mean**2).sum(axis=0) + np.einsum("nii->i", found.covariance)
    return np.asarray(len(found.mean) / np.maximum(total, 1e-12))


def _noise(Z: Any, F: Matrix, found: _Coefficients) -> float:
    """Mean squared error of known values, with what the coefficients do not know of themselves."""
    error = (Z.data**2).sum() - 2 * ((Z @ F) * found.mean).sum()
    error += (found.squares * _outer(found.mean, found.covariance)).sum()
    return float(max(error / Z.nnz, 1e-6))


def factorised(Z: Any, rank: int, rng: np.random.Generator, start: RatingFactors | None = None) -> RatingFactors:
    """Variational Bayes for ``Z = U V^T + noise`` over the cells that are stored."""
    d = Z.shape[1]
    M, ZT = mask_of(Z), Z.T.tocsr()
    MT, noise = mask_of(ZT), max(float(np.mean(Z.data**2)), 1e-6)
    V = 0.3 * np.sqrt(noise / rank) * rng.standard_normal((d, rank)) if start is None else start.columns
    of_rows, of_columns, spread = np.ones(rank), np.ones(rank), 0.0
    U = V
    for _ in range(STEPS if start is None else REFINED_STEPS):
        rows = _coefficients(Z, M, V, _outer(V, spread), noise, of_rows)
        U, of_rows = rows.mean, _precision(rows)
        columns = _coefficients(ZT, MT, U, _outer(U, rows.covariance), noise, of_columns)
        V, spread, of_columns = columns.mean, columns.covariance, _precision(columns)
        noise = _noise(ZT, U, columns)
    return RatingFactors(U, V)


def on_features(Z: Any, features: Matrix) -> RatingFactors:
    """Rows of coefficients on given features of columns."""
    M, FF = mask_of(Z), _outer(features)
    noise = max(float(np.mean(Z.data**2)), 1e-6)
    precision = np.full(features.shape[1], 10.0 * features.shape[1] / noise)
    found = _coefficients(Z, M, features, FF, noise, precision)
    for _ in range(COEFFICIENT_STEPS):
        precision, noise = _precision(found), _noise(Z, features, found)
        found = _coefficients(Z, M, features, FF, noise, precision)
    return RatingFactors(found.mean, features)


def mask_factors(M: Any) -> tuple[Matrix, Matrix]:
    """What is seen in which values are known: singular vectors of the mask, less the first, scaled to squares of 1."""
    n, d = M.shape
    rank = min(MASK_FACTORS + 1, min(n, d) - 1)
    if rank < 2:
        return np.zeros((n, 0)), np.zeros((d, 0))
    of_rows, of_columns = (np.sqrt(np.maximum(np.asarray(M.sum(axis=axis)).ravel(), 1.0)) for axis in (1, 0))
    A = scipy.sparse.diags(1 / of_rows) @ M @ scipy.sparse.diags(1 / of_columns)
    start = np.random.default_rng(0).standard_normal(min(n, d))
    U, s, VT = svds(A, k=rank, v0=start)
    order = np.argsort(-s)[1:]
    return U[:, order] * np.sqrt(n), VT[order].T * np.sqrt(d)


def side_features(known: Vector, bias: Vector, factors: Matrix) -> Matrix:
    """Features of rows or columns: 1, how many values they have, their bias, and factors of the mask."""
    return np.column_stack([np.ones(len(known)), _standard(np.log1p(known)), _standard(bias), factors])


def _standard(x: Vector) -> Vector:
    size = float(np.std(x))
    return np.asarray((x - np.mean(x)) / size if size > 1e-12 else np.zeros_like(x))
