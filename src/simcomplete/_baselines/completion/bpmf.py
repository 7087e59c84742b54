"""`bpmf`: Bayesian probabilistic matrix factorization, the mean over samples from the posterior of U V^T.

Salakhutdinov and Mnih, "Bayesian probabilistic matrix factorization using Markov chain Monte Carlo", ICML 2008 (the
paper cites PMF, 2007, by the same authors). What is observed is told by a mask and nothing is clipped: the authors'
program takes values <= 0 for missing and clips to ratings from 1 to 5.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete._baselines.completion.bpmf_draws import CHUNK, Draws
from simcomplete._baselines.completion.bpmf_gibbs import map_start, sample
from simcomplete._baselines.completion.modes import MODE, MaskedMatrix, ModeFit, complete_by, given_pair
from simcomplete._baselines.iteration import limits
from simcomplete._method.memory import mode_memory
from simcomplete._method.params import ITERATION, Arrays, Number, Parameters, Whole, Words, max_iter, parameter
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.status import Status
from simcomplete._types import Matrix
from simcomplete.errors import InputError

RANK = 20
FLOOR = 1e-4  # least variance of the noise, as a share of the data's


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Sample from the posterior of the table or of S0, and average."""
    within, burn_in = limits(settings, params, "bpmf"), params["burn_in"]
    if burn_in > within.max_iter:
        raise InputError(f"burn_in={burn_in!r} must be a whole number from 0 to max_iter={within.max_iter}")
    b0 = float(params["b0"])

    def solve(data: MaskedMatrix) -> ModeFit:
        rank = min(settings.rank_or(params.get("rank", RANK)), *data.values.shape)
        beta = noise_precision(data, rank) if params["beta"] == "auto" else float(params["beta"])
        draws = Draws.random(settings.rng)
        try:
            U, V = first_factors(params["start"], data, rank, settings.rng)
            with np.errstate(over="ignore", invalid="ignore"):  # the driver checks what comes out
                found = sample(data, U, V, beta, within, draws, burn_in=burn_in, b0=b0, ddof=params["ddof"])
        except np.linalg.LinAlgError as error:
            raise InputError(f"a precision is not positive definite with unit={data.unit:g}; use 'auto'") from error
        state, status = found.state, found.status
        if status.ok:
            status = Status("sampled", f"the mean of {state.counted} states, after {state.epoch} epochs")
        elif state.counted == 0:
            status = replace(status, message=f"{status.message}; before burn_in={burn_in}, so this is one state alone")
        return ModeFit(status, found.history, state.average, used={"rank": U.shape[1], "beta": beta})

    return complete_by(problem, "bpmf", params, solve, spread)


def spread(data: MaskedMatrix) -> float:
    """Standard deviation of what is observed; of constant data their size."""
    left = data.residual(np.full_like(data.values, data.mean))
    around, size = (float((np.sum(x * x) / data.count) ** 0.5) for x in (left, data.values))
    return around if around > 1e-8 * size else size


def noise_precision(data: MaskedMatrix, rank: int) -> float:
    """1/variance of what the best fit of that rank leaves of the complete rows, per degree of freedom.

    Examples
    --------
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal((200, 100))
    >>> wave = np.outer(np.sin(np.arange(200)), np.cos(np.arange(100)))
    >>> round(noise_precision(MaskedMatrix(wave + noise), 1))  # about 1/0.1^2
    101
    """
    Z = data.residual(np.full_like(data.values, data.mean))
    if data.mask is not None and np.count_nonzero(data.mask.all(axis=1)) > rank:
        Z = Z[data.mask.all(axis=1)]
    n, d = Z.shape
    w = np.linalg.eigvalsh(Z.T @ Z if n >= d else Z @ Z.T)
    freedom = max((n - rank) * (d - rank), 1)
    floor = FLOOR * max(float(w.sum()) / Z.size, FLOOR * float(np.mean(data.values**2)))
    noise = max(float(w[: max(len(w) - rank, 0)].sum()) / freedom, floor)
    return 1 / noise if noise > 0 else 1 / FLOOR


def first_factors(start: Any, data: MaskedMatrix, rank: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Small random numbers, the most probable factors ("pmf", as the authors do), or what is given."""
    if start is not None and not isinstance(start, str):
        return given_pair(start, data.values.shape)
    U, V = (0.1 * rng.standard_normal((n, rank)) for n in data.values.shape)
    return (U, V) if start is None else map_start(data, U, V)


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """Data, residual, this mean, the best and the next one; in mode "X" also precisions, one for every mask."""
    r = s.rank_or(params.get("rank", RANK))
    masks = min(max(s.n_queries, s.d), CHUNK)
    return mode_memory(s, params, 8.0 * s.n * s.d + (3 * masks + max(s.n_queries, s.d)) * r**2, 6.0 * s.n**2)


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {
    "rank": 10,
    "unit": 1.0,
    "beta": 2.0,
    "burn_in": 0,
    "ddof": 1,
    "start": "pmf",
    "max_iter": 50,
}

METHODS = (
    Method(
        name="bpmf",
        family="matrix completion",
        acts_on="both",
        regularizer="Gaussian prior on both factors",
        solver="Gibbs sampling",
        psd=False,
        low_rank=False,
        keeps_candidates=False,
        random=True,
        reference="Salakhutdinov, Mnih, ICML 2008",
        parameters=Parameters(
            *MODE,
            parameter("beta", "auto", Words("auto"), Number(above=True), meaning="precision of the noise"),
            parameter("b0", 2.0, Number(1e-12), meaning="weight of the prior's mean"),
            parameter("burn_in", 50, Whole(0), meaning="epochs before averaging begins, at most max_iter"),
            parameter("ddof", 0, Words(0, 1), meaning="0: the posterior; 1: the authors' program"),
            parameter(
                "start",
                None,
                Words("pmf"),
                Arrays("two arrays, (n, k) and (d, k)"),
                meaning="first factors; None: random",
            ),
            max_iter(150, "epochs"),
            *ITERATION,
        ),
        original=ORIGINAL,
        grid=(
            {"rank": 10, "beta": "auto"},
            {"rank": 20, "beta": "auto"},
            {"rank": 40, "beta": "auto"},
            {"rank": 10, "beta": 20.0},
            {"rank": 20, "beta": 100.0},
            ORIGINAL,
        ),
        shared=MEASURE | {"rank"},
        work=lambda sizes, params: 4e3 * params["max_iter"] * sizes.n * sizes.d,
        memory=_memory,
        run=run,
    ),
)
