"""Bounds by an active set: those that hold with equality are found by solving problems with entries held.

An entry that leaves its bounds is held there; one whose multiplier pulls it inside is let go. Every problem starts from
the multipliers of the last, and only the one whose set does not change is solved to the end. Then the multipliers have
the right signs, so that the bound of the dual holds for the inequalities as well.

References
----------
Hintermueller, Ito, Kunisch, The primal-dual active set strategy as a semismooth Newton method, SIAM J. Optim. 2002.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._correlation.dual import SINGLE
from simcomplete._correlation.held import Held
from simcomplete._correlation.newton import QUIET, newton
from simcomplete._method.iterate import Limits, Run
from simcomplete._types import Mask, Matrix, Vector

ROUNDS = 40
CROWDED = 0.05  # of a large matrix, a larger share at its bounds is nearly impossible as equalities, and slow
FIRST, LATER = 1e-3, 1e-5  # how well constraints are met while the set changes


def bounded(
    G: Matrix, b: Vector, held: Mask, low: Matrix, high: Matrix, tol: float = 1e-10, limits: Limits = QUIET
) -> tuple[Matrix, Run[Any]] | None:
    """The nearest positive semi-definite matrix with diagonal b, within bounds; None where no set was found.

    `held` entries have low = high. Sets that are large, or contradict each other as equalities, are not followed.

    Examples
    --------
    >>> A = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> X, run = bounded(A, np.ones(3), A > 2, np.full((3, 3), -1.0), np.full((3, 3), 0.72))
    >>> X.round(3)
    array([[1.   , 0.72 , 0.037],
           [0.72 , 1.   , 0.72 ],
           [0.037, 0.72 , 1.   ]])
    """
    inside = ~np.eye(len(b), dtype=bool) & ~held
    at_low = at_high = np.zeros_like(inside)
    y: Vector | None = None
    loose = max(tol, FIRST)
    for made in range(ROUNDS):
        which = held | at_low | at_high
        target = np.where(at_low, low, np.where(at_high, high, np.where(held, low, G)))
        values = np.where(np.eye(len(b)) > 0, np.diag(b), target)
        X, run = newton(G, b, loose, limits, held=which, values=values, start=y)
        if run.status.code == "infeasible":
            return None
        Z = Held.of(values, which).matrix(run.best.y)
        slack = loose
        next_low = inside & np.where(at_low, Z > 0, low - slack > X)
        next_high = inside & np.where(at_high, Z < 0, high + slack < X) & ~next_low
        if (next_low == at_low).all() and (next_high == at_high).all():
            if loose <= tol:
                return X, run
            loose, y = tol, run.best.y
            continue
        if len(b) >= SINGLE and np.mean(next_low | next_high) > CROWDED:
            return None
        loose = max(tol, FIRST if made == 0 else LATER)
        at_low, at_high = next_low, next_high
        y = multipliers(Z, held | at_low | at_high)
    return None


def multipliers(Z: Matrix, which: Mask) -> Vector:
    """The multipliers of another set of entries, from the matrix of those before: 0 for new ones."""
    rows, cols = np.nonzero(np.triu(which | which.T, 1))
    return np.concatenate([np.diag(Z), np.sqrt(2.0) * Z[rows, cols]])
