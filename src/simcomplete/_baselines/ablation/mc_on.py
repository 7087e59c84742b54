"""`mc_on`: the paper's ablation with the nuclear norm and no bound on the rank, MC_ON (appendix, Algorithm MC_ON).

    min_S |S - S0|_F^2 + lambda |S|_*,   S positive semi-definite

variant="careful"  the optimum by one eigendecomposition: eigenvalues w -> max(w - lambda/2, 0). `psd=False` drops the
                   constraint, as the paper's table of properties has it: w -> sign(w) max(|w| - lambda/2, 0).
variant="paper"    the printed box, T times: singular values Sigma -> max(Sigma, tau). That *raises* those below tau and
                   leaves the others, so the first step is also the last (the step is idempotent), every singular value
                   ends at tau or more (full rank), and the result is S0 up to tau: lambda is never used. Read as
                   max(Sigma - tau, 0) and repeated, it would go to 0 instead.

========== ==================================================================================================
variant    "careful" or "paper"
psd        "careful": whether the result must be positive semi-definite
tau        "paper": the threshold, 1e-4; the paper gives none for this method
max_iter   "paper": most iterations; 10,000 as in the paper, of which two are made
tol        "paper": stop where S changes by less than this share of |S0|_F
time_limit "paper": seconds for the iterations
callback   "paper": ``callback(iteration, facts)`` after every one; something true ends the run
========== ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._baselines.completion.modes import signed
from simcomplete._baselines.iteration import limits
from simcomplete._baselines.similarities import own_similarities
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._method.memory import with_pairs
from simcomplete._method.params import ITERATION, Flag, Number, Parameters, Words, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.xp import namespace, to_numpy
from simcomplete._spectral.certify import certify
from simcomplete._spectral.complete import VERIFY_LIMIT, exact_status
from simcomplete._spectral.methods import spectrum_memory
from simcomplete._spectral.penalties import Nuclear, SpectralProblem
from simcomplete._spectral.solvers import exact
from simcomplete._types import Matrix, Vector


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Wire MC_ON."""
    variant = params["variant"]
    used = {**as_recorded(params), "penalty": settings.penalty}
    if variant == "paper":
        tau, tol = float(params["tau"]), float(params["tol"])
        ended = threshold_as_published(own_similarities(problem), tau, tol, limits(settings, params, "mc_on"))
        matrix = SymmetricMatrix(dense=ended.state.S)
        return problem.result("mc_on", used, matrix, status=ended.status, history=ended.history)
    if not params["psd"]:
        w, U = np.linalg.eigh(to_numpy(problem.operator.dense()))
        matrix = signed(np.sign(w) * np.maximum(np.abs(w) - settings.penalty / 2, 0.0), U)
        deficit = problem.diagonal_deficit()
        matrix = SymmetricMatrix(matrix.factor, matrix.signs, None if deficit is None else to_numpy(deficit))
        status = Status("optimal", "the global optimum without the constraint, by one eigendecomposition")
        return problem.result("mc_on", used, matrix, status=status)
    return complete_positive(problem, settings, used)


def complete_positive(problem: Problem, settings: Settings, used: dict[str, Any]) -> Completion:
    """SMCNN's exact solver with a rank that bounds nothing, and its certificate."""
    operator = problem.operator
    spectral = SpectralProblem(operator, Nuclear(), settings.penalty, operator.max_rank)
    seed = settings.seed()
    V, spectrum = exact.solve_exactly(spectral, seed=seed)
    w, route = spectrum.w, spectrum.route
    # The other columns are 0. Without them, and without the eigenvectors, there is room for the certificate.
    V = namespace(V).asarray(V[:, : max(int(np.sum(w > settings.penalty / 2)), 1)], copy=True)
    del spectrum
    certificate = certify(spectral, V, w, verify=problem.n <= VERIFY_LIMIT, seed=seed)
    matrix = SymmetricMatrix(factor=V, diagonal=problem.diagonal_deficit())
    status = exact_status(certificate.optimal, route)
    return problem.result("mc_on", used, matrix, status=status, certificate=certificate)


@dataclass(frozen=True)
class ThresholdedIterate:
    """S, and how much the last step changed it as a share of |S0|_F."""

    S: Matrix
    change: float = 1.0


def threshold_as_published(S0: Matrix, tau: float, tol: float, limits: Limits) -> Run[ThresholdedIterate]:
    """The printed box.

    Examples
    --------
    >>> ended = threshold_as_published(np.diag([2.0, -1.0, 0.0]), 0.1, 1e-12, Limits(max_iter=10_000))
    >>> np.diag(ended.state.S), ended.n_iter
    (array([ 2. , -1. ,  0.1]), 2)
    """
    size = float(np.linalg.norm(S0))

    def step(here: ThresholdedIterate) -> ThresholdedIterate:
        w, U = np.linalg.eigh(here.S)
        S = (U * raised(w, tau)) @ U.T
        S = (S + S.T) / 2
        return ThresholdedIterate(S, float(np.linalg.norm(S - here.S)) / size if size > 0 else 0.0)

    def stop(facts: Facts, recent: Any) -> Status | None:
        if facts["change"] > tol:
            return None
        message = (
            f"after {facts['iteration']:.0f} iterations nothing changes: max(Sigma, tau) is idempotent, so this is "
        )
        return Status("converged", f"{message}S0 with no singular value below tau={tau:g}")

    return iterate(ThresholdedIterate(S0), step, measure=lambda here: {"change": here.change}, stop=stop, limits=limits)


def raised(w: Vector, tau: float) -> Vector:
    """Singular values below tau raised to it, eigenvalues keeping their signs; a 0 to rounding counts as positive.

    The singular vectors of a symmetric matrix are its eigenvectors, with the sign of w in one of the two.
    """
    noise = len(w) * np.finfo(np.float64).eps * float(np.max(np.abs(w)))
    return np.where(w < -noise, -1.0, 1.0) * np.maximum(np.abs(w), tau)


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """All eigenvectors, and the certificate of those that are kept; LAPACK wants as much again to find them."""
    if params["variant"] == "paper":
        return with_pairs(s, 6.0 * s.n**2)
    if s.form != "candidates" or not params["psd"]:
        return with_pairs(s, (5.0 if s.form == "candidates" else 4.0) * s.n**2)
    return spectrum_memory(s, min(s.n, s.d + s.n_queries))  # no more eigenvalues are positive


METHODS = (
    Method(
        name="mc_on",
        family="ablation",
        acts_on="similarities",
        regularizer="nuclear norm",
        solver="exact",
        psd=True,
        low_rank=False,
        keeps_candidates=False,
        random=False,
        reference="the paper, ablation with the original nuclear norm; Cai, Candes, Shen, SIAM J. Optim. 2010",
        parameters=Parameters(
            parameter("variant", "careful", Words("careful", "paper"), meaning="the optimum, or the printed algorithm"),
            parameter("psd", True, Flag(), meaning="of 'careful': whether the result must be positive semi-definite"),
            parameter("tau", 1e-4, Number(), meaning="threshold of 'paper'"),
            tol(1e-12, "of 'paper': stop where S changes by less than this share of |S0|_F"),
            max_iter(10_000, "of 'paper': most iterations"),
            *ITERATION,
        ),
        original={"variant": "paper"},
        grid=tuple({"penalty": weight} for weight in (1e-3, 1.0, 3.0, 10.0, 30.0, 100.0)),
        shared=MEASURE | {"penalty"},
        work=lambda sizes, params: 10.0 * sizes.n**3,
        memory=_memory,
        run=run,
    ),
)
