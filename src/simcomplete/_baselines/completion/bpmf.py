"""`bpmf`: Bayesian probabilistic matrix factorization, the mean over samples from the posterior of U V^T.

Salakhutdinov and Mnih, "Bayesian probabilistic matrix factorization using Markov chain Monte Carlo", ICML 2008 (the
paper cites PMF, 2007, by the same authors). What is observed is told by a mask and nothing is clipped: the authors'
program takes values <= 0 for missing and clips to ratings from 1 to 5.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete._baselines.completion.bpmf_draws import Draws
from simcomplete._baselines.completion.bpmf_gibbs import map_start, sample
from simcomplete._baselines.completion.modes import Fit, Matrix, Problem, complete_by, given_pair
from simcomplete._baselines.iteration import ITERATION, limits
from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._result.completion import Completion
from simcomplete._result.status import Status
from simcomplete._rows.validate import check_number
from simcomplete.errors import InputError

RANK = 20
FLOOR = 1e-4  # least variance of the noise, as a share of the data's


def run(task: Task, params: dict[str, Any]) -> Completion:
    """Sample from the posterior of the table or of S0, and average."""
    within, burn_in = limits(task, params, "bpmf"), params["burn_in"]
    if isinstance(burn_in, bool) or not isinstance(burn_in, int) or not 0 <= burn_in <= within.max_iter:
        raise InputError(f"burn_in={burn_in!r} must be a whole number from 0 to max_iter={within.max_iter}")
    if params["ddof"] not in (0, 1):
        raise InputError(f"ddof={params['ddof']!r} is unknown; use 0 (the posterior) or 1 (the authors' program)")
    b0 = check_number(params["b0"], "b0", low=1e-12)

    def solve(problem: Problem) -> Fit:
        rank = min(task.rank_or(params.get("rank", RANK)), *problem.values.shape)
        beta = (
            noise_precision(problem, rank)
            if params["beta"] == "auto"
            else check_number(params["beta"], "beta", low=1e-300)
        )
        draws = Draws.random(task.rng)
        try:
            U, V = first_factors(params["start"], problem, rank, task.rng)
            found = sample(problem, U, V, beta, within, draws, burn_in=burn_in, b0=b0, ddof=params["ddof"])
        except np.linalg.LinAlgError as error:
            raise InputError(f"a precision is not positive definite with unit={problem.unit:g}; use 'auto'") from error
        state, status = found.state, found.status
        if status.ok:
            status = Status("sampled", f"the mean of {state.counted} states, after {state.epoch} epochs")
        elif state.counted == 0:
            status = replace(status, message=f"{status.message}; before burn_in={burn_in}, so this is one state alone")
        return Fit(status, found.history, state.average, used={"rank": U.shape[1], "beta": beta})

    return complete_by(task, "bpmf", params, solve, spread)


def spread(problem: Problem) -> float:
    """Standard deviation of what is observed; of constant data their size."""
    left = problem.residual(np.full_like(problem.values, problem.mean))
    around, size = (float((np.sum(x * x) / problem.count) ** 0.5) for x in (left, problem.values))
    return around if around > 1e-8 * size else size


def noise_precision(problem: Problem, rank: int) -> float:
    """1/variance of what the best fit of that rank leaves of the complete rows, per degree of freedom.

    Examples
    --------
    >>> noise = 0.1 * np.random.default_rng(0).standard_normal((200, 100))
    >>> wave = np.outer(np.sin(np.arange(200)), np.cos(np.arange(100)))
    >>> round(noise_precision(Problem(wave + noise), 1))  # about 1/0.1^2
    101
    """
    Z = problem.residual(np.full_like(problem.values, problem.mean))
    if problem.mask is not None and np.count_nonzero(problem.mask.all(axis=1)) > rank:
        Z = Z[problem.mask.all(axis=1)]
    n, d = Z.shape
    w = np.linalg.eigvalsh(Z.T @ Z if n >= d else Z @ Z.T)
    freedom = max((n - rank) * (d - rank), 1)
    floor = FLOOR * max(float(w.sum()) / Z.size, FLOOR * float(np.mean(problem.values**2)))
    noise = max(float(w[: max(len(w) - rank, 0)].sum()) / freedom, floor)
    return 1 / noise if noise > 0 else 1 / FLOOR


def first_factors(start: Any, problem: Problem, rank: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Small random numbers, the most probable factors ("pmf", as the authors do), or what is given."""
    if start is not None and not isinstance(start, str):
        return given_pair(start, problem.values.shape)
    U, V = (0.1 * rng.standard_normal((n, rank)) for n in problem.values.shape)
    if start == "pmf":
        return map_start(problem, U, V)
    if start is not None:
        raise InputError(f"start={start!r} is unknown; use None (random), 'pmf' or two arrays")
    return U, V


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
        out_of_sample=False,
        reference="Salakhutdinov, Mnih, ICML 2008",
        parameters={
            "mode": None,
            "unit": "auto",
            "beta": "auto",
            "b0": 2.0,
            "burn_in": 50,
            "ddof": 0,
            "start": None,
            "max_iter": 150,
            **ITERATION,
        },
        original={"rank": 10, "unit": 1.0, "beta": 2.0, "burn_in": 0, "ddof": 1, "start": "pmf", "max_iter": 50},
        grid=(
            {"rank": 10, "beta": "auto"},
            {"rank": 20, "beta": "auto"},
            {"rank": 40, "beta": "auto"},
            {"rank": 10, "beta": 20.0},
            {"rank": 20, "beta": 100.0},
        ),
        run=run,
    ),
)
