"""The same completion problem with fewer rows and columns.

Complete rows P enter a penalty on singular values only through P^T P: with P = Q R, Q orthonormal, the rows of R stand
for them, and there are no more of these than columns. Multiplied by [Q 0; 0 I]^T, every singular value, every norm of a
residual and every step of a solver stays what it was, and so does what it finds for the incomplete rows. A column in
which nothing but 0 was observed stays 0 and is left out.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simcomplete._baselines.completion.modes import MaskedMatrix
from simcomplete._method.spec import Sizes
from simcomplete._types import Matrix, Positions


@dataclass(frozen=True)
class ReducedMatrix:
    """A smaller matrix to complete, and where its last rows and its columns are in the one that it stands for."""

    data: MaskedMatrix
    shape: tuple[int, int]
    rows: Positions
    columns: Positions

    def restored(self, fit: Matrix) -> Matrix:
        """Return a fit in the old shape; rows that were complete are 0, for nothing of them is missing."""
        X = np.zeros(self.shape)
        X[np.ix_(self.rows, self.columns)] = self.last_rows(fit)
        return X

    def last_rows(self, fit: Matrix) -> Matrix:
        """Return the part of a fit, or of its left factor, that belongs to incomplete rows."""
        return fit[len(fit) - len(self.rows) :]


def table_memory(s: Sizes, kept: float, solver: Callable[[int], float]) -> float:
    """Numbers that a method takes which reduces its problem: by the rows that are left, or to pose it and to end.

    `kept` are the copies of the table that wait meanwhile, `solver` what so many rows take.
    """
    left = min(s.n_candidates, s.d) + s.n_queries
    return solver(s.n) if left == s.n else max(5.9 * s.n * s.d, kept * s.n * s.d + solver(left))


def reduced(data: MaskedMatrix) -> ReducedMatrix | None:
    """Return the smaller problem, or None where it would not be smaller.

    Examples
    --------
    >>> values = np.array([[3.0, 0.0], [4.0, 0.0], [1.0, 0.0], [0.0, 0.0]])
    >>> mask = np.array([[1.0, 1.0], [1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> small = reduced(MaskedMatrix(values, mask))
    >>> abs(small.data.values), small.rows, small.columns  # |(3, 4)| = 5
    (array([[5.],
           [1.],
           [0.]]), array([2, 3]), array([0]))
    """
    if data.mask is None:
        return None
    whole: np.ndarray = np.all(data.mask > 0, axis=1)
    columns = np.flatnonzero(data.values.any(axis=0))
    if whole.sum() <= len(columns) and len(columns) == data.values.shape[1]:
        return None
    P, rows = data.values[np.ix_(whole, columns)], np.flatnonzero(~whole)
    if len(P) > len(columns):
        P = np.linalg.qr(P, mode="r")
    part = np.ix_(rows, columns)
    values, mask = np.concatenate([P, data.values[part]]), np.concatenate([np.ones_like(P), data.mask[part]])
    return ReducedMatrix(replace(data, values=values, mask=mask), data.values.shape, rows, columns)
