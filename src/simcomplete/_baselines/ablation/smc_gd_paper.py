"""The paper's box for SMC_GD, to the letter.

T times:  V <- V - gamma (4 (V V^T - S0) V + lambda |V V^T|_*),  singular values of S = V V^T lowered by tau,  V from a
Cholesky factorisation of S. What becomes of it:

- The nuclear norm is a number, the trace, and is added to every entry of the gradient: it pushes all rows along one
  direction, whatever S0 says, and how it acts depends on the basis that V happens to be in.
- tau acts beside lambda and is never tied to it. Against steps of gamma, an eigenvalue w of S0 ends near
  (w + sqrt(w^2 - tau / (2 gamma))) / 2, and those below sqrt(tau / (2 gamma)) end at 0.
- S is singular (rank r < n), so it has no Cholesky factor in the usual sense; the lower trapezoid that a QR
  factorisation of V^T gives is one, and needs no n x n matrix.
- gamma = 0.001 settles only where lambda_max(S0) is below 250; else the run ends with a warning and the best V.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._method.iterate import RECENT, Facts, Limits, Run, iterate
from simcomplete._result.status import Status
from simcomplete._rows.xp import Array, namespace
from simcomplete._spectral.penalties import SpectralProblem
from simcomplete._spectral.solvers.descent import EXPLODED


@dataclass(frozen=True)
class PublishedIterate:
    """V, S0 V, and the objective there."""

    V: Array
    SV: Array
    objective: float


def iterate_as_published(
    problem: SpectralProblem, V: Array, gamma: float, tau: float, tol: float, limits: Limits
) -> Run[PublishedIterate]:
    """Run the box from V.

    Parameters
    ----------
    problem : SpectralProblem
        SMCNN's.
    V : array of shape (n, rank)
        The start.
    gamma, tau : float
        Step and threshold.
    tol : float
        Stop where the objective of the last iterations varies by no more than this share of |S0|_F^2; 0 makes all.
    limits : Limits
        T, and what else ends the run.

    Examples
    --------
    An eigenvalue of 2 against tau / (8 gamma) = 0.75: it ends where s (2 - s) is that, at 1.5.

    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> from simcomplete._spectral.penalties import NoPenalty
    >>> problem = SpectralProblem(DenseSimilarity(np.diag([2.0, 0.1])), NoPenalty(), weight=0.0, rank=1)
    >>> run = iterate_as_published(problem, np.ones((2, 1)), 1e-4, 6e-4, 1e-14, Limits(max_iter=20_000))
    >>> (run.state.V @ run.state.V.T).round(3)
    array([[1.5, 0. ],
           [0. , 0. ]])
    """
    xp = namespace(V)

    def at(V: Array) -> PublishedIterate:
        SV = problem.operator.matmul(V)
        return PublishedIterate(V, SV, problem.objective(V, SV))

    def step(here: PublishedIterate) -> PublishedIterate:
        V = here.V
        with np.errstate(over="ignore", invalid="ignore"):  # the driver checks what comes out
            gram = V.T @ V
            pull = 4 * (V @ gram - here.SV) + problem.weight * xp.linalg.trace(gram)
            V = V - gamma * pull
            if not math.isfinite(float(xp.sum(V * V))):
                return PublishedIterate(V, V, math.nan)
            return at(cholesky_of_gram(thresholded(V, tau)))

    def stop(facts: Facts, recent: Any) -> Status | None:
        if facts["objective"] > EXPLODED * max(problem.scale, start.objective):
            message = f"the objective exploded to {facts['objective']:.1e}; this is the best before: use a smaller step"
            return Status("diverged", message, ok=False)
        if tol > 0 and len(recent) == RECENT and max(recent) - min(recent) <= tol * problem.scale:
            return Status("converged", f"the objective changes by less than tol={tol:g} of |S0|^2")
        if tol == 0 and facts["iteration"] >= limits.max_iter:
            return Status("computed", f"all {limits.max_iter} iterations made, as asked for with tol=0")
        return None

    start = at(V)
    return iterate(start, step, measure=lambda here: {"objective": here.objective}, stop=stop, limits=limits)


def thresholded(V: Array, tau: float) -> Array:
    """Lines 4 to 6: singular values of V V^T, the squares of those of V, lowered by tau."""
    xp = namespace(V)
    U, s, _ = xp.linalg.svd(V, full_matrices=False)
    return U * xp.sqrt(xp.clip(s * s - tau, min=0.0))


def cholesky_of_gram(V: Array) -> Array:
    """Line 7: the lower trapezoid L with L L^T = V V^T and no negative diagonal.

    Examples
    --------
    >>> cholesky_of_gram(np.array([[0.0, -2.0], [3.0, 1.0], [1.0, 1.0]])).round(12)
    array([[ 2.,  0.],
           [-1.,  3.],
           [-1.,  1.]])
    """
    xp = namespace(V)
    R = xp.linalg.qr(V.T, mode="reduced")[1]
    own = xp.linalg.diagonal(R)
    return R.T * xp.where(own < 0, -xp.ones_like(own), xp.ones_like(own))
