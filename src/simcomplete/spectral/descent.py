"""Gradient descent on the factor: the paper's Algorithms 1 and 2, and its ablations, through one gradient.

    V <- V - gamma * grad F(V),   grad F(V) = 4 (V (V^T V) - S0 V) + 2 weight V Q diag(derivative) Q^T,

T times from a random V. V V^T is never formed. It is the second, independent route to every optimum; the exact
solver finds the same in one eigendecomposition.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np

from simcomplete.arrays import Array, like, namespace
from simcomplete.errors import InputError
from simcomplete.iterate import RECENT, Facts, Limits, Run, Stop, iterate
from simcomplete.similarity.operator import DenseSimilarity
from simcomplete.spectral.problem import Problem
from simcomplete.spectral.steps import Backtracking, Fixed, Point, Rule, Safe, evaluate, spectrum_ends
from simcomplete.status import Status

EXPLODED = 1e4  # objective over that of V = 0 and of the start: no fixed step comes back from there
FLAT = 32 * np.finfo(np.float64).eps  # of |S0|_F^2: what rounding alone does to the objective


@dataclass(frozen=True)
class Settings:
    """What every iterative solver of the spectral problem takes.

    Attributes
    ----------
    limits : Limits
        Iterations T, seconds, callback, progress.
    tol : float
        Stop where |gradient|_F <= tol * (1 + |S0|_F); 0 makes all T iterations, as the paper does.
    scale : "auto" or float
        The start is scale * standard normal numbers; see `auto_scale`.
    start : array of shape (n, rank), optional
        A start of one's own, instead.
    seed : int
        Of the random start.
    """

    limits: Limits
    tol: float = 1e-7
    scale: str | float = "auto"
    start: Array | None = None
    seed: int = 0


def solve(problem: Problem, settings: Settings, step: str | float = "safe") -> tuple[Array, Run[Point]]:
    """Descend with a step rule.

    Parameters
    ----------
    problem : Problem
        What to minimise.
    settings : Settings
        Where to start and when to stop.
    step : {"safe", "backtracking", "paper"} or float
        A number is used as it is. "paper" is 1/(6 G^2 + weight) with G = |V|_F of the start, for the paper does not
        say how else to know its bound G beforehand. "safe" is 1/(4 (3 |V|_2^2 + |S0|_2) + 2 weight), anew at every
        V. "backtracking" is the quickest: see `Backtracking`.

    Returns
    -------
    V, run : array of shape (n, rank) in float64, Run
        After all T iterations the last V, as the algorithms say, also when it is converged; when something else
        ended the run, the best V there was.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.spectral.penalties import Nuclear
    >>> S0 = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
    >>> problem = Problem(DenseSimilarity(S0), Nuclear(), weight=1.0, rank=1)
    >>> V, run = solve(problem, Settings(Limits(max_iter=200)))
    >>> (V @ V.T).round(3), run.status.code  # 3 - 1/2, along (1, 1)/sqrt(2)
    (array([[1.25, 1.25],
           [1.25, 1.25]]), 'converged')
    """
    start = evaluate(problem, first_factor(problem, settings))
    low, high = spectrum_ends(problem.operator, settings.seed)
    rule = _rule(step, problem, start, max(-low, high))
    huge = EXPLODED * max(problem.scale, start.objective) if isinstance(rule, Fixed) else math.inf
    stop = stop_test(problem, settings, huge)
    run = iterate(start, rule, measure=measure, stop=stop, limits=settings.limits)
    if isinstance(rule, Fixed):
        run = replace(run, status=_named(run, problem, rule.gamma, high))
    ended = run.status.code in ("converged", "stalled", "max_iter") or (
        run.status.code == "oscillating" and run.n_iter == settings.limits.max_iter
    )
    return (run.state if ended else run.best).V, run


def first_factor(problem: Problem, settings: Settings) -> Array:
    """The given start, or scale * standard normal numbers, in float64 and the library of S0."""
    shape = (problem.operator.n, problem.rank)
    model = problem.operator.array
    double = namespace(model).float64
    if settings.start is not None:
        return like(settings.start, model, dtype=double)
    scale = auto_scale(problem) if settings.scale == "auto" else float(settings.scale)
    return like(scale * np.random.default_rng(settings.seed).standard_normal(shape), model, dtype=double)


def auto_scale(problem: Problem) -> float:
    """The scale at which V V^T has the trace of S0: sqrt(trace / (n rank)).

    Only a dense S0 tells its diagonal; that of candidates and queries is taken as 1. Where the trace is not
    positive, |S0|_F stands in for it, since V = 0 would never be left.
    """
    operator = problem.operator
    trace = float(operator.n)
    if isinstance(operator, DenseSimilarity):
        xp = namespace(operator.S)
        trace = float(xp.sum(xp.linalg.diagonal(operator.S)))
    size = trace if trace > 0 else math.sqrt(problem.scale)
    return math.sqrt(size / (operator.n * problem.rank))


def measure(point: Point) -> Facts:
    """What the history records of a point."""
    facts = {"objective": point.objective, "gradient": point.slope}
    return facts if point.step is None else {**facts, "step": point.step}


def stop_test(problem: Problem, settings: Settings, huge: float = math.inf) -> Stop:
    """Stop at a small gradient, at an objective that only rounding moves, or at one above `huge`."""
    small = settings.tol * (1 + math.sqrt(problem.scale))
    flat = FLAT * problem.scale

    def stop(facts: Facts, recent: Sequence[float]) -> Status | None:
        slope = facts["gradient"]
        if slope <= small:
            return Status("converged", f"the gradient is {slope:.1e}, not above tol * (1 + |S0|) = {small:.1e}")
        if facts["objective"] > huge:
            return Status("diverged", f"the objective exploded to {facts['objective']:.1e}", ok=False)
        # tol=0 asks for all iterations, but a line search that finds no step cannot make them.
        still = settings.tol > 0 and len(recent) == RECENT and max(recent) - min(recent) <= flat
        if still or facts.get("step") == 0:
            told = f"the objective stands still within rounding at a gradient of {slope:.1e}, above {small:.1e}"
            return Status("stalled", told, ok=False)
        return None

    return stop


def _rule(step: str | float, problem: Problem, start: Point, size: float) -> Rule:
    safe = Safe(problem, size)
    if step == "safe":
        return safe
    if step == "backtracking":
        return Backtracking(problem, safe)
    if step == "paper":
        bound = 6 * float(namespace(start.V).sum(start.V * start.V)) + problem.weight
        return Fixed(problem, 1 / bound if bound > 0 else 1.0)
    if isinstance(step, str):
        raise InputError(f"step={step!r} is unknown; use a number, 'safe', 'backtracking' or 'paper'")
    return Fixed(problem, step)


def _named(run: Run[Point], problem: Problem, gamma: float, high: float) -> Status:
    """Say of a fixed step that did not converge whether it ever could, and what it did instead."""
    status, recent = run.status, run.recent
    if status.code in ("converged", "stalled") or not math.isfinite(run.facts["objective"]):
        return status
    code, what = status.code, status.message
    rises = sum(b > a + FLAT * problem.scale for a, b in pairwise(recent))
    if code in ("diverged", "non_finite"):
        code = "diverged"
        what = f"it diverged: the objective exploded after {run.n_iter} iterations"
    elif code in ("max_iter", "time_limit") and rises >= max(2, len(recent) // 10):
        code = "oscillating"
        what = f"it oscillated: after {run.n_iter} iterations the objective still goes up and down"
        what += f", between {min(recent):.4g} and {max(recent):.4g}"
    best = f"the best objective was {run.best_facts['objective']:.6g} at iteration {run.best_facts['iteration']}"
    product = f"gamma * lambda_max = {gamma * high:.3g}"
    # The curvature at the optimum is at least 8 lambda_max - 4 weight for every penalty here, and `high` is not
    # above lambda_max: beyond this, it is certain.
    if 4 * gamma * (high - problem.weight / 2) >= 1:
        told = f"this step cannot settle: {product}, must be below 1/4; use step='safe'. {what}; {best}"
    elif code == "diverged":
        told = (
            f"{what}; {best}. {product} is below 1/4, so the start was too large: use a smaller scale, or step='safe'"
        )
    else:
        told = f"{what}; {best}. {product}, must be below 1/4; step='backtracking' is quicker"
    return Status(code, told, ok=False)
