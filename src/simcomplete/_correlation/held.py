"""The constraints of the dual Newton method: the diagonal, and off-diagonal entries that are held."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._rows.xp import Array, is_numpy, like, namespace, to_numpy
from simcomplete._types import Mask, Matrix, Positions, Vector

ROOT = 2.0**0.5  # an entry off the diagonal stands for two; a float of Python, which leaves single precision single

FEW = 4  # at most one in so many rows has a held entry: matrices over these cost little


@dataclass(frozen=True)
class Held:
    """Which entries a matrix must have, as a vector: the diagonal first, then off-diagonal ones times sqrt(2).

    With this scaling the length of the vector is the Frobenius norm of the entries. `among` are the rows that have a
    held entry off the diagonal, `first` and `second` (first < second) its place among these.

    Examples
    --------
    >>> held = Held.of(np.array([[1.0, 0.5, 0.0], [0.5, 1.0, 0.0], [0.0, 0.0, 1.0]]), np.eye(3, k=1) * [0, 1, 0] > 0)
    >>> held.target.round(3)
    array([1.   , 1.   , 1.   , 0.707])
    >>> held.matrix(held.target)
    array([[1. , 0.5, 0. ],
           [0.5, 1. , 0. ],
           [0. , 0. , 1. ]])
    """

    target: Vector
    among: Positions
    first: Positions
    second: Positions

    @classmethod
    def of(cls, values: Matrix, which: Mask | None = None) -> Held:
        """The diagonal of `values`, and its entries where `which` (or its transpose) is True."""
        b = np.diag(values).copy()
        if which is None:
            return cls.diagonal(b)
        rows, cols = np.nonzero(np.triu(which | which.T, 1))
        among, places = np.unique(np.concatenate([rows, cols]), return_inverse=True)
        target = np.concatenate([b, ROOT * values[rows, cols]])
        return cls(target, among, places[: len(rows)], places[len(rows) :])

    @classmethod
    def diagonal(cls, b: Vector) -> Held:
        """The diagonal alone."""
        none = np.zeros(0, dtype=np.int64)
        return cls(b, none, none, none)

    @property
    def n(self) -> int:
        """Rows of the matrix."""
        return len(self.target) - len(self.first)

    def block(self, v: Vector) -> Matrix:
        """The off-diagonal part of a vector as a matrix over the rows `among`."""
        B = np.zeros((len(self.among),) * 2, dtype=v.dtype)
        B[self.first, self.second] = v[self.n :] / ROOT
        return B + B.T

    def matrix(self, v: Vector) -> Matrix:
        """The symmetric matrix that has these entries and zeros elsewhere."""
        Z = np.diag(v[: self.n])
        if len(self.among):
            Z[np.ix_(self.among, self.among)] += self.block(v)
        return Z

    def norm(self, v: Vector) -> float:
        """A bound of the spectral norm of matrix(v); where few rows have a held entry off the diagonal, it is exact."""
        rest, R = np.abs(v[: self.n]), self.among
        if not len(R):
            return float(np.max(rest))
        B = self.block(v)
        B[np.diag_indices(len(R))] = v[R]
        own = np.linalg.norm(B, 2) if FEW * len(R) <= self.n else min(np.abs(B).sum(axis=1).max(), np.linalg.norm(B))
        rest[R] = 0.0
        return float(max(own, np.max(rest)))

    def left(self, F: Array, v: Vector) -> Array:
        """F^T matrix(v), without the zeros of the matrix."""
        M = F.T * like(v[: self.n], F)
        if len(self.among):
            M[:, self.among] += F[self.among].T @ self.block(v)
        return M

    def entries(self, F: Array, G: Array) -> Vector:
        """The held entries of F G^T, which is symmetric, or of its symmetric part."""
        if not is_numpy(F):  # of another library, for problems without entries to hold
            return to_numpy(namespace(F).sum(F * G, axis=1))
        diagonal: Vector = np.einsum("ij,ij->i", F, G)
        if not len(self.among):
            return diagonal
        P = F[self.among] @ G[self.among].T
        off = (P[self.first, self.second] + P[self.second, self.first]) / ROOT
        return np.concatenate([diagonal, off])
