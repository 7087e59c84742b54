"""GROUSE: every row in turn bends a subspace towards itself.

min over orthonormal U (d x r) of sum_j min_w |(U w - x_j)_O|^2, O the observed features of row j, by steps along
geodesics: with w the least-squares weights, p = U w, res = x - p on O (0 elsewhere), t = step |res| |w| / k at row k,

    U <- U + ((cos t - 1) p / |w| + sin t res / |res|) (w / |w|)^T
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._rows.partial_eigen import eigenpairs_of
from simcomplete._types import Matrix, Positions


class RowStream:
    """The stream: rows (n, d) with NaN where missing."""

    def __init__(self, table: Matrix) -> None:
        self.mask = ~np.isnan(table)
        self.whole: NDArray[np.bool_] = np.all(self.mask, axis=1)
        self.X = np.where(self.mask, table, 0.0)

    def weights(self, U: Matrix, j: int | np.integer) -> Matrix:
        """Least-squares weights of a row, minimum-norm where they are not unique."""
        if self.whole[j]:  # U is orthonormal
            return np.asarray(self.X[j] @ U)
        mask = self.mask[j]
        return np.asarray(np.linalg.lstsq(U[mask], self.X[j, mask], rcond=None)[0])

    def all_weights(self, U: Matrix) -> Matrix:
        """The weights of every row, (n, r)."""
        W = self.X @ U
        for j in np.flatnonzero(~self.whole):
            W[j] = self.weights(U, j)
        return W

    def errors(self, U: Matrix) -> Matrix:
        """|res| / |x_O| of every row."""
        size = np.linalg.norm(self.X, axis=1)
        res = np.linalg.norm((self.X - self.all_weights(U) @ U.T) * self.mask, axis=1)
        return np.asarray(res / np.where(size > 0, size, 1.0))


@dataclass(frozen=True)
class Subspace:
    """A basis, how many rows it has seen, and the errors of the last cycle's rows as they were visited."""

    U: Matrix
    seen: int
    errors: Matrix


def grouse(rows: RowStream, U: Matrix, orders: Iterable[Positions], step: float, limits: Limits) -> Run[Subspace]:
    """Stream all rows once per iteration.

    Parameters
    ----------
    rows : Rows
        n rows of d features.
    U : array of shape (d, r)
        Orthonormal start.
    orders : iterable of array of shape (n,)
        In which order to visit the rows, one per cycle.
    step : float
        eta of the paper; it decays with the number of rows seen.
    limits : Limits
        How many cycles, and so on.

    Examples
    --------
    >>> X = np.outer([1.0, 2.0, 3.0], [1.0, 1.0])
    >>> X[2, 1] = np.nan
    >>> run = grouse(RowStream(X), np.array([[1.0], [0.0]]), [np.arange(3)] * 9, 1.0, Limits(9, progress=False))
    >>> (RowStream(X).all_weights(run.state.U) @ run.state.U.T)[2].round(2)
    array([3., 3.])
    """
    order = iter(orders)
    return iterate(
        Subspace(U, 0, rows.errors(U)),
        lambda state: cycle(rows, state, next(order), step),
        measure=lambda state: {"residual": float(np.mean(state.errors))},
        limits=limits,
    )


def cycle(rows: RowStream, start: Subspace, order: Positions, step: float) -> Subspace:
    """Show every row once, in that order, and make the basis orthonormal again."""
    U, seen, errors = start.U.copy(), start.seen, np.zeros(len(order))
    for i, j in enumerate(order):
        seen += 1
        x, w = rows.X[j], rows.weights(U, j)
        p = U @ w
        res = (x - p) * rows.mask[j]
        with np.errstate(over="ignore"):  # weights beyond all numbers: the guard below leaves such a row out
            size, length, norm = (float(np.sqrt(v @ v)) for v in (res, w, x))
        errors[i] = size / norm if norm > 0 else 0.0
        angle = step * size * length / seen
        # The guard: a row that teaches nothing would be 0/0, and beyond a right angle the step goes back.
        if size * length > 0 and angle < np.pi / 2:
            U += np.outer((np.cos(angle) - 1) / length * p + np.sin(angle) / size * res, w / length)
    return Subspace(orthonormal(U), seen, errors)


def orthonormal(A: Matrix) -> Matrix:
    """An orthonormal basis that keeps the directions of one that nearly is."""
    Q, R = np.linalg.qr(A)
    return np.asarray(Q * np.where(np.diag(R) < 0, -1.0, 1.0))


def principal(Z: Matrix, rank: int) -> Matrix:
    """The leading right singular vectors of rows (n, d), from the smaller of the two Gram matrices."""
    n, d = Z.shape
    G = Z.T @ Z if d <= n else Z @ Z.T
    few = min(rank, len(G))
    vectors = eigenpairs_of(G, (len(G) - few, len(G) - 1))[1][:, ::-1]
    return orthonormal(vectors if d <= n else Z.T @ vectors)
