"""FGSR-2/3 for data without noise: min sum_j |A_:j| + alpha/2 |B|_F^2 subject to A B = X, X = the data where observed.

By the alternating direction method of multipliers, with A linearised. Observed values are held exactly, so on a fully
observed matrix it has nothing to say.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._baselines.completion.fgsr_palm import alive, finished, first_pair, relative, shrink_columns, solved
from simcomplete._baselines.completion.modes import MaskedMatrix, settled
from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._types import Matrix


@dataclass(frozen=True)
class AdmmIterate:
    """A, B, the completed X, the multipliers, and what is measured."""

    A: Matrix
    B: Matrix
    X: Matrix
    dual: Matrix
    objective: float
    change: float = 1.0


def admm(
    data: MaskedMatrix, rank: int, u: float, within: Limits, *, alpha: float = 1.0, tol: float = 1e-4
) -> Run[AdmmIterate]:
    """Complete a matrix whose observed values are exact.

    Parameters
    ----------
    data, rank : MaskedMatrix, int
        The matrix and the most components.
    u : float
        Weight of the augmented Lagrangian, the authors' mu.
    within, alpha, tol : Limits, float, float
        As in `palm`; X changing by less than tol/10 ends it, too.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> O = np.outer(np.sin(np.arange(30)), np.cos(np.arange(20)))
    >>> M = (rng.random(O.shape) < 0.7).astype(float)
    >>> run = admm(MaskedMatrix(O * M, M), 5, 1.0, Limits(1000), tol=1e-6)
    >>> bool(abs(run.state.X - O).max() < 0.01), run.state.A.shape[1]
    (True, 1)
    """
    hidden = np.zeros_like(data.values) if data.mask is None else 1 - data.mask

    def step(at: AdmmIterate) -> AdmmIterate:
        tau = u * float(np.linalg.norm(at.B @ at.B.T, 2))
        target = at.X + at.dual / u
        A = shrink_columns(at.A + (u / tau) * ((target - at.A @ at.B) @ at.B.T), 1 / tau)
        B = solved(u * (A.T @ A) + alpha * np.eye(A.shape[1]), u * (A.T @ target))
        fit = A @ B
        X = data.values + hidden * (fit - at.dual / u)
        change = max(relative(A, at.A), relative(B, at.B))
        # Ten times the change of X, so that one tolerance serves the authors' two.
        change = min(change, 10 * relative(X, at.X))
        objective = np.linalg.norm(A, axis=0).sum() + 0.5 * alpha * np.sum(B * B)
        keep = alive(A, B)
        return AdmmIterate(A[:, keep], B[keep], X, at.dual + u * (X - fit), float(objective), change)

    # Missing values count as 0 in the first decomposition; scaled up, the data have about the right size.
    scale = 1.0 if data.mask is None else data.mask.size / max(float(data.mask.sum()), 1.0)
    A, B = first_pair(data.values * scale, rank, alpha, 2 / 3)
    objective = float(np.linalg.norm(A, axis=0).sum() + 0.5 * alpha * np.sum(B * B))
    start = AdmmIterate(A, B, data.values, np.zeros_like(data.values), objective)

    def measure(at: AdmmIterate) -> dict[str, float]:
        return {"objective": at.objective, "change": at.change, "components": at.A.shape[1]}

    return iterate(start, step, measure=measure, stop=finished(settled(tol)), limits=within)
