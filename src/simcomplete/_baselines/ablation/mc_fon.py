"""`mc_fon`: the paper's ablation by an unsymmetric factorisation, MC_fON (appendix, Algorithm MC_fON).

    min_{W,H} |W H^T - S0|_F^2,   W and H of shape (n, r)

Called nuclear norm in the paper, but nothing is penalised; the constraint "W H^T positive semi-definite" is stated and
never enforced, so negative eigenvalues stay (with it, the problem would be `smc_nr`).

variant="careful"  the optimum in closed form: the r eigenvalues of S0 largest in absolute value (Eckart-Young).
variant="paper"    the printed box, T times: W <- W - gamma 2 (W H^T - S0) H, then H <- H - gamma 2 (W H^T - S0) W.
                   The second gradient lacks a transpose, (W H^T - S0)^T W, and so is none unless W H^T is symmetric.
                   Nothing holds it there: even from W = H, one factor comes to shrink while the other grows without
                   bound, the objective levels off (on the test data at 65 to 90, where the optimum is 13), and once the
                   growing factor is too large for the step it explodes. The result is the symmetric part of W H^T.

========== ==================================================================================================
variant    "careful" or "paper"
step       "paper": gamma, 0.001 as there; where it cannot settle the run ends with a warning and the best pair
start      "paper": two (n, rank) arrays W and H to start from; else random
max_iter   "paper": most iterations; 10,000 as in the paper
tol        "paper": stop where the objective changes by less than this share of |S0|_F^2; 0 makes all iterations
time_limit "paper": seconds for the iterations
callback   "paper": ``callback(iteration, facts)`` after every one; something true ends the run
========== ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._baselines.ablation.smc_gd import given_start, random_start
from simcomplete._baselines.completion.modes import signed, symmetrised
from simcomplete._baselines.iteration import limits
from simcomplete._method.iterate import RECENT, Facts, Limits, Run, iterate
from simcomplete._method.memory import block, first_pass, with_pairs
from simcomplete._method.params import ITERATION, Arrays, Number, Parameters, Words, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.xp import like, namespace, to_numpy
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.eigen.krylov import largest_by_products
from simcomplete._spectral.eigen.reduced import dense_largest
from simcomplete._spectral.eigen.routes import LARGE, orientation
from simcomplete._spectral.methods import spectrum_memory
from simcomplete._spectral.penalties import NoPenalty, SpectralProblem
from simcomplete._spectral.solvers.descent import EXPLODED
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError


def product(operator: Operator, X: Matrix) -> Matrix:
    """S0 @ X for a NumPy array, whatever library S0 is in."""
    model = operator.array
    return np.asarray(to_numpy(operator.matmul(like(X, model, dtype=namespace(model).float64))))


def largest_in_size(operator: Operator, rank: int, seed: int = 0) -> tuple[Vector, Matrix]:
    """The `rank` eigenvalues of S0 largest in absolute value, by size, and their vectors.

    Examples
    --------
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> largest_in_size(DenseSimilarity(np.diag([3.0, -2.0, 1.0])), 2)[0]
    array([ 3., -2.])
    """
    n = operator.n
    result = largest_by_products(operator, rank, seed, in_size=True) if n > LARGE and rank <= n // 20 else None
    if result is not None:
        w, U = result[0], np.asarray(to_numpy(result[1]))
    else:
        S = np.asarray(to_numpy(operator.dense()))
        if 2 * rank < n:  # both ends, each alone
            (top, A), (low, B) = dense_largest(S, rank), dense_largest(-S, rank)
            w, U = np.concatenate([top, -low]), np.concatenate([A, B], axis=1)
        else:
            w, U = np.linalg.eigh(S)
    order = np.argsort(-np.abs(w), kind="stable")[:rank]
    return w[order], U[:, order] * orientation(U[:, order])


@dataclass(frozen=True)
class AsymmetricFactors:
    """W and H, S0 W and S0 H, and the objective there."""

    W: Matrix
    H: Matrix
    SW: Matrix
    SH: Matrix
    objective: float


def gradients(S0: Matrix, W: Matrix, H: Matrix, *, literal: bool = False) -> tuple[Matrix, Matrix]:
    """Gradients in W and in H; `literal` leaves out the transpose in the second, as the paper does.

    Examples
    --------
    >>> W, H = np.array([[1.0], [0.0]]), np.array([[0.0], [1.0]])
    >>> gradients(np.zeros((2, 2)), W, H)[1].T, gradients(np.zeros((2, 2)), W, H, literal=True)[1].T
    (array([[0., 2.]]), array([[0., 0.]]))
    """
    in_w = 2 * (W @ (H.T @ H) - S0 @ H)
    inner = W @ (H.T @ W) if literal else H @ (W.T @ W)
    return in_w, 2 * (inner - S0 @ W)


def descend_as_published(
    operator: Operator, W: Matrix, H: Matrix, gamma: float, tol: float, limits: Limits
) -> Run[AsymmetricFactors]:
    """The printed box from W and H: first W, then H with the new W, the second gradient without its transpose."""
    scale = operator.squared_norm()

    def at(W: Matrix, H: Matrix, SW: Matrix | None = None) -> AsymmetricFactors:
        SW, SH = product(operator, W) if SW is None else SW, product(operator, H)
        fit = float(np.sum((W.T @ W) * (H.T @ H)))  # |W H^T|_F^2
        return AsymmetricFactors(W, H, SW, SH, fit - 2 * float(np.sum(W * SH)) + scale)

    def step(here: AsymmetricFactors) -> AsymmetricFactors:
        with np.errstate(over="ignore", invalid="ignore"):  # the driver checks what comes out
            H = here.H
            W = here.W - gamma * 2 * (here.W @ (H.T @ H) - here.SH)
            SW = product(operator, W)
            H = H - gamma * 2 * (W @ (H.T @ W) - SW)
            return at(W, H, SW)

    def stop(facts: Facts, recent: Any) -> Status | None:
        if facts["objective"] > EXPLODED * max(scale, start.objective):
            message = f"the objective exploded to {facts['objective']:.1e}; this is the best before: use a smaller step"
            return Status("diverged", message, ok=False)
        if tol > 0 and len(recent) == RECENT and max(recent) - min(recent) <= tol * scale:
            return Status("converged", f"the objective changes by less than tol={tol:g} of |S0|^2")
        if tol == 0 and facts["iteration"] >= limits.max_iter:
            return Status("computed", f"all {limits.max_iter} iterations made, as asked for with tol=0")
        return None

    start = at(W, H)
    return iterate(start, step, measure=lambda here: {"objective": here.objective}, stop=stop, limits=limits)


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Wire MC_fON."""
    variant = params["variant"]
    seed, rank, deficit = settings.seed(), settings.rank, problem.diagonal_deficit()
    used = {**as_recorded(params), "rank": rank, "start": None if params["start"] is None else "given"}
    if variant == "careful":
        w, U = largest_in_size(problem.operator, rank, seed)
        matrix, history = signed(w, U), []
        status = Status("optimal", "the global optimum, by one eigendecomposition: expect it not to be PSD")
    else:
        gamma, tol = float(params["step"]), float(params["tol"])
        W, H = _starts(problem, settings.rank, params["start"], seed)
        ended = descend_as_published(problem.operator, W, H, gamma, tol, limits(settings, params, "mc_fon"))
        # After all T iterations the last pair, as the box says, else the best there was.
        pair = ended.state if ended.status.code in ("converged", "computed", "max_iter") else ended.best
        matrix, history, status = symmetrised(pair.W, pair.H.T), ended.history, ended.status
    diagonal = None if deficit is None else to_numpy(deficit)
    matrix = SymmetricMatrix(matrix.factor, matrix.signs, diagonal)
    return problem.result("mc_fon", used, matrix, status=status, history=history)


def _starts(problem: Problem, rank: int, start: Any, seed: int) -> tuple[Matrix, Matrix]:
    if start is None:
        spectral = SpectralProblem(problem.operator, NoPenalty(), 0.0, rank)
        return random_start(spectral, seed), random_start(spectral, seed + 1)
    if not isinstance(start, (tuple, list)) or len(start) != 2:
        raise InputError(f"start must be two arrays, W and H, of shape {(problem.n, rank)}; got {type(start).__name__}")
    W, H = (given_start(one, (problem.n, rank), f"start, {name}") for one, name in zip(start, "WH", strict=True))
    assert W is not None and H is not None  # two arrays were given
    return W, H


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """S0 with either sign, each decomposed for its largest eigenvalues; or the factors and their products."""
    n, r = s.n, s.rank
    if params["variant"] == "paper":
        if s.form == "candidates":
            columns = s.d + s.n_queries
            return first_pass(s) + block(s.n_candidates * columns) + 16.0 * n * r
        return with_pairs(s, max(16.0 * n * r, block(n**2)))
    if n > LARGE and r <= n // 20:
        return spectrum_memory(s, r, "iterative", verify=False, certified=False)
    own = n**2 if s.form == "candidates" else 0.0
    return with_pairs(s, own + (4.0 * n**2 if 2 * r >= n else 2.0 * n**2 + 2.5 * n * r))


METHODS = (
    Method(
        name="mc_fon",
        family="ablation",
        acts_on="similarities",
        regularizer="none",
        solver="exact",
        psd=False,
        low_rank=True,
        keeps_candidates=False,
        random=False,
        reference="the paper, ablation with matrix factorisation; Srebro, Rennie, Jaakkola, NIPS 2004",
        parameters=Parameters(
            parameter("variant", "careful", Words("careful", "paper"), meaning="the optimum, or the printed algorithm"),
            parameter("step", 1e-3, Number(), meaning="of 'paper': gamma"),
            parameter(
                "start", None, Arrays("two arrays of shape (n, rank)"), meaning="of 'paper': W and H; None: random"
            ),
            tol(1e-12, "of 'paper': stop where the objective varies by less than this share of |S0|_F^2; 0: never"),
            max_iter(10_000, "of 'paper': most iterations"),
            *ITERATION,
        ),
        original={"variant": "paper"},
        grid=tuple({"rank": rank} for rank in (2, 5, 10, 25, 50, 100)),
        shared=MEASURE | {"rank"},
        work=lambda sizes, params: 10.0 * sizes.n**3,
        memory=_memory,
        run=run,
    ),
)
