"""`factor_correlation`: the nearest correlation matrix with k factors."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._correlation.constraints import constraints, count_up_to
from simcomplete._correlation.given import given_correlation
from simcomplete._correlation.nearest import repaired
from simcomplete._correlation.repair import Proof, Repair
from simcomplete._correlation.solve import Solved, solve_nearest
from simcomplete._correlation.starts import best_of, leading_factors
from simcomplete._method.iterate import Limits
from simcomplete._result.status import Status
from simcomplete._types import Matrix

DRAWN_STARTS = 4


def factor_correlation(A: Any, k: int, *, rescale: bool = False, progress: bool | None = None) -> Repair:
    """Find the nearest correlation matrix of the form V V^T + diagonal, k columns in V, rows of length at most 1.

    Parameters
    ----------
    A : array or frame of shape (n, n)
        As for `nearest_correlation`; entries with NaN have no weight.
    k : int
        Number of factors, from 1 to n.
    rescale : bool
        Divide A by standard deviations first.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Repair
        `.factors` is V. The problem is not convex: `.certificate` has the bound of the nearest correlation matrix of
        any form, how many starts there were, and how many agreed.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> A = np.array([[1, 0.72, 0.63], [0.72, 1, 0.56], [0.63, 0.56, 1]])  # factor 0.9, 0.8, 0.7
    >>> repair = sc.factor_correlation(A, 1)
    >>> np.abs(repair.factors.T).round(4)
    array([[0.9, 0.8, 0.7]])
    """
    given = given_correlation(A, rescale=rescale)
    k = count_up_to(k, "k", given.n, "number of factors")
    conditions = constraints(given, None, None, None, None, None, 0.0)
    h2 = np.where(given.known, 1.0, 0.0)
    np.fill_diagonal(h2, 0.0)
    bound = solve_nearest(
        given, conditions, 1e-10, Limits(max_iter=100, progress=progress, label="nearest correlation"), None
    )

    def value(W: Matrix) -> tuple[float, Matrix]:
        V, t, unit = _inside(W)
        E = h2 * (V @ V.T - given.values)
        pull = 4 * E @ V
        along = np.sum(pull * unit, axis=1, keepdims=True)
        # Of V = sin(t) unit with t = |W|: cos(t) along the row, sin(t) / t across it.
        across = np.sinc(t / np.pi)
        return float(np.sum(E * (V @ V.T - given.values))), across * pull + (np.cos(t) - across) * along * unit

    rng = np.random.default_rng(0)
    base = [
        leading_factors(given.values, k),
        leading_factors(bound.X, k),
        *(rng.standard_normal((given.n, k)) for _ in range(DRAWN_STARTS)),
    ]
    starts = [W * np.minimum(1.0, 1.2 / (np.linalg.norm(W, axis=1, keepdims=True) + 1e-300)) for W in base]
    W, low, made, agreed = best_of(value, starts, float(np.sum(np.square(given.values))))
    V = _inside(W)[0]
    X = V @ V.T
    np.fill_diagonal(X, 1.0)
    proof = Proof.of(low, bound.proof.lower_bound, "the nearest matrix of any form", given.values, made, agreed)
    message = f"{agreed} of {made} starts ended here; at most {proof.relative_gap:.1%} above the smallest possible"
    return repaired(given, Solved(X, proof, Status("local", message), 0, None), factors=V)


def _inside(W: Matrix) -> tuple[Matrix, Matrix, Matrix]:
    """Rows sin(|w|) w / |w| of the unit ball, its border included; |w|, and w / |w|."""
    t = np.linalg.norm(W, axis=1, keepdims=True)
    unit = W / np.maximum(t, 1e-300)
    return np.sin(t) * unit, t, unit
