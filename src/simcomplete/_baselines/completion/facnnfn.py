"""`facnnfn`: NNFN on factors, X = W H^T,

    min 1/2 |M * (W H^T - O)|_F^2 + weight/2 (|W|_F^2 + |H|_F^2) - weight |W H^T|_F,

which is NNFN at rank at most k, since balanced factors give |X|_*. Wang, Yao, Kwok, WWW 2021; the gradient is that of
the paper's appendix.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import OptimizeResult, minimize

from simcomplete._baselines.completion.modes import (
    MODE,
    MaskedMatrix,
    ModeFit,
    complete_by,
    factor_work,
    flat,
    given_pair,
    largest_singular,
)
from simcomplete._baselines.completion.nnfn import UNITS
from simcomplete._baselines.iteration import limits
from simcomplete._method.iterate import Facts, Limits, Run, Watch, iterate
from simcomplete._method.memory import mode_memory
from simcomplete._method.params import ITERATION, Arrays, Parameters, Words, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.status import Status
from simcomplete._types import Matrix

TINY = 1e-12  # added to |W H^T|_F, whose gradient is 0/0 at 0


@dataclass(frozen=True)
class FactorPoint:
    """Factors, objective and gradients there; `step` is what the line search of descent tries next."""

    W: Matrix
    H: Matrix
    objective: float
    by_w: Matrix
    by_h: Matrix
    step: float = 1.0

    @property
    def slope(self) -> float:
        """Squared length of the gradient."""
        return float(np.sum(self.by_w**2) + np.sum(self.by_h**2))


def evaluate_factors(data: MaskedMatrix, weight: float, W: Matrix, H: Matrix) -> FactorPoint:
    """The objective and its gradients; |W H^T|_F comes from two small products."""
    R = data.residual_of(W, H.T)
    np.negative(R, out=R)
    WW, HH = W.T @ W, H.T @ H
    size = max(float(np.sum(WW * HH)), 0.0) ** 0.5
    objective = 0.5 * float(np.sum(R * R)) + weight * (0.5 * float(np.trace(WW) + np.trace(HH)) - size)
    by_w = R @ H + weight * (W - W @ HH / (size + TINY))
    by_h = R.T @ W + weight * (H - H @ WW / (size + TINY))
    return FactorPoint(W, H, objective, by_w, by_h)


def lbfgs(
    data: MaskedMatrix, weight: float, W: Matrix, H: Matrix, within: Limits, tol: float = 1e-6
) -> Run[FactorPoint]:
    """Minimise with SciPy's L-BFGS from given factors; the library's driver watches.

    Examples
    --------
    >>> O = np.outer([1.0, 2.0, 3.0], [1.0, 1.0, 2.0])
    >>> M = np.array([[1.0, 1.0, 1.0], [1.0, 1.0, 1.0], [1.0, 1.0, 0.0]])
    >>> start = np.random.default_rng(0).standard_normal((2, 3, 2))
    >>> found = lbfgs(MaskedMatrix(O * M, M), 0.1, *start, Limits(500), tol=1e-12).state
    >>> (found.W @ found.H.T).round(3)[2]
    array([3., 3., 6.])
    """
    cut = W.size
    latest = start = evaluate_factors(data, weight, W, H)

    def at(x: Matrix) -> FactorPoint:
        nonlocal latest
        # SciPy asks for a point before it reports it; the same one is not computed twice.
        if not np.array_equal(x, np.concatenate([latest.W.ravel(), latest.H.ravel()])):
            x = x.copy()
            latest = evaluate_factors(data, weight, x[:cut].reshape(W.shape), x[cut:].reshape(H.shape))
        return latest

    def value_and_gradient(x: Matrix) -> tuple[float, Matrix]:
        point = at(x)
        return point.objective, np.concatenate([point.by_w.ravel(), point.by_h.ravel()])

    def report(intermediate_result: OptimizeResult) -> None:
        if not watch.sees(at(intermediate_result.x)):
            raise StopIteration

    # SciPy's own tests are switched off: the driver's decide.
    options = {"maxiter": within.max_iter, "maxfun": np.inf, "maxcor": 6, "ftol": 0.0, "gtol": 0.0}
    with Watch(facts_of_factors, flat(tol), within) as watch:
        if watch.sees(start):
            x0 = np.concatenate([W.ravel(), H.ravel()])
            minimize(value_and_gradient, x0, method="L-BFGS-B", jac=True, callback=report, options=options)
            watch.status = watch.status or Status("converged", "L-BFGS finds no lower objective within rounding")
    return watch.run()


def descent(
    data: MaskedMatrix, weight: float, W: Matrix, H: Matrix, within: Limits, tol: float = 1e-6
) -> Run[FactorPoint]:
    """Minimise by gradient descent with Armijo's rule: halve until it descends enough, then try 1.5 times that."""

    def step(here: FactorPoint) -> FactorPoint:
        size = here.step
        for _ in range(60):
            there = evaluate_factors(data, weight, here.W - size * here.by_w, here.H - size * here.by_h)
            if there.objective <= here.objective - 1e-4 * size * here.slope:
                return replace(there, step=1.5 * size)
            size /= 2
        return here  # no descent within rounding: the stop test sees no change

    return iterate(evaluate_factors(data, weight, W, H), step, measure=facts_of_factors, stop=flat(tol), limits=within)


def facts_of_factors(at: FactorPoint) -> Facts:
    """What the history shows."""
    return {"objective": at.objective, "gradient": at.slope**0.5}


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Factor the table or S0 from random factors, drawn independently of each other."""
    within, tol = limits(settings, params, "facnnfn"), float(params["tol"])
    solver = {"lbfgs": lbfgs, "descent": descent}[params["solver"]]

    def solve(data: MaskedMatrix) -> ModeFit:
        rank = min(settings.rank_or(100), *data.values.shape)
        shape, start = data.values.shape, params["start"]
        W, H = random_factors(shape, rank, settings.rng) if start is None else given_pair(start, shape)
        result = solver(data, settings.penalty, W, H, within, tol)
        # The line search never goes up, so the last point is the best.
        used = {"penalty": settings.penalty, "rank": W.shape[1]}
        return ModeFit(result.status, result.history, left=result.state.W, right=result.state.H.T, used=used)

    return complete_by(problem, "facnnfn", params, solve, lambda data: UNITS * largest_singular(data))


def random_factors(shape: tuple[int, ...], rank: int, rng: np.random.Generator) -> tuple[Matrix, Matrix]:
    """Random factors, independent of each other: with W = H on symmetric data they would stay equal for ever."""
    # Where the data have a largest singular value of 1/UNITS, |W H^T|_2 is about a tenth of that.
    scale = 0.1 / (max(shape[0], rank) * max(shape[1], rank)) ** 0.25
    return scale * rng.standard_normal((shape[0], rank)), scale * rng.standard_normal((shape[1], rank))


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """Data and residuals, and the factors as often as L-BFGS remembers them."""
    often = 33.0 if params["solver"] == "lbfgs" else 8.0
    on_table = 5.0 * s.n * s.d + often * (s.n + s.d) * min(s.rank, s.n, s.d)
    return mode_memory(s, params, on_table, 3.0 * s.n**2 + often * 2 * s.n * min(s.rank, s.n))


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {"unit": 1.0}

METHODS = (
    Method(
        name="facnnfn",
        family="matrix completion",
        acts_on="both",
        regularizer="nuclear minus Frobenius norm",
        solver="L-BFGS (descent)",
        psd=False,
        low_rank=False,
        keeps_candidates=False,
        random=True,
        reference="Wang, Yao, Kwok, WWW 2021",
        parameters=Parameters(
            *MODE,
            parameter("solver", "lbfgs", Words("lbfgs", "descent"), meaning="how it is minimised"),
            parameter("start", None, Arrays("two arrays, (n, k) and (d, k)"), meaning="first factors; None: random"),
            tol(1e-6, "stop where a step lowers the objective by less than this share"),
            max_iter(1000),
            *ITERATION,
        ),
        original=ORIGINAL,
        grid=(*({"penalty": weight} for weight in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)), ORIGINAL),
        shared=MEASURE | {"rank", "penalty"},
        work=factor_work,
        memory=_memory,
        run=run,
    ),
)
