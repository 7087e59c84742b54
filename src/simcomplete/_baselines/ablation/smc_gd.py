"""`smc_gd`: the paper's ablation that takes the nuclear norm by thresholding, SMC_GD (appendix, Algorithm SMC_GD).

    min_V |V V^T - S0|_F^2 + lambda |V V^T|_*

Since |V V^T|_* = |V|_F^2, this is SMCNN's problem, and the same optimum is reached by another road.

variant="careful"  proximal gradient, S <- top r of max(eigenvalues of (S - 2 t (S - S0)) - t lambda, 0), 0 < t <= 1/2.
                   With t = 1/2 the first step is the optimum, whatever the start.
variant="paper"    the printed box; `smc_gd_paper` has it, and says what becomes of it.

========== ==================================================================================================
variant    "careful" or "paper"
step       t, 1/2 when left out; "paper": gamma, 0.001 as there. It cannot settle above 1/(4 lambda_max(S0)), which for
           1200 non-negative rows is about 0.0005: then the run ends with a warning and the best V there was
tau        "paper": the threshold; the paper gives none for this method, 1e-4 for another
start      an (n, rank) array to start from; else 0 for "careful", random for "paper"
max_iter   most iterations; 10,000 as in the paper
tol        stop where S changes by less than this share of |S0|_F; "paper": where the objective changes by less
time_limit seconds for the iterations
callback   ``callback(iteration, facts)`` after every one; something true ends the run
========== ==================================================================================================
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._baselines.ablation import smc_gd_paper
from simcomplete._baselines.iteration import limits
from simcomplete._method.iterate import Facts, Limits, Run, iterate
from simcomplete._method.params import ITERATION, Arrays, Number, Parameters, Words, max_iter, parameter, tol
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.xp import Array, is_array, like, namespace, to_numpy
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.certify import certify
from simcomplete._spectral.complete import VERIFY_LIMIT
from simcomplete._spectral.eigen.routes import largest_eigenpairs
from simcomplete._spectral.methods import spectrum_memory
from simcomplete._spectral.penalties import Nuclear, SpectralProblem
from simcomplete._spectral.solvers.descent import auto_scale
from simcomplete._types import Matrix
from simcomplete.errors import InputError


@dataclass(frozen=True)
class Blend:
    """S - 2 t (S - S0) = (1 - 2 t) V V^T + 2 t S0, as something to multiply with."""

    operator: Operator
    V: Array
    t: float
    progress: bool | None = False  # the iterations around it show theirs

    @property
    def array(self) -> Array:
        """An array that tells the library and device to work in."""
        return self.operator.array

    @property
    def n(self) -> int:
        """How many rows."""
        return self.operator.n

    def matmul(self, X: Array) -> Array:
        """Return the product with X."""
        return (1 - 2 * self.t) * (self.V @ (self.V.T @ X)) + 2 * self.t * self.operator.matmul(X)

    def squared_norm(self) -> float:
        """Return its squared Frobenius norm."""
        xp = namespace(self.V)
        inner = float(xp.sum(self.V * self.operator.matmul(self.V)))
        own = float(xp.sum((self.V.T @ self.V) ** 2))
        u = 1 - 2 * self.t
        return u * u * own + 4 * self.t * u * inner + 4 * self.t**2 * self.operator.squared_norm()

    @property
    def max_rank(self) -> int:
        """The size of the matrix."""
        return self.n

    def evidence(self) -> None:
        """None: this is no matrix of similarities."""

    def diagonal_deficit(self) -> None:
        """None: the diagonal is as it is."""

    def dense(self) -> Array:
        """Return the whole matrix in float64."""
        S = (1 - 2 * self.t) * (self.V @ self.V.T) + 2 * self.t * self.operator.dense()
        return (S + S.T) / 2


@dataclass(frozen=True)
class StepIterate:
    """V, its objective, how much S = V V^T changed as a share of |S0|_F, and the eigenvalues V was made from."""

    V: Array
    objective: float
    change: float = 1.0
    w: Matrix | None = None


def careful(
    problem: SpectralProblem, V: Array, t: float, tol: float, limits: Limits, seed: int = 0
) -> Run[StepIterate]:
    """Proximal gradient with step t from V.

    Examples
    --------
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> S0 = np.array([[2.0, 1.0], [1.0, 2.0]])  # eigenvalues 3 and 1
    >>> problem = SpectralProblem(DenseSimilarity(S0), Nuclear(), weight=1.0, rank=1)
    >>> run = careful(problem, np.zeros((2, 1)), 0.25, 1e-12, Limits(max_iter=100))
    >>> V = run.state.V
    >>> (V @ V.T).round(3), run.status.code  # 3 - 1/2, along (1, 1)/sqrt(2); half of the way with every step
    (array([[1.25, 1.25],
           [1.25, 1.25]]), 'converged')
    """
    size = math.sqrt(problem.scale)

    def step(here: StepIterate) -> StepIterate:
        blend = problem.operator if t == 0.5 else Blend(problem.operator, here.V, t)
        spectrum = largest_eigenpairs(blend, problem.rank, seed=seed)
        V = spectrum.scaled_vectors(np.sqrt(np.maximum(spectrum.w - t * problem.weight, 0.0)))
        change = distance(V, here.V) / size if size > 0 else 0.0
        return StepIterate(V, problem.objective(V), change, spectrum.w)

    def stop(facts: Facts, recent: Any) -> Status | None:
        if facts["iteration"] >= 1 and t == 0.5:
            return Status("converged", "with step 1/2 the first step is the optimum")
        if facts["change"] <= tol:
            return Status("converged", f"S changes by {facts['change']:.1e} of |S0|, not above tol={tol:g}")
        return None

    def measure(here: StepIterate) -> Facts:
        return {"objective": here.objective, "change": here.change}

    return iterate(StepIterate(V, problem.objective(V)), step, measure=measure, stop=stop, limits=limits)


def distance(V: Array, U: Array) -> float:
    """|V V^T - U U^T|_F from a small matrix, without the cancellation of a sum of squares.

    Examples
    --------
    >>> distance(np.array([[2.0], [0.0]]), np.array([[1.0], [0.0]]))
    3.0
    """
    xp = namespace(V)
    r = int(V.shape[1])
    R = xp.linalg.qr(xp.concat([V, U], axis=1), mode="reduced")[1]
    D = R[:, :r] @ R[:, :r].T - R[:, r:] @ R[:, r:].T
    return math.sqrt(float(xp.sum(D * D)))


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Wire SMC_GD, and check the answer by SMCNN's certificate: the problem is the same."""
    variant = params["variant"]
    gamma = float({"careful": 0.5, "paper": 1e-3}[variant] if params["step"] is None else params["step"])
    if variant == "careful" and gamma > 0.5:
        raise InputError(f"step={gamma:g} is out of range; use more than 0, and at most 0.5 with variant='careful'")
    tau, tol = float(params["tau"]), float(params["tol"])
    spectral = SpectralProblem(problem.operator, Nuclear(), settings.penalty, settings.rank)
    seed, within = settings.seed(), limits(settings, params, "smc_gd")
    start = given_start(params["start"], (problem.n, settings.rank), "start")
    if start is None:
        start = np.zeros((problem.n, settings.rank)) if variant == "careful" else random_start(spectral, seed)
    V = like(start, problem.operator.array, dtype=namespace(problem.operator.array).float64)
    ended: Run[Any]
    if variant == "careful":
        ended = careful(spectral, V, gamma, tol, within, seed)
    else:
        ended = smc_gd_paper.iterate_as_published(spectral, V, gamma, tau, tol, within)
    # After all T iterations the last V, as the box says, else the best there was.
    state: Any = ended.state if ended.status.code in ("converged", "computed", "max_iter") else ended.best
    # With t = 1/2 the step has just computed the eigenvalues of S0 itself.
    direct = variant == "careful" and gamma == 0.5 and ended.n_iter > 0
    w = state.w if direct else largest_eigenpairs(problem.operator, settings.rank, seed=seed).w
    certificate = certify(spectral, state.V, w, verify=problem.n <= VERIFY_LIMIT or variant == "paper", seed=seed)
    used = {**as_recorded(params), "rank": settings.rank, "penalty": settings.penalty, "step": gamma}
    far = f"{certificate.relative_gap:.1e} of |S0|^2 above the global optimum"
    status = Status(ended.status.code, f"{ended.status.message}; {far}", ended.status.ok)
    return problem.result(
        "smc_gd",
        used,
        SymmetricMatrix(factor=state.V, diagonal=problem.diagonal_deficit()),
        status=status,
        history=ended.history,
        certificate=certificate,
    )


def given_start(start: Any, shape: tuple[int, int], name: str) -> Matrix | None:
    """A start of one's own, checked; None stays None."""
    if start is None:
        return None
    values = np.asarray(to_numpy(start) if is_array(start) else start, dtype=np.float64)
    if values.shape != shape or not np.isfinite(values).all():
        raise InputError(
            f"{name} has shape {values.shape}; it must be finite numbers of shape {shape}, rows times rank"
        )
    return values


def random_start(problem: SpectralProblem, seed: int) -> Matrix:
    """Standard normal numbers, scaled so that V V^T has the trace of S0; the paper leaves the scale open."""
    shape = (problem.operator.n, problem.rank)
    return auto_scale(problem) * np.random.default_rng(seed).standard_normal(shape)


def _work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """One eigendecomposition, or a product with S0 in every iteration."""
    if params["variant"] == "careful":
        return 10.0 * sizes.n**3
    return 2.0 * float(params["max_iter"]) * sizes.n**2 * sizes.rank


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """That of SMCNN, and the factors before."""
    before = 4.0 if s.form == "candidates" else 5.0 if params["variant"] == "paper" else 1.0
    return spectrum_memory(s, s.rank) + before * s.n * s.rank


METHODS = (
    Method(
        name="smc_gd",
        family="ablation",
        acts_on="similarities",
        regularizer="nuclear norm",
        solver="proximal gradient",
        psd=True,
        low_rank=True,
        keeps_candidates=False,
        random=False,
        reference="the paper, ablation with truncated SVD; Cai, Candes, Shen, SIAM J. Optim. 2010",
        parameters=Parameters(
            parameter(
                "variant", "careful", Words("careful", "paper"), meaning="proximal gradient, or the printed algorithm"
            ),
            parameter("step", None, Number(above=True), meaning="t up to 1/2, of 'paper' gamma; None: 1/2, 0.001"),
            parameter("tau", 1e-4, Number(), meaning="threshold of 'paper'"),
            parameter("start", None, Arrays("an array of shape (n, rank)"), meaning="None: 0, of 'paper' random"),
            tol(1e-9, "stop where S changes by less than this share of |S0|_F"),
            max_iter(10_000),
            *ITERATION,
        ),
        original={"variant": "paper", "step": 1e-3},
        grid=tuple({"penalty": weight} for weight in (1e-3, 1.0, 3.0, 10.0, 30.0, 100.0)),
        shared=MEASURE | {"rank", "penalty"},
        work=_work,
        memory=_memory,
        run=run,
    ),
)
