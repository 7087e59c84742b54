"""The nearest valid matrix with a weight for every entry, entries held, and bounds, by operator splitting.

    min  sum_ij h_ij^2 (X_ij - A_ij)^2 / 2   over   X - a I positive semi-definite,  X_ii = 1,  low <= X <= high

Two matrices are to become equal: X keeps the weights and the bounds, entry by entry, and Y the eigenvalues. Both follow
from one matrix V and a penalty c > 0,

    Y = a I + V_+,   Z = c (V_+ - V),   X = (h^2 A + Z + c Y) / (h^2 + c) within the bounds,

and V + r (X - Y) is the next V (Douglas and Rachford; ADMM is the same), one eigendecomposition each. Anderson's
acceleration, which combines the last few steps so that what is missed becomes smallest, halves their number. The
first steps are in single precision. Z is the multiplier of the eigenvalues, and proves the result.

References
----------
Eckstein, Bertsekas, On the Douglas-Rachford splitting method, Math. Program. 1992; Zhang, O'Donoghue, Boyd, Globally
convergent type-I Anderson acceleration, SIAM J. Optim. 2020; Higham, Strabic, Anderson acceleration of the alternating
projections method for computing the nearest correlation matrix, Numer. Algorithms 2016.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np
from scipy.linalg import eigh

from simcomplete._correlation.contradiction import violation
from simcomplete._correlation.dual import SINGLE
from simcomplete._correlation.newton import QUIET, stop_at
from simcomplete._correlation.psd import positive_ones, psd_gram, psd_part
from simcomplete._correlation.weighted import Weighted
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._types import Matrix, Vector

DOUBLE = np.dtype(np.float64)
RELAXED = 1.6  # r
PENALTIES = (2.0, 0.2, 0.02, 20.0)  # c, times the typical h^2; in turn, where one is slow
PATIENCE = 150  # iterations with one of them
DEPTH = 5  # steps that are combined
ROUGH = 3e-5  # single precision is left where X and Y differ by less
UNCHANGED = 1e-15  # changes of X - Y that are smaller, times X - Y, are rounding
WORSE = 2.0  # times the least that was missed: where it is more, the steps before are forgotten, and
LONGER = 100.0  # where they lead so many times as far as the step alone: flat directions have no end
EVERY = 10  # iterations between looks for a contradiction, which may be recognised by Z


@dataclass(frozen=True)
class Memory:
    """The last steps: changes of X - Y, what V + r (X - Y) moved by, and products of the former."""

    changes: tuple[Matrix, ...] = ()
    moves: tuple[Matrix, ...] = ()
    products: Matrix = field(default_factory=lambda: np.zeros((0, 0)))

    def with_step(self, step: Matrix, change: Matrix) -> Memory:
        """With one step more, and without the oldest where there are many."""
        kept, moves, G = self.changes[1 - DEPTH :], self.moves[1 - DEPTH :], self.products
        old = G[len(G) - len(kept) :, len(G) - len(kept) :]
        new = np.array([float(np.vdot(one, change)) for one in (*kept, change)])
        products = np.block([[old, new[:-1, None]], [new[None]]])
        return Memory((*kept, change), (*moves, step + RELAXED * change), products)

    def shares(self, apart: Matrix) -> Vector:
        """How much of every step is to be taken back, so that least is left of X - Y."""
        size = float(np.trace(self.products))
        if size <= UNCHANGED**2 * float(np.vdot(apart, apart)):  # rounding: of this no step can be learned
            return np.zeros(len(self.changes))
        G = self.products + 1e-10 * size * np.eye(len(self.products))
        return np.linalg.solve(G, np.array([float(np.vdot(one, apart)) for one in self.changes]))


@dataclass(frozen=True)
class SplitPoint:
    """V, the X that follows from it, X - Y, the penalty; the steps before, the least X - Y among them, steps made."""

    V: Matrix
    X: Matrix
    apart: Matrix
    c: float
    memory: Memory = field(default_factory=Memory)
    least: float = np.inf
    made: int = 0

    @property
    def missed(self) -> float:
        """How far X and Y are apart."""
        return float(np.max(np.abs(self.apart)))


@dataclass(frozen=True)
class Splitting:
    """The problem in one precision: X and Y of any V, and the next V."""

    problem: Weighted
    c: float
    pulled: Matrix
    share: Matrix
    low: Matrix
    high: Matrix
    face: Matrix | None

    @classmethod
    def of(cls, problem: Weighted, c: float, kind: Any) -> Splitting:
        """With arrays of a precision."""
        low, high = (bound.astype(kind) for bound in problem.needed)
        face = None if problem.face is None else problem.face.astype(kind)
        h2 = problem.h2
        return cls(problem, c, (h2 * problem.A).astype(kind), (1 / (h2 + c)).astype(kind), low, high, face)

    def at(self, V: Matrix) -> SplitPoint:
        """What follows from V, by one eigendecomposition of which the smaller side is multiplied out."""
        if self.face is not None:
            Y = on_face(V, self.face)
            return self._with(V, Y, 2 * Y - V)
        w, U = eigh(V, driver="evd", check_finite=False)
        up = positive_ones(w)
        if 2 * int(up.sum()) <= len(w):
            Y = psd_gram(U[:, up] * np.sqrt(w[up]))
            X = 2 * Y - V  # V_+ + (V_+ - V)
        else:
            X = psd_gram(U[:, ~up] * np.sqrt(np.maximum(-w[~up], 0)))
            Y = V + X
            X += Y
        return self._with(V, Y, X)

    def _with(self, V: Matrix, Y: Matrix, X: Matrix) -> SplitPoint:
        """The point of Y - a I = V_+ and 2 V_+ - V, which are written over."""
        diagonal = np.diag_indices(len(V))
        Y[diagonal] += self.problem.floor
        X[diagonal] += self.problem.floor
        X *= self.c
        X += self.pulled
        X *= self.share
        np.clip(X, self.low, self.high, out=X)
        return SplitPoint(V, X, X - Y, self.c)

    def moved(self, here: SplitPoint, c: float) -> Matrix:
        """The V of another penalty that has the same Y and Z."""
        plus = here.X - here.apart
        plus[np.diag_indices(len(plus))] -= self.problem.floor
        return plus - (plus - here.V) * (self.c / c)

    def step(self, here: SplitPoint) -> SplitPoint:
        """The next V by Anderson's acceleration of V + r (X - Y); without it, where it leads away."""
        step = RELAXED * here.apart
        shares = here.memory.shares(here.apart) if here.memory.changes else np.zeros(0)
        combined = step.copy()
        for share, moved in zip(shares, here.memory.moves, strict=True):
            combined -= combined.dtype.type(share) * moved
        usual = np.linalg.norm(combined) <= LONGER * np.linalg.norm(step)
        found = self.at(here.V + (combined if usual else step))
        size, memory = float(np.linalg.norm(found.apart)), Memory()
        if usual and (size <= WORSE * here.least or not len(shares)):
            memory = here.memory.with_step(combined, found.apart - here.apart)
        elif usual:  # after the step alone X - Y is never larger
            found = self.at(here.V + step)
            size = float(np.linalg.norm(found.apart))
        return replace(found, memory=memory, least=min(size, here.least))


def solve_by_splitting(
    problem: Weighted, X: Matrix, Z: Matrix, tol: float = 1e-8, limits: Limits = QUIET
) -> tuple[Matrix, Matrix, Run[SplitPoint]]:
    """Minimise from X and Z, and return both; stop where X misses being valid, and the optimum, by at most tol.

    Examples
    --------
    >>> A = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> low, high = np.where(np.eye(3) > 0, 1.0, -1.0), np.where(np.eye(3) > 0, 1.0, 0.7)
    >>> X = solve_by_splitting(Weighted(A, np.ones((3, 3)), low, high, 0.0), np.eye(3), np.zeros((3, 3)))[0]
    >>> X.round(3) + 0.0
    array([[1. , 0.7, 0. ],
           [0.7, 1. , 0.7],
           [0. , 0.7, 1. ]])
    """
    n = len(X)
    shift = problem.floor * np.eye(n)
    penalties = [factor * typical(problem) for factor in PENALTIES]

    @cache
    def at_penalty(c: float, kind: Any) -> Splitting:
        return Splitting.of(problem, c, kind)

    def step(here: SplitPoint) -> SplitPoint:
        engine, made = at_penalty(here.c, np.dtype(here.V.dtype)), here.made + 1
        if made % PATIENCE == 0:  # as slow as this the penalty does not fit
            c = penalties[made // PATIENCE % len(penalties)]
            found = at_penalty(c, DOUBLE).at(engine.moved(here, c).astype(np.float64))
        elif here.V.dtype == np.float64 or here.missed > ROUGH:
            found = engine.step(here)
        else:
            found = at_penalty(here.c, DOUBLE).at((here.V + RELAXED * here.apart).astype(np.float64))
        return replace(found, made=made)

    def measure(here: SplitPoint) -> Facts:
        done = here.V.dtype == np.float64
        facts = {"deviation": max(1.0, here.c) * here.missed + (0.0 if done else 2 * tol)}
        if here.made % EVERY == EVERY - 1:
            looked = done and problem.face is None
            wrong = violation(multiplier(here), problem.low - shift, problem.high - shift) if looked else 0.0
            facts |= {"contradiction": wrong} if wrong > 0 else {}
        return facts

    first = at_penalty(penalties[0], np.dtype(np.float32) if n >= SINGLE else DOUBLE)
    start = first.at((X - shift - Z / first.c).astype(first.low.dtype))
    run = iterate(start, step, measure=measure, stop=stop_at(tol), limits=limits)
    return run.state.X.astype(np.float64), multiplier(run.state, problem.face), run


def typical(problem: Weighted) -> float:
    """Between the mean and the geometric mean of the weights h^2 of free entries, times the share that have one.

    Examples
    --------
    >>> h2 = np.array([[0.0, 1.0, 0.01], [1.0, 0.0, 0.0], [0.01, 0.0, 0.0]])
    >>> low = np.where(np.eye(3) > 0, 1.0, -1.0)
    >>> round(typical(Weighted(np.eye(3), h2, low, np.ones((3, 3)), 0.0)), 4)
    0.1498
    """
    h2 = problem.h2[problem.free]
    some = h2[h2 > 0]
    # Without any weight every valid matrix is as good.
    return float(np.sqrt(np.exp(np.mean(np.log(some))) * some.mean()) * len(some) / len(h2)) if len(some) else 1.0


def multiplier(here: SplitPoint, face: Matrix | None = None) -> Matrix:
    """Z, positive semi-definite to the last digit, as a proof needs it; on a face, in all its directions."""
    V = here.V.astype(np.float64)
    if face is not None:
        Z: Matrix = here.c * (on_face(V, face) - V)
        return Z
    w, U = eigh(V, driver="evd", check_finite=False)
    down = w < 0
    return psd_gram(U[:, down] * np.sqrt(-here.c * w[down]))


def on_face(V: Matrix, face: Matrix) -> Matrix:
    """The nearest P M P^T with positive semi-definite M, P the orthonormal columns of a face.

    Examples
    --------
    >>> on_face(np.array([[1.0, 0.5], [0.5, -2.0]]), np.array([[1.0], [0.0]]))
    array([[1., 0.],
           [0., 0.]])
    """
    Y: Matrix = face @ psd_part(face.T @ V @ face)[0] @ face.T
    return (Y + Y.T) / 2
