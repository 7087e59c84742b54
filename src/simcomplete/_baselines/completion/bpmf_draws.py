"""The random draws of Bayesian matrix factorization: hyperparameters of a factor, and its rows given the other."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_solve, solve_triangular

from simcomplete._baselines.completion.modes import MaskedMatrix
from simcomplete._types import Matrix

SHARED = 8  # rows with one mask from which on they are solved together
CHUNK = 1000  # most precision matrices at once


@dataclass(frozen=True)
class Draws:
    """Where random numbers come from: standard normals of a shape, and Wishart(W, df) matrices.

    Examples
    --------
    >>> still = Draws.mean()  # no noise: the chain becomes a fixed recursion
    >>> still.normal((2,)), still.wishart(np.eye(1), 3)
    (array([0., 0.]), array([[3.]]))
    """

    normal: Callable[[tuple[int, ...]], Matrix]
    wishart: Callable[[Matrix, float], Matrix]

    @classmethod
    def random(cls, rng: np.random.Generator) -> Draws:
        """Real noise."""
        return cls(rng.standard_normal, lambda W, df: bartlett(W, df, rng))

    @classmethod
    def mean(cls) -> Draws:
        """Means instead of draws."""
        return cls(np.zeros, lambda W, df: df * W)


def bartlett(W: Matrix, df: float, rng: np.random.Generator) -> Matrix:
    """A draw from Wishart(W, df): L T T^T L^T with W = L L^T, T lower triangular, T_ii^2 ~ chi^2(df - i)."""
    r = len(W)
    T = np.tril(rng.standard_normal((r, r)), -1)
    T[np.diag_indices(r)] = np.sqrt(rng.chisquare(df - np.arange(r)))
    root = np.linalg.cholesky(W) @ T
    return np.asarray(root @ root.T)


@dataclass(frozen=True)
class Side:
    """Rows of one factor with the mean and precision they are drawn from."""

    rows: Matrix
    mu: Matrix
    Lam: Matrix


class Patterns:
    """The different rows of a mask: rows that share a mask share a precision matrix and its Cholesky decomposition.

    `groups` has the rows of each, `always` the columns that all observe, `masks` the others' columns of each.

    Examples
    --------
    >>> found = Patterns(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 0.0]]))
    >>> [group.tolist() for group in found.groups], found.always, found.masks.tolist()
    ([[0, 2], [1]], array([ True, False]), [[0.0], [1.0]])
    """

    def __init__(self, mask: Matrix) -> None:
        packed = np.packbits(mask > 0, axis=1)
        _, first, of = np.unique(packed, axis=0, return_index=True, return_inverse=True)
        order = np.argsort(of.ravel(), kind="stable")
        self.groups: list[NDArray[np.int64]] = np.split(order, np.cumsum(np.bincount(of.ravel()))[:-1])
        self.always = mask.all(axis=0)
        self.masks = mask[first][:, ~self.always]


def patterns(data: MaskedMatrix) -> tuple[Patterns | None, Patterns | None]:
    """Those of the rows and of the columns; None where everything is observed."""
    return (None, None) if data.mask is None else (Patterns(data.mask), Patterns(data.mask.T))


def standard(rows: Matrix, precision: float = 1.0) -> Side:
    """Rows with mean 0 and a given precision."""
    return Side(rows, np.zeros(rows.shape[1]), precision * np.eye(rows.shape[1]))


def draw_hyper(rows: Matrix, b0: float, ddof: int, draws: Draws) -> Side:
    """Draw mean and precision of a factor's rows from their Normal-Wishart posterior."""
    n, r = rows.shape
    mean = rows.mean(axis=0)
    off = rows - mean
    C = off.T @ off / max(n - ddof, 1)
    W = np.linalg.inv(np.eye(r) + n * C + (n * b0 / (b0 + n)) * np.outer(mean, mean))
    Lam = draws.wishart((W + W.T) / 2, r + n)
    L = np.linalg.cholesky((b0 + n) * Lam)
    mu = n * mean / (b0 + n) + solve_triangular(L, draws.normal((r,)), lower=True, trans="T")
    return Side(rows, mu, Lam)


def draw_rows(R: Matrix, masks: Patterns | None, side: Side, other: Matrix, beta: float, draws: Draws) -> Side:
    """Draw every row of a factor given the other.

    u ~ N(A^-1 b, A^-1) with A = Lam + beta V_O^T V_O and b = beta V_O^T r_O + Lam mu. A depends on the row's mask
    alone; without `masks` there is only one. With A = L L^T the draw is A^-1 b + L^-T eps = A^-1 (b + L eps): one
    decomposition, one solution.
    """
    b = beta * (R @ other) + side.Lam @ side.mu
    eps = draws.normal(b.shape)
    if masks is None:
        return Side(shared(side.Lam + beta * (other.T @ other), b, eps), side.mu, side.Lam)
    r = other.shape[1]
    base, some = side.Lam + beta * (other[masks.always].T @ other[masks.always]), other[~masks.always]
    # V_O^T V_O is symmetric: one product makes one triangle of it for every mask.
    i, j = np.tril_indices(r)
    squares = some[:, i] * some[:, j]
    place = np.empty((r, r), dtype=np.intp)
    place[i, j] = place[j, i] = np.arange(len(i))
    out = np.empty_like(b)
    for first in range(0, len(masks.groups), CHUNK):
        A = base + beta * (masks.masks[first : first + CHUNK] @ squares)[:, place]
        groups = masks.groups[first : first + CHUNK]
        many = [len(group) >= SHARED for group in groups]
        for k in np.flatnonzero(many):
            out[groups[k]] = shared(A[k], b[groups[k]], eps[groups[k]])
        if not all(many):
            few = np.flatnonzero(~np.array(many))
            rows = np.concatenate([groups[k] for k in few])
            stack = A[np.repeat(few, [len(groups[k]) for k in few])]
            noisy = b[rows, :, None] + np.linalg.cholesky(stack) @ eps[rows, :, None]
            out[rows] = np.linalg.solve(stack, noisy)[:, :, 0]
    return Side(out, side.mu, side.Lam)


def shared(A: Matrix, b: Matrix, eps: Matrix) -> Matrix:
    """Draw rows that share a precision."""
    L = np.linalg.cholesky(A)
    return np.asarray(cho_solve((L, True), (b + eps @ L.T).T).T)
