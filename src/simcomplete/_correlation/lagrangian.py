"""The nearest valid matrix with a weight for every entry, entries held, and bounds, by an augmented Lagrangian.

    min  sum_ij h_ij^2 (X_ij - A_ij)^2 / 2   over   X - a I positive semi-definite,  X_ii = 1,  low <= X <= high

The diagonal, entries that are held (low = high) and bounds are kept at every step; the eigenvalues are left to a
multiplier Z, positive semi-definite. For a given Z and c > 0

    sum_ij h_ij^2 (X_ij - A_ij)^2 / 2  +  |(Z - c (X - a I))_+|_F^2 / 2c

is minimised by Newton's method, projected onto the bounds, and Z becomes (Z - c (X - a I))_+. At the optimum Z proves
it: no valid X within the bounds is nearer than the minimum of the objective minus <Z, X - a I>, which is found entry
by entry; a weight of 0 does no harm there, because no entry of a valid X exceeds 1 - a. Bounds as wide as that are left
out of the steps.

References
----------
Qi, Sun, An augmented Lagrangian dual approach for the H-weighted nearest correlation matrix problem, IMA J. Numer.
Anal. 2011; Bertsekas, Projected Newton methods for optimization problems with simple constraints, SIAM J. Control
Optim. 1982.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg

from simcomplete._correlation.contradiction import violation
from simcomplete._correlation.direction import Sides
from simcomplete._correlation.newton import QUIET, stop_at
from simcomplete._correlation.psd import positive_ones, psd_gram
from simcomplete._correlation.weighted import Weighted
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._result.status import Status
from simcomplete._types import Mask, Matrix, Vector

INNER = 30  # steps of Newton's method for one Z
HALVINGS = 25  # of a step that does not lower the augmented Lagrangian
PENALTY = 2.0  # c to begin with
SLOW, FASTER = 0.3, 3.0  # c grows by the second where what is missed does not fall by the first
SOLVED, IDLE = 30.0, 20  # times what was aimed at counts as minimal; steps without progress that end the run
MOST_PENALTY = 1e6  # beyond, rounding decides


@dataclass(frozen=True)
class AugmentedPoint:
    """X, the multiplier Z, the penalty c; what X misses being valid by, the gradient left, decompositions made.

    `proof` is the multiplier with the largest bound so far, and `lower` that bound; `idle` counts steps since the least
    deviation, `least`.
    """

    X: Matrix
    Z: Matrix
    c: float
    missed: float
    slope: float
    made: int = 0
    proof: Matrix | None = None
    lower: float = -np.inf
    least: float = np.inf
    idle: int = 0


@dataclass(frozen=True)
class Merit:
    """The augmented Lagrangian at X: its value, gradient, and the eigenpairs of Z - c (X - a I)."""

    X: Matrix
    value: float
    gradient: Matrix
    w: Vector
    U: Matrix


def augmented(
    problem: Weighted, X: Matrix, Z: Matrix, tol: float = 1e-8, limits: Limits = QUIET
) -> tuple[AugmentedPoint, Run[AugmentedPoint]]:
    """Minimise from X and Z; stop where X misses being valid, and the optimum, by at most tol.

    Examples
    --------
    >>> A = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> ones = np.ones((3, 3))
    >>> low, high = np.where(np.eye(3) > 0, 1.0, -1.0), np.where(np.eye(3) > 0, 1.0, 0.7)
    >>> augmented(Weighted(A, ones, low, high, 0.0), np.eye(3), np.zeros((3, 3)))[0].X.round(3)
    array([[1. , 0.7, 0. ],
           [0.7, 1. , 0.7],
           [0. , 0.7, 1. ]])
    """
    shift = problem.floor * np.eye(len(X))

    def step(here: AugmentedPoint) -> AugmentedPoint:
        aim = max(0.3 * tol, min(0.1 * here.missed, 1e-2))
        X, Z, slope, made = minimised(problem, here, aim)
        missed = float(np.max(np.abs(Z - here.Z))) / here.c
        # Where X is not minimal, for rounding, a larger c makes both worse.
        kept = missed < SLOW * here.missed or slope > SOLVED * aim
        c = here.c if kept else min(FASTER * here.c, MOST_PENALTY)
        lower, deviation = problem.bound(Z), max(missed, slope)
        proof, lower = (Z, lower) if lower > here.lower else (here.proof, here.lower)
        idle = 0 if deviation < here.least else here.idle + 1
        least = min(here.least, deviation)
        return AugmentedPoint(X, Z, c, missed, slope, here.made + made, proof, lower, least, idle)

    def measure(here: AugmentedPoint) -> Facts:
        facts = {
            "deviation": max(here.missed, here.slope),
            "decompositions": float(here.made),
            "idle": float(here.idle),
        }
        wrong = violation(here.Z, problem.low - shift, problem.high - shift)
        return facts | ({"contradiction": wrong} if wrong > 0 else {})

    def stop(facts: Facts, recent: Any) -> Status | None:
        if facts["idle"] > IDLE:
            what = f"rounding leaves no further step; constraints are missed by up to {facts['deviation']:.1e}"
            return Status("stalled", what, ok=False)
        return stop_at(tol)(facts, recent) if facts["iteration"] > 0 else None

    begin = AugmentedPoint(np.clip(X, *problem.needed), Z, PENALTY, 1.0, 1.0)
    run = iterate(begin, step, measure=measure, stop=stop, limits=limits)
    return run.state, run


def minimised(problem: Weighted, begin: AugmentedPoint, aim: float) -> tuple[Matrix, Matrix, float, int]:
    """Newton's method for one Z, projected onto the bounds: X, the next Z, the gradient left, decompositions made."""
    low, high = problem.needed
    here, made, slope = merit(problem, begin.X, begin), 1, 0.0
    for _ in range(INNER):
        g = here.gradient
        stuck = ((low >= here.X) & (g > 0)) | ((high <= here.X) & (g < 0))
        free = problem.free & ~stuck
        slope = float(np.max(np.abs(g), where=free, initial=0.0))
        if slope <= aim:
            break
        D = newton_step(problem, here, free, begin.c, slope, aim)
        found = None
        for halving in range(HALVINGS):
            tried = merit(problem, np.clip(here.X + D / 2**halving, low, high), begin)
            made += 1
            gain = float(np.sum(g * (tried.X - here.X)))
            if tried.value <= here.value + 1e-4 * gain + 1e-13 * abs(here.value):
                found = tried
                break
        if found is None:  # rounding leaves no further step
            break
        here = found
    up = positive_ones(here.w)
    return here.X, psd_gram(here.U[:, up] * np.sqrt(here.w[up])), slope, made


def merit(problem: Weighted, X: Matrix, at: AugmentedPoint) -> Merit:
    """The augmented Lagrangian at X, for the Z and c of a point."""
    T = at.Z - at.c * X
    T[np.diag_indices(len(T))] += at.c * problem.floor
    w, U = eigh(T, driver="evd", check_finite=False, overwrite_a=True)
    up = positive_ones(w)
    gradient = problem.h2 * (X - problem.A) - psd_gram(U[:, up] * np.sqrt(w[up]))
    return Merit(X, problem.objective(X) + float(np.sum(w[up] ** 2)) / (2 * at.c), gradient, w, U)


def newton_step(problem: Weighted, here: Merit, free: Mask, c: float, slope: float, aim: float) -> Matrix:
    """Solve (h^2 D + c U (Omega * (U^T D U)) U^T) = -gradient on the free entries; Omega as in `direction`."""
    sides = Sides.of(here.w, here.U)
    n, kind = len(here.w), sides.A.dtype
    h2, mask = problem.h2.astype(kind), free.astype(kind)
    ridge = min(1e-3, 0.1 * slope)  # where a weight is 0 the matrix may be singular

    def product(d: Vector) -> Vector:
        D = d.reshape(n, n)
        part = sides.fewer @ sides.half(sides.fewer.T @ D)
        part = part + part.T if sides.fewer is sides.A else D - part - part.T
        return np.asarray(((h2 + ridge) * D + c * part * mask).ravel())

    sums, mixed, B2 = sides.squares()
    P = np.outer(sums, sums) / 2 + mixed @ B2.T
    scale = h2 + c * (P + P.T) + ridge
    V = LinearOperator((n * n, n * n), product, dtype=kind)
    M = LinearOperator((n * n, n * n), lambda x: (x.reshape(n, n) / scale).ravel(), dtype=kind)
    enough = min(0.2, max(1e-2, slope, 0.3 * aim / slope))
    # In units of the slope: squares of small numbers would be 0 in single precision.
    down = (-here.gradient * free / slope).astype(kind).ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        d = cg(V, down, rtol=enough, maxiter=200, M=M)[0]
    if not np.isfinite(d).all():  # singular to the last digit: the scaled gradient leads down as well
        d = M @ down
    D: Matrix = d.reshape(n, n).astype(np.float64) * slope
    return (D + D.T) / 2
