"""Kernels of `kfmc`: values, and what the objective's gradients look like for each.

Rows are samples X (n, d) and atoms D (m, d); codes Z are (n, m). The objective is

    1/2 sum_j [k(x_j, x_j) - 2 k(x_j, D) z_j + z_j^T K_DD z_j] + alpha/2 tr K_DD + beta/2 |Z|^2

A kernel's `base` is the part that costs a product, `value(base)` the kernel itself: everything else is made of bases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from simcomplete._types import Matrix

BANDWIDTH_ROWS = 4000  # rows that a bandwidth is measured on


class Kernel(Protocol):
    """What the two algorithms ask of a kernel."""

    def base(self, A: Matrix, B: Matrix) -> Matrix:
        """Return what all below is made of, (rows of A, rows of B)."""
        ...

    def value(self, base: Matrix) -> Matrix:
        """Return the kernel itself."""
        ...

    def own(self, X: Matrix) -> Matrix:
        """Return k(x, x) of every row."""
        ...

    def pull(self, X: Matrix, D: Matrix, base: Matrix, Z: Matrix) -> tuple[Matrix, Matrix]:
        """Return gradient (n, d) by the samples and curvature (n,), both up to the same factor."""
        ...

    def atoms(
        self, X: Matrix, D: Matrix, bases: tuple[Matrix, Matrix], Z: Matrix, alpha: float, *, size: bool
    ) -> tuple[Matrix, Matrix]:
        """Return gradient (m, d) by the atoms and curvature (m, m), up to the same factor; `bases` of X, D and D, D.

        `size` takes magnitudes in the curvature, which keeps it away from 0.
        """
        ...


@dataclass(frozen=True)
class Rbf:
    """k(x, y) = exp(-|x - y|^2 / (2 width)).

    Examples
    --------
    >>> Rbf(2.0).base(np.zeros((1, 2)), np.array([[0.0, 0.0], [0.0, 2.0]])).round(4)
    array([[1.    , 0.3679]])
    """

    width: float

    def base(self, A: Matrix, B: Matrix) -> Matrix:
        """The kernel itself."""
        return np.asarray(np.exp(squared_distances(A, B) / (-2 * self.width)))

    def value(self, base: Matrix) -> Matrix:
        """The kernel itself."""
        return base

    def own(self, X: Matrix) -> Matrix:
        """All ones."""
        return np.ones(len(X))

    def pull(self, X: Matrix, D: Matrix, base: Matrix, Z: Matrix) -> tuple[Matrix, Matrix]:
        """With T = -Z * K and s its row sums: (T D - s X, -s)."""
        T = -Z * base
        s = T.sum(axis=1)
        return T @ D - s[:, None] * X, -s

    def atoms(
        self, X: Matrix, D: Matrix, bases: tuple[Matrix, Matrix], Z: Matrix, alpha: float, *, size: bool
    ) -> tuple[Matrix, Matrix]:
        """With T1 = -Z * K_XD and T2 = (Z^T Z + alpha I)/2 * K_DD, c1 and c2 their column sums."""
        T1 = -Z * bases[0]
        T2 = (Z.T @ Z + alpha * np.eye(len(D))) / 2 * bases[1]
        c1, c2 = T1.sum(axis=0), T2.sum(axis=0)
        gradient = T1.T @ X + 2 * (T2 @ D) - (c1 + 2 * c2)[:, None] * D
        return gradient / self.width, (2 * T2 - np.diag(c1 + 2 * (np.abs(c2) if size else c2))) / self.width


@dataclass(frozen=True)
class Polynomial:
    """k(x, y) = (x.y + shift)^degree.

    Examples
    --------
    >>> kernel = Polynomial(1.0, 2)
    >>> kernel.value(kernel.base(np.ones((1, 2)), np.eye(2)))
    array([[4., 4.]])
    """

    shift: float
    degree: int

    def base(self, A: Matrix, B: Matrix) -> Matrix:
        """x.y + shift."""
        return np.asarray(A @ B.T + self.shift)

    def value(self, base: Matrix) -> Matrix:
        """The power."""
        return np.asarray(base**self.degree)

    def own(self, X: Matrix) -> Matrix:
        """(|x|^2 + shift)^degree."""
        return self.value(np.sum(X * X, axis=1) + self.shift)

    def pull(self, X: Matrix, D: Matrix, base: Matrix, Z: Matrix) -> tuple[Matrix, Matrix]:
        """With W1 = (|x|^2 + shift)^(degree-1) and W2 the same power of the base: (W1 X - (W2 * Z) D, W1)."""
        W1 = (np.sum(X * X, axis=1) + self.shift) ** (self.degree - 1)
        return W1[:, None] * X - (base ** (self.degree - 1) * Z) @ D, W1

    def atoms(
        self, X: Matrix, D: Matrix, bases: tuple[Matrix, Matrix], Z: Matrix, alpha: float, *, size: bool
    ) -> tuple[Matrix, Matrix]:
        """With powers W1, W2 of the bases and A = Z^T Z * W2 + alpha diag(W2): (A D - (W1 * Z)^T X, A)."""
        W1, W2 = (base ** (self.degree - 1) for base in bases)
        A = (Z.T @ Z + alpha * np.eye(len(D))) * W2
        return A @ D - (W1 * Z).T @ X, A


def squared_distances(A: Matrix, B: Matrix) -> Matrix:
    """|a - b|^2 of every pair of rows, by one product."""
    lengths = np.sum(A * A, axis=1)[:, None] + np.sum(B * B, axis=1)
    return np.asarray(np.maximum(lengths - 2 * (A @ B.T), 0.0))


def bandwidth(X: Matrix, factor: float) -> float:
    """(factor * mean distance)^2 over all ordered pairs of rows, a row with itself included; 1 where all are equal.

    Examples
    --------
    >>> bandwidth(np.array([[0.0], [2.0]]), 3.0)
    9.0
    """
    X = X[:: -(-len(X) // BANDWIDTH_ROWS)]
    squares = squared_distances(X, X)
    np.fill_diagonal(squares, 0.0)  # rounding would leave a little, and its root would be no longer small
    mean = float(np.mean(np.sqrt(squares)))
    return (factor * mean) ** 2 if mean > 0 else 1.0
