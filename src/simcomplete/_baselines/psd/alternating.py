"""Alternating projections for DMC: exact with a box, and the iteration of the public programs.

Every step projects onto the positive semi-definite matrices and then onto the rest: the diagonal and a box.

References
----------
Higham, Computing the nearest correlation matrix, IMA J. Numer. Anal. 2002.
Li, Estimating Jaccard index with missing observations: a matrix calibration approach, NIPS 2015.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.linalg import eigh

from simcomplete._correlation.newton import QUIET, stop_at
from simcomplete._correlation.psd import psd_part
from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._types import Matrix, Vector


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
