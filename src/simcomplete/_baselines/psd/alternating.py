"""Alternating projections for DMC: exact with a box or with entries held, and the iteration of the public programs.

Every step projects onto the positive semi-definite matrices and then onto the rest: the diagonal, a box, held entries.

References
----------
Higham, Computing the nearest correlation matrix, IMA J. Numer. Anal. 2002.
Higham, Strabic, Anderson acceleration of the alternating projections method, Numer. Algorithms 2016.
Li, Estimating Jaccard index with missing observations: a matrix calibration approach, NIPS 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from simcomplete._correlation.newton import QUIET, stop_at
from simcomplete._correlation.psd import psd_part
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._types import Matrix, Vector

MEMORY = 8  # residuals that Anderson acceleration combines
WORSE = 2.0  # a residual that grows by more than this empties its memory


def onto(b: Vector | None, low: float = -1.0, high: float = 1.0, *, clip: bool = False) -> Callable[[Matrix], Matrix]:
    """The projection onto diagonal b and cosines from low to high: low <= S_ij / sqrt(b_i b_j) <= high.

    From -1 to 1 the box follows from the rest and is left out, unless `clip` asks for it: the public programs clip, but
    without an increment for it, and so end beside the projection. b = None leaves the diagonal free.

    Examples
    --------
    >>> onto(np.ones(2), low=0.0)(np.array([[1.5, -0.5], [-0.5, 1.0]]))
    array([[1., 0.],
           [0., 1.]])
    """
    unit = None if b is None else np.sqrt(b)
    size = 1.0 if unit is None else np.outer(unit, unit)
    boxed = clip or low > -1 or high < 1

    def project(T: Matrix) -> Matrix:
        Y = np.clip(T, low * size, high * size) if boxed else T.copy()
        if b is not None:
            np.fill_diagonal(Y, b)
        return Y

    return project


@dataclass(frozen=True)
class Alternating:
    """A state of alternating projections: X positive semi-definite, Y meeting the rest, an increment for each."""

    X: Matrix
    Y: Matrix
    before_x: Matrix
    before_y: Matrix
    positive: int | None
    deviation: float


def dykstra(
    S0: Matrix,
    project: Callable[[Matrix], Matrix],
    tol: float = 1e-8,
    limits: Limits = QUIET,
    positive: int | None = None,
) -> tuple[Matrix, Run[Alternating]]:
    """Dykstra's alternating projections, with an increment for either set: exact for any convex constraints.

    Parameters
    ----------
    S0 : array of shape (n, n)
        Symmetric.
    project : callable
        Gives the nearest matrix with the diagonal, box and entries asked for.
    tol : float
        Stop where no entry of X is further than tol from Y.
    limits : Limits
        What else ends the run.
    positive : int, optional
        As in `psd_part`.

    Returns
    -------
    X, run : array of shape (n, n), Run
        Positive semi-definite; the other constraints are met within the tolerance.

    Examples
    --------
    >>> S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> X, _ = dykstra(S0, lambda T: np.where(np.eye(3) > 0, 1.0, T))
    >>> X.round(3)
    array([[1.   , 0.743, 0.105],
           [0.743, 1.   , 0.743],
           [0.105, 0.743, 1.   ]])
    """

    def step(here: Alternating) -> Alternating:
        T = here.Y + here.before_x
        X, count = psd_part(T, here.positive)
        Y = project(X + here.before_y)
        return Alternating(X, Y, T - X, X + here.before_y - Y, count, float(np.max(np.abs(X - Y))))

    none = np.zeros_like(S0)
    start = Alternating(none, S0, none, none, positive, float(np.max(np.abs(S0))))
    run = iterate(start, step, measure=lambda s: {"deviation": s.deviation}, stop=stop_at(tol), limits=limits)
    return run.state.X, run


@dataclass(frozen=True)
class Multipliers:
    """A state of `held`: multipliers on the held entries, X = (S0 + Z)_+, what X misses there, and those before."""

    z: Vector
    X: Matrix
    missed: Vector
    positive: int
    before: tuple[tuple[Vector, Vector], ...] = ()


def held(
    S0: Matrix, which: NDArray[np.bool_], tol: float = 1e-9, limits: Limits = QUIET, positive: int | None = None
) -> tuple[Matrix, Run[Multipliers]]:
    """The nearest positive semi-definite matrix that keeps the entries `which` of S0 (its diagonal among them).

    The set of such matrices is affine, so Dykstra's method is z <- z + missed, z the multipliers of the held entries
    and missed = S0 - X there: a fixed-point iteration, which Anderson's combination of the last residuals shortens from
    tens of thousands of steps to hundreds.

    Parameters
    ----------
    S0 : array of shape (n, n)
        Symmetric.
    which : array of bool, shape (n, n)
        Symmetric; True where an entry is held.
    tol : float
        Stop where no held entry is missed by more than this.
    limits : Limits
        What else ends the run.
    positive : int, optional
        As in `psd_part`.

    Returns
    -------
    X, run : array of shape (n, n), Run

    Examples
    --------
    >>> S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> which = np.array([[True, True, False], [True, True, False], [False, False, True]])
    >>> held(S0, which)[0].round(3)
    array([[1.   , 0.9  , 0.221],
           [0.9  , 1.   , 0.624],
           [0.221, 0.624, 1.   ]])
    """
    rows, cols = np.nonzero(np.triu(which))
    target = S0[rows, cols]

    def at(z: Vector, before: tuple[tuple[Vector, Vector], ...], count: int | None) -> Multipliers:
        T = S0.copy()
        T[rows, cols] += z
        T[cols, rows] = T[rows, cols]
        X, count = psd_part(T, count)
        missed = target - X[rows, cols]
        if before and np.linalg.norm(missed) > WORSE * np.linalg.norm(before[-1][1]):
            before = ()
        return Multipliers(z, X, missed, count, before)

    def step(here: Multipliers) -> Multipliers:
        pairs = (*here.before, (here.z, here.missed))
        z, missed = pairs[-1]
        if len(pairs) > 1:
            moves = np.stack([b[0] - a[0] for a, b in pairwise(pairs)], axis=1)
            changes = np.stack([b[1] - a[1] for a, b in pairwise(pairs)], axis=1)
            share = np.linalg.lstsq(changes, missed, rcond=1e-12)[0]
            z = z - (moves + changes) @ share
        return at(z + missed, pairs[-MEMORY:], here.positive)

    def measure(here: Multipliers) -> Facts:
        return {"deviation": float(np.max(np.abs(here.missed)))}

    run = iterate(at(np.zeros(len(rows)), (), positive), step, measure=measure, stop=stop_at(tol), limits=limits)
    return run.best.X, run


@dataclass(frozen=True)
class Calibrated:
    """A state of the public iteration: Y, its positive semi-definite X, their difference carried on, the change."""

    Y: Matrix
    X: Matrix | None = None
    carried: Matrix | float = 0.0
    change: float = 1.0


def calibrate(here: Calibrated, project: Callable[[Matrix], Matrix], cut: float = 1e-5) -> Calibrated:
    """One step of the public DMC programs: eigenvalues up to `cut` times the largest go, only X has an increment.

    Examples
    --------
    >>> first = calibrate(Calibrated(np.array([[1.0, 2.0], [2.0, 1.0]])), onto(np.ones(2)))  # eigenvalues 3, -1
    >>> first.X, round(first.change, 6)  # |Y - X| / |Y|, largest row sums
    (array([[1.5, 1.5],
           [1.5, 1.5]]), 0.333333)
    """
    Y = here.Y if here.X is None else project(here.X)
    T = Y - here.carried
    w, U = eigh(T, driver="evd", check_finite=False)
    kept = w > cut * w[-1]
    F = U[:, kept] * np.sqrt(w[kept])
    X = F @ F.T
    size = float(np.linalg.norm(Y, np.inf))
    change = float(np.linalg.norm(Y - X, np.inf)) / size if size > 0 else 0.0
    return Calibrated(Y, X, X - T, change)
