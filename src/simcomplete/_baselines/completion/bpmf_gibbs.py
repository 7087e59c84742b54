"""Gibbs sampling for Bayesian probabilistic matrix factorization.

R_ij ~ N(u_i . v_j + mean, 1/beta), u_i ~ N(mu_u, Lam_u^-1), v_j ~ N(mu_v, Lam_v^-1), (mu, Lam) ~ Normal-Wishart(0, b0,
I, nu0 = r). One epoch draws the two (mu, Lam), then twice all v_j and all u_i. The prediction is the running mean of
U V^T + mean. Salakhutdinov and Mnih, "Bayesian probabilistic matrix factorization using Markov chain Monte Carlo",
ICML 2008.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._baselines.completion.bpmf_draws import Draws, Side, draw_hyper, draw_rows, patterns, standard
from simcomplete._baselines.completion.modes import MaskedMatrix, sum_of_squares
from simcomplete._method.iterate import Limits, Run, iterate
from simcomplete._types import Matrix

SWEEPS = 2  # per epoch, as in the authors' program


@dataclass(frozen=True)
class Chain:
    """Where the sampler is: both sides, how many states it has seen, and the mean of those that count."""

    U: Side
    V: Side
    epoch: int
    counted: int
    average: Matrix
    error: float


def sample(
    data: MaskedMatrix,
    U: Matrix,
    V: Matrix,
    beta: float,
    within: Limits,
    draws: Draws,
    *,
    burn_in: int = 0,
    b0: float = 2.0,
    ddof: int = 0,
) -> Run[Chain]:
    """Sample from the posterior and average the predictions.

    Parameters
    ----------
    data : MaskedMatrix
        The matrix; its mask says what is observed, never its sign.
    U, V : array of shape (n1, r), (n2, r)
        Where the chain starts.
    beta, b0 : float
        Precision of the data, and of the prior of the means.
    within, draws : Limits, Draws
        How many epochs; where the noise comes from.
    burn_in : int
        How many states to leave out of the average; the start is the first, so 0 counts it, as the authors do.
    ddof : int
        Covariance of the rows over n - ddof; 0 is the posterior, 1 the authors' program.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> O = np.outer(np.sin(np.arange(30)), np.cos(np.arange(20)))
    >>> M = (rng.random(O.shape) < 0.7).astype(float)
    >>> U, V = 0.1 * rng.standard_normal((30, 2)), 0.1 * rng.standard_normal((20, 2))
    >>> run = sample(MaskedMatrix(O * M, M), U, V, 1e4, Limits(60), Draws.random(rng), burn_in=20)
    >>> bool(abs(run.state.average - O).max() < 0.1), run.state.counted
    (True, 41)
    """
    R = data.residual(np.full_like(data.values, data.mean))
    by_row, by_column = patterns(data)

    def state(U: Side, V: Side, epoch: int, counted: int, average: Matrix | None) -> Chain:
        now = U.rows @ V.rows.T
        now += data.mean
        error = sum_of_squares(data.residual(now)) / data.count
        if average is None or epoch <= burn_in:  # until something counts, the latest state stands for it
            return Chain(U, V, epoch, int(epoch >= burn_in), now, error)
        now -= average  # the running mean, in the place of the latest state
        now /= counted + 1
        now += average
        return Chain(U, V, epoch, counted + 1, now, error)

    def step(at: Chain) -> Chain:
        V, U = (draw_hyper(side.rows, b0, ddof, draws) for side in (at.V, at.U))
        for _ in range(SWEEPS):
            V = draw_rows(R.T, by_column, V, U.rows, beta, draws)
            U = draw_rows(R, by_row, U, V.rows, beta, draws)
        return state(U, V, at.epoch + 1, at.counted, at.average)

    start = state(standard(U), standard(V), 0, 0, None)
    return iterate(start, step, measure=lambda at: {"error": at.error}, limits=within)


def map_start(
    data: MaskedMatrix, U: Matrix, V: Matrix, *, ridge: float = 0.01, epochs: int = 50
) -> tuple[Matrix, Matrix]:
    """The most probable factors, PMF: where the authors' program starts its chain.

    They minimise |M * (R - mean - U V^T)|^2 with a ridge of ridge/2 per observation and factor, by gradient steps whose
    size fits ratings only; here by alternating least squares, which is a draw without noise.
    """
    R = data.residual(np.full_like(data.values, data.mean))
    by_row, by_column = patterns(data)
    ridges = [0.5 * ridge * data.count / n for n in data.values.shape]

    def step(pair: tuple[Matrix, Matrix]) -> tuple[Matrix, Matrix]:
        V = draw_rows(R.T, by_column, standard(pair[1], ridges[1]), pair[0], 1.0, Draws.mean()).rows
        return draw_rows(R, by_row, standard(pair[0], ridges[0]), V, 1.0, Draws.mean()).rows, V

    def measure(pair: tuple[Matrix, Matrix]) -> dict[str, float]:
        return {"size": float(np.linalg.norm(pair[0]) + np.linalg.norm(pair[1]))}

    return iterate((U, V), step, measure=measure, limits=Limits(epochs, progress=False)).state
