"""How far a matrix is from the nearest one at most, where rounding leaves nothing of the usual bound.

|S0|^2 - 2 theta(y) is a difference of numbers as large as |S0|^2. Where the squared distance is less than their
rounding, because rows differ in size by orders of magnitude or because S0 is nearly valid, it proves nothing. With
P = (S0 + Z(y))_+, N = P - (S0 + Z(y)), X any matrix that meets the constraints and E = X - S0 - N in the entries that
are free,

    |X - S0|^2 - minimum <= 2 <N, X> + |E|^2,

which has small terms only: for X = D P D, the rows of P scaled to their diagonal, <N, X> = |N^1/2 D P^1/2|^2.
"""

from __future__ import annotations

import numpy as np

from simcomplete._correlation.dual import Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.newton import Climb
from simcomplete._rows.xp import Array, diagonal, like, namespace, set_diagonal, set_entries, to_numpy
from simcomplete._types import Vector

PROVED = 1e-6  # a gap of at most this share of the squared distance is an optimum
ACCURATE = 1e-12  # so is one that leaves every entry of a correlation matrix accurate to the root of this
REACHED = 4  # roundings per row, to which Newton's method meets the diagonal at any rate
ROUNDINGS = 8  # of |S0|^2, by which the usual bound may be wrong
FURTHEST = 1e-8  # a run with a larger tolerance was not asked for an optimum


def row_tol(tol: float, b: Vector) -> float:
    """What diagonal entries may be missed by, as a share of the largest, so that each is missed by tol at most.

    Nothing is asked to be more exact than rounding lets it be.

    Examples
    --------
    >>> (
    ...     row_tol(1e-10, np.array([1.0, 1.0])),
    ...     row_tol(1e-10, np.array([0.01, 1.0])),
    ...     row_tol(1e-10, np.array([0.0, 1.0])),
    ... )
    (1e-10, 1e-12, 1.7763568394002505e-15)
    """
    return max(tol * float(b.min() / b.max()), min(tol, REACHED * len(b) * float(np.finfo(np.float64).eps)))


def is_accurate(gap: float, objective: float, least: float) -> bool:
    """Whether a gap shows an optimum, where `least` is the smallest entry of the diagonal.

    Examples
    --------
    >>> is_accurate(1e-9, 1e-2, 1.0), is_accurate(1e-9, 1e-5, 1.0), is_accurate(1e-13, 1e-13, 1.0)
    (True, False, True)
    """
    return gap <= max(PROVED * objective, ACCURATE * least**2)


def sharper(lower: float, objective: float, X: Array, S0: Array, y: Vector, held: Held) -> float:
    """The bound as it is where it proves an optimum, else that from small terms, for one more decomposition.

    Parameters
    ----------
    lower, objective : float
        The usual bound, and the squared distance of X.
    X, S0 : arrays of shape (n, n)
        The matrix, which meets the constraints, and the one it is to be next to; of any library.
    y : array
        Multipliers.
    held : Held
        The constraints.

    Examples
    --------
    >>> S0 = np.array([[1.0, 2.0], [2.0, 1.0]])
    >>> round(sharper(0.0, 2.0, np.ones((2, 2)), S0, -np.ones(2), Held.diagonal(np.ones(2))), 12)
    2.0
    """
    noise = ROUNDINGS * float(np.finfo(np.float64).eps) * float(namespace(S0).sum(S0 * S0))
    if objective - lower + noise <= PROVED * objective:
        return lower
    point = Climb(S0, held, float(np.max(held.target[: held.n])), 0.0, 0.0).at(y)
    return objective - gap_at(point, X, S0, held)


def gap_at(point: Dual, X: Array, S0: Array, held: Held) -> float:
    """By how much the squared distance of X may be above the smallest, from a point of the dual with eigenpairs."""
    xp, k = namespace(X), point.below
    F = point.U[:, k:] * like(np.sqrt(point.w[k:]), X)
    B = point.U[:, :k] * like(np.sqrt(np.maximum(-point.w[:k], 0.0)), X)
    own, wanted = to_numpy(xp.sum(F * F, axis=1)), to_numpy(diagonal(X))
    F *= like(np.sqrt(wanted / np.where(own > 0, own, 1.0)), X)[:, None]
    N, rest = B @ B.T, X - F @ F.T
    across = float(xp.sum((B.T @ F) ** 2) + xp.sum(N * rest))
    E = X - S0 - N
    set_diagonal(E, like(np.zeros(held.n), X))
    if len(held.among):
        i, j = held.among[held.first], held.among[held.second]
        for rows, cols in ((i, j), (j, i)):
            set_entries(E, rows, cols, like(np.zeros(len(i)), X))
    return max(2 * across + float(xp.sum(E * E)), 0.0)
