"""Bounds by an active set: those that hold with equality are found by solving problems with entries held.

An entry that leaves its bounds is held there; one whose multiplier pulls it inside is let go. Every problem starts from
the multipliers of the last, and only the one whose set does not change is solved to the end. Where few entries are at
their bounds the set begins empty. Where many are, equalities for all that ever left their bounds would be nearly
impossible to meet; the set is then that of a rough solution by operator splitting, which Newton's method completes in
two or three steps where splitting would need some thirty.

References
----------
Hintermueller, Ito, Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 2002.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simcomplete._correlation.dual import SINGLE, Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.newton import QUIET, newton
from simcomplete._correlation.splitting import solve_by_splitting
from simcomplete._correlation.weighted import Weighted
from simcomplete._method.iterate import Limits, Run
from simcomplete._types import Mask, Matrix, Vector

ROUNDS = 40
CROWDED = 0.05  # of a large matrix, a larger share at its bounds is slow to find from an empty set
FIRST, LATER = 1e-3, 1e-5  # how well constraints are met while the set changes
ROUGH = 1e-3  # how far apart both matrices of a splitting may be for the set to be nearly right
MOST_SPLIT, MOST_STEPS, MOST_ROUNDS = 150, 15, 12  # of the way over splitting: what takes longer is left to others


@dataclass(frozen=True)
class Bounded:
    """The nearest positive semi-definite matrix with diagonal b and entries within bounds; `held` have low = high.

    Examples
    --------
    >>> A = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> problem = Bounded(A, np.ones(3), A > 2, np.full((3, 3), -1.0), np.full((3, 3), 0.72))
    >>> X = np.array([[1.0, 0.72, 0.037], [0.72, 1.0, 0.72], [0.037, 0.72, 1.0]])
    >>> bool(np.allclose(problem.from_empty_set()[0], X, atol=1e-3))
    True
    >>> bool(np.allclose(problem.from_splitting()[0], X, atol=1e-3))
    True
    """

    G: Matrix
    b: Vector
    held: Mask
    low: Matrix
    high: Matrix
    tol: float = 1e-10
    limits: Limits = QUIET

    @property
    def inside(self) -> Mask:
        """Entries that have bounds."""
        return ~np.eye(len(self.b), dtype=bool) & ~self.held

    @property
    def weighted(self) -> Weighted:
        """The same problem as splitting takes it: the diagonal between equal bounds, too."""
        diagonal = np.eye(len(self.b), dtype=bool)
        low, high = (np.where(diagonal, self.b, bound) for bound in (self.low, self.high))
        return Weighted(self.G, np.ones_like(self.G), low, high, 0.0)

    def from_empty_set(self) -> tuple[Matrix, Run[Dual]] | None:
        """By sets that begin empty; None where one is large, contradicts itself as equalities, or none is the last."""
        none = np.zeros_like(self.held)
        if crowded(self.inside & ((self.low > self.G) | (self.high < self.G))):
            return None
        return self._settled(none, none, None, FIRST, ROUNDS, few=True)

    def from_splitting(self) -> tuple[Matrix, Run[Dual]] | None:
        """By the set of a rough solution, and what is left to change of it; None where that takes long."""
        limits = replace(self.limits, max_iter=min(self.limits.max_iter, MOST_SPLIT))
        X, Z, run = solve_by_splitting(self.weighted, self.G, np.zeros_like(self.G), max(ROUGH, self.tol), limits)
        if not run.status.ok:
            return None
        at_low, at_high = self.inside & (self.low >= X), self.inside & (self.high <= X)
        start = multipliers(X - Z - self.G, self.held | at_low | at_high)
        steps = replace(limits, max_iter=min(limits.max_iter, MOST_STEPS))
        return replace(self, limits=steps)._settled(at_low, at_high, start, LATER, MOST_ROUNDS, few=False)

    def _settled(
        self, at_low: Mask, at_high: Mask, start: Vector | Dual | None, loose: float, rounds: int, *, few: bool
    ) -> tuple[Matrix, Run[Dual]] | None:
        """Solve with entries held at their bounds until those are the right ones."""
        loose, diagonal = max(self.tol, loose), np.eye(len(self.b), dtype=bool)
        for _ in range(rounds):
            which = self.held | at_low | at_high
            target = np.where(at_high, self.high, np.where(which, self.low, self.G))
            target = np.where(diagonal, self.b, target)
            X, run = newton(self.G, self.b, loose, self.limits, held=which, values=target, start=start)
            if run.status.code == "infeasible" or not (run.status.ok or few):
                return None
            Z = Held.of(target, which).matrix(run.best.y)
            # As exact as the solution is; an entry at its bound that need not be held has a multiplier of either sign.
            slack = max(self.tol, run.best.deviation)
            next_low = self.inside & np.where(at_low, -slack < Z, self.low - slack > X)
            next_high = self.inside & np.where(at_high, slack > Z, self.high + slack < X) & ~next_low
            if (next_low == at_low).all() and (next_high == at_high).all():
                if loose <= self.tol:
                    return X, run
                loose, start = self.tol, run.best
                continue
            if few and crowded(next_low | next_high):
                return None
            loose = max(self.tol, LATER if start is not None else loose)
            kept = self.held | next_low | next_high
            start = multipliers(Z, kept)
            if not Z[which & ~kept].any():  # the same matrix to decompose, with other entries looked at
                start = replace(run.best, y=start)
            at_low, at_high = next_low, next_high
        return None


def crowded(active: Mask) -> bool:
    """Whether a matrix is large, and many of its entries are at their bounds."""
    return len(active) >= SINGLE and float(np.mean(active)) > CROWDED


def multipliers(Z: Matrix, which: Mask) -> Vector:
    """The multipliers of another set of entries, from the matrix of those before: 0 for new ones."""
    rows, cols = np.nonzero(np.triu(which | which.T, 1))
    return np.concatenate([np.diag(Z), np.sqrt(2.0) * Z[rows, cols]])
