"""The paper's methods, each a penalty and a row of data; `complete` does the work for all of them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simcomplete._method.memory import block, first_pass, with_pairs
from simcomplete._method.params import (
    ITERATION,
    Arrays,
    Flag,
    Number,
    Parameter,
    Parameters,
    Words,
    max_iter,
    parameter,
    tol,
)
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._spectral.complete import VERIFY_LIMIT, complete_spectrum
from simcomplete._spectral.eigen.krylov import BLOCK, ROOM
from simcomplete._spectral.eigen.routes import LARGE, SMALL
from simcomplete._spectral.extend import spectral_extension
from simcomplete._spectral.penalties import NoPenalty, Nuclear, NuclearMinusFrobenius, Penalty, SquaredFrobenius

# None stands for "not given": what the exact solver has no use for is refused, never ignored.
SOLVER = (
    parameter(
        "solver",
        "exact",
        Words("exact", "descent", "lbfgs"),
        meaning="one eigendecomposition, the paper's gradient descent, or L-BFGS",
    ),
    parameter(
        "route",
        "auto",
        Words("auto", "full", "partial", "iterative", "structured"),
        meaning="how the eigenvalues are found, for the exact answer and for every certificate",
    ),
    parameter("verify", None, Flag(), meaning="compute the certificate's products with S0; None: up to 20,000 rows"),
    parameter(
        "step",
        None,
        Words("safe", "backtracking", "paper"),
        Number(above=True),
        meaning="descent: the step, gamma of the paper, or a rule for it; None: 'safe'",
    ),
    max_iter(None, "descent and lbfgs: most iterations; None: 10,000, as in the paper"),
    tol(None, "descent and lbfgs: stop where |gradient|_F <= tol * (1 + |S0|_F); None: 1e-7; 0 makes all iterations"),
    parameter(
        "start_scale",
        None,
        Words("auto"),
        Number(above=True),
        meaning="descent and lbfgs: the start is this times normal numbers; None: 'auto', the trace of S0",
    ),
    parameter("start", None, Arrays("an array of shape (n, rank)"), meaning="descent and lbfgs: where to start"),
    *ITERATION,
)
# What tune=True tries: the paper's ranks, and weights up to where they begin to matter.
GRID = tuple({"rank": rank, "penalty": weight} for rank in (50, 100, 200) for weight in (1e-3, 1.0, 10.0))


def work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """The cheaper of two eigendecompositions, and the iterations where there are any."""
    reduced = sizes.d + 2 * sizes.n_queries
    direct = min(6.0 * sizes.n**3, 10.0 * reduced**3 + 4.0 * sizes.n * (sizes.d + sizes.n_queries) ** 2)
    if params["solver"] == "exact":
        return direct
    return direct + 2.0 * (params["max_iter"] or 10_000) * sizes.n**2 * sizes.rank


def spectrum_memory(
    s: Sizes, rank: int, route: str = "auto", verify: bool | None = None, *, certified: bool = True
) -> float:
    """The largest eigenpairs of S0 by a route, and the certificate of their factor."""
    n, small, columns = s.n, s.d + 2 * s.n_queries, s.d + s.n_queries
    checked = n <= VERIFY_LIMIT if verify is None else verify
    factor = (6.0 if checked else 1.0) * n * rank
    if route == "auto" and s.form == "candidates" and (2 * small <= n or (n > SMALL and small < n)):
        route = "structured"
    if route == "structured":
        after = 2.0 * columns**2 + 3 * small**2 + block(s.n_candidates * columns)
        return max(first_pass(s) + small**2, after + (0.0 if s.written else factor))
    if route == "iterative" or (route == "auto" and n > LARGE and rank <= n // 40):
        basis = max(1.8 * n * (rank + (ROOM + 1) * BLOCK), factor)
        if s.form == "candidates":  # products with S0 need no n x n matrix
            return max(first_pass(s), 2.0 * columns**2 + 2 * block(s.n_candidates * columns) + basis)
        return with_pairs(s, max(basis, block(n**2) if certified else 0.0))  # squares for |S0|_F
    own = n**2 if s.form == "candidates" else 0.0
    partial = route == "partial" or (route == "auto" and rank <= n // 4)
    return with_pairs(s, own + max(n**2 + 2.6 * n * rank if partial else 4.0 * n**2, factor))


def spectral_memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """The eigenpairs and their certificate, or the vectors that an iterative solver remembers."""
    exact = spectrum_memory(s, s.rank, params["route"], params["verify"] if params["solver"] == "exact" else True)
    return exact + {"exact": 0.0, "descent": 3.0, "lbfgs": 30.0}[params["solver"]] * s.n * s.rank


def spectral_method(
    name: str,
    regularizer: str,
    reference: str,
    penalty_of: Callable[[Mapping[str, Any]], Penalty],
    *extra: Parameter,
) -> Method:
    """A row of this family: everything but the penalty is the same."""

    def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
        return complete_spectrum(problem, settings, name, penalty_of(params), params)

    return Method(
        name=name,
        family="spectral",
        acts_on="similarities",
        regularizer=regularizer,
        solver="exact (descent, lbfgs)",
        psd=True,
        low_rank=True,
        keeps_candidates=False,
        random=False,
        reference=reference,
        run=run,
        parameters=Parameters(*extra, *SOLVER),
        shared=MEASURE | {"rank", "penalty"},
        grid=GRID,
        extend=lambda done, rows, measure: spectral_extension(done, rows, measure, penalty_of(done.params)),
        work=work,
        memory=spectral_memory,
    )


METHODS = (
    spectral_method("smcnn", "nuclear norm", "the paper, Algorithm 1", lambda params: Nuclear()),
    spectral_method(
        "smcnmf", "nuclear minus Frobenius norm", "the paper, Algorithm 2", lambda params: NuclearMinusFrobenius()
    ),
    spectral_method("smc_nr", "none", "the paper, ablation without regularizer", lambda params: NoPenalty()),
    spectral_method(
        "smc_f",
        "squared Frobenius norm",
        "the paper, ablation with Frobenius norm",
        lambda params: SquaredFrobenius(0.5 if params["variant"] == "paper" else 1.0),
        parameter(
            "variant",
            "corrected",
            Words("corrected", "paper"),
            meaning="the penalty as stated, or the half of it that the printed gradient has",
        ),
    ),
)
