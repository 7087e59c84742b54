"""FGSR-p, p < 1: min sum_j |A_:j|^p / p + alpha/2 |B|_F^2 + weight/2 |M * (X - A B)|_F^2, by reweighting.

Every step solves for A with column weights (|A_:j| + zeta)^(p - 2), then for B, then puts A B where values are missing.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcomplete._baselines.completion.fgsr_palm import (
    Pair,
    alive,
    facts_of_pair,
    finished,
    first_pair,
    relative,
    solved,
)
from simcomplete._baselines.completion.modes import MaskedMatrix, settled, sum_of_squares
from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._types import Matrix

ZETA = 0.01  # keeps the weights of vanishing columns finite


def reweighted(
    data: MaskedMatrix,
    rank: int,
    weight: float,
    within: Limits,
    *,
    p: float = 0.5,
    alpha: float = 1.0,
    zeta: float = ZETA,
    tol: float = 1e-4,
) -> Run[Pair]:
    """Complete a matrix with the penalty of a power below 1.

    Parameters
    ----------
    data, rank, weight, within, alpha : MaskedMatrix, int, float, Limits, float
        As in `palm`.
    p, zeta : float
        The power, and what is added to the norms of columns.
    tol : float
        Stop where the fit of what is missing (of everything, when nothing is) changes by less than a tenth of this
        share of X.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> O = np.outer(np.sin(np.arange(30)), np.cos(np.arange(20)))
    >>> M = (rng.random(O.shape) < 0.7).astype(float)
    >>> run = reweighted(MaskedMatrix(O * M, M), 5, 100.0, Limits(1000), tol=1e-6)
    >>> bool(abs(run.state.A @ run.state.B - O).max() < 0.01), run.state.A.shape[1]
    (True, 1)
    """

    def point(A: Matrix, B: Matrix) -> Pair:
        left = data.residual_of(A, B)
        penalty = np.sum((np.linalg.norm(A, axis=0) + zeta) ** p) / p + 0.5 * alpha * np.sum(B * B)
        return Pair(A, B, left, float(penalty + 0.5 * weight * sum_of_squares(left)))

    def filled(at: Pair) -> Matrix:
        assert at.left is not None  # `point` always keeps it
        fit = at.A @ at.B
        fit += at.left  # the data where observed, the fit elsewhere
        return fit

    def step(at: Pair) -> Pair:
        X = start_X if at is start else filled(at)
        W = np.diag((np.linalg.norm(at.A, axis=0) + zeta) ** (p - 2))
        A = solved(weight * (at.B @ at.B.T) + W, weight * (at.B @ X.T)).T
        B = solved(weight * (A.T @ A) + alpha * np.eye(A.shape[1]), weight * (A.T @ X))
        new = point(A, B)
        change = relative(A @ B, at.A @ at.B) if data.mask is None else relative(filled(new), X)
        keep = alive(A, B)
        new = new if keep.all() else point(A[:, keep], B[keep])
        return replace(new, change=10 * change)

    start_X = data.values
    start = point(*first_pair(data.values, rank, alpha, 2 / 3))
    return iterate(start, step, measure=facts_of_pair, stop=finished(settled(tol)), limits=within)
