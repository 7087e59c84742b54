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

from simcomplete._method.iterate import RECENT, Facts, Limits, Run, Stop, iterate
from simcomplete._result.status import Status
from simcomplete._rows.xp import Array, like, namespace
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import SpectralProblem
from simcomplete._spectral.solvers.steps import Backtracking, Fixed, Point, Rule, Safe, evaluate_point, spectrum_ends
from simcomplete.errors import InputError

EXPLODED = 1e4  # objective over that of V = 0 and of the start: no fixed step comes back from there
FLAT = 32 * np.finfo(np.float64).eps  # of |S0|_F^2: what rounding alone does to the objective


@dataclass(frozen=True)
class DescentSettings:
    """What every iterative solver of the spectral problem takes.

    Attributes
    ----------
    limits : Limits
        Iterations T, seconds, callback, progress.
    tol : float
        Stop where |gradient|_F <= tol * (1 + |S0|_F); 0 makes all T iterations, as the paper does.
    scale : "auto" or float
        The start is scale * standard normal numbers; see `auto_scale`.
    start : NumPy array of shape (n, rank), optional
        A start of one's own, instead.
    seed : int
        Of the random start.
    """

    limits: Limits
    tol: float = 1e-7
    scale: str | float = "auto"
    start: Array | None = None
    seed: int = 0


def descend(
    problem: SpectralProblem, settings: DescentSettings, step: str | float = "safe"
) -> tuple[Array, Run[Point]]:
    """Descend with a step rule.

    Parameters
    ----------
    problem : SpectralProblem
        What to minimise.
    settings : DescentSettings
        Where to start and when to stop.
    step : {"safe", "backtracking", "paper"} or float
        A number is used as it is. "paper" is 1/(6 G^2 + weight) with G = |V|_F of the start, for the paper does not
        say how else to know its bound G beforehand. "safe" is 1/(4 (3 |V|_2^2 + |S0|_2) + 2 weight), again at every
        V. "backtracking" is the quickest: see `Backtracking`.

    Returns
    -------
    V, run : array of shape (n, rank) in float64, Run
        The last V where it converged or made all T iterations, as the algorithms say; the best V there was where
        something else ended the run.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> S0 = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
    >>> problem = SpectralProblem(DenseSimilarity(S0), Nuclear(), weight=1.0, rank=1)
    >>> V, run = descend(problem, DescentSettings(Limits(max_iter=200)))
    >>> (V @ V.T).round(3), run.status.code  # 3 - 1/2, along (1, 1)/sqrt(2)
    (array([[1.25, 1.25],
           [1.25, 1.25]]), 'converged')
    """
    start = first_point(problem, settings)
    low, high = spectrum_ends(problem.operator, settings.seed)
    rule = _rule(step, problem, start, max(-low, high))
    huge = EXPLODED * max(problem.scale, start.objective) if isinstance(rule, Fixed) else math.inf
    stop = stop_test(problem, settings, huge)
    run = iterate(start, rule, measure=descent_facts, stop=stop, limits=settings.limits)
    if isinstance(rule, Fixed):
        run = replace(run, status=_named(run, problem, rule.gamma, high))
    ended = run.status.code in ("converged", "stalled", "max_iter") or (
        run.status.code == "oscillating" and run.n_iter == settings.limits.max_iter
    )
    return (run.state if ended else run.best).V, run


def first_point(problem: SpectralProblem, settings: DescentSettings) -> Point:
    """The given start, or scale * standard normal numbers, in float64 and the library of S0."""
    model = problem.operator.array
    V = settings.start
    if V is None:
        scale = auto_scale(problem) if settings.scale == "auto" else float(settings.scale)
        V = scale * np.random.default_rng(settings.seed).standard_normal((problem.operator.n, problem.rank))
    point = evaluate_point(problem, like(V, model, dtype=namespace(model).float64))
    if not (math.isfinite(point.objective) and math.isfinite(point.slope)):
        raise InputError("the start is so large that its objective overflows; give a smaller start_scale or start")
    return point


def auto_scale(problem: SpectralProblem) -> float:
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


def descent_facts(point: Point) -> Facts:
    """What the history records of a point."""
    facts = {"objective": point.objective, "gradient_norm": point.slope}
    return facts if point.step is None else {**facts, "step": point.step}


def stop_test(problem: SpectralProblem, settings: DescentSettings, huge: float = math.inf) -> Stop:
    """Stop at a small gradient, at an objective that only rounding moves, or at one above `huge`."""
    small = settings.tol * (1 + math.sqrt(problem.scale))
    flat = FLAT * problem.scale

    def stop(facts: Facts, recent: Sequence[float]) -> Status | None:
        slope = facts["gradient_norm"]
        if slope <= small:
            return Status("converged", f"the gradient is {slope:.1e}, not above tol * (1 + |S0|) = {small:.1e}")
        if facts["objective"] > huge:
            return Status("diverged", f"the objective exploded to {facts['objective']:.1e}", ok=False)
        # tol=0 asks for all iterations, whatever comes of them.
        if settings.tol > 0 and len(recent) == RECENT and max(recent) - min(recent) <= flat:
            message = f"the objective changes only by rounding, at a gradient of {slope:.1e}, above {small:.1e}"
            return Status("stalled", message, ok=False)
        return None

    return stop


def _rule(step: str | float, problem: SpectralProblem, start: Point, size: float) -> Rule:
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


def _named(run: Run[Point], problem: SpectralProblem, gamma: float, high: float) -> Status:
    """Say of a fixed step that did not converge whether it ever could, and what it did instead."""
    status, recent = run.status, run.recent
    if status.code in ("converged", "stalled"):
        return status
    code, what = status.code, status.message
    rises = sum(after > before + FLAT * problem.scale for before, after in pairwise(recent))
    if code in ("diverged", "non_finite"):
        code, what = "diverged", f"it diverged: the objective exploded after {run.n_iter} iterations"
    elif code in ("max_iter", "time_limit") and rises >= max(2, len(recent) // 10):
        code, what = "oscillating", f"it oscillated: after {run.n_iter} iterations the objective still goes up and down"
    what += f" (best {run.best_facts['objective']:.6g} at iteration {run.best_facts['iteration']})"
    product = f"gamma * lambda_max = {gamma * high:.3g}"
    # The curvature at the optimum is at least 8 lambda_max - 4 weight with every penalty here, and `high` does not
    # exceed lambda_max: what this says is certain.
    if 4 * gamma * (high - problem.weight / 2) >= 1:
        message = f"this step cannot settle: {product}, must be below 1/4; {what}; use step='safe'"
    elif code == "diverged":
        message = f"{what}; {product} is below 1/4, so the start is too large: lower start_scale, or use step='safe'"
    elif code == "oscillating":
        message = f"{what}; {product}, must be below 1/4 by some way; use step='safe'"
    else:
        message = f"{what}; {product}, a step settles below 1/4"
    return Status(code, message, ok=False)
