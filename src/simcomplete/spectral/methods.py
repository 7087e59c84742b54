"""The paper's methods with an exact solution, each a penalty wired to a solver."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from simcomplete.completion import Completion
from simcomplete.errors import InputError
from simcomplete.matrix import SymmetricMatrix
from simcomplete.method import Method
from simcomplete.spectral.certify import certify
from simcomplete.spectral.exact import solve
from simcomplete.spectral.penalties import (
    NoPenalty,
    Nuclear,
    NuclearMinusFrobenius,
    Penalty,
    SquaredFrobenius,
)
from simcomplete.spectral.problem import Problem
from simcomplete.status import Status
from simcomplete.task import Task

# Beyond this many rows the certificate's products with S0 (two more passes) are made only when asked for.
VERIFY_LIMIT = 20_000

SOLVER = {"solver": "exact", "route": "auto", "verify": None}


def complete(task: Task, name: str, penalty: Penalty, params: dict[str, Any]) -> Completion:
    """Solve the paper's problem with one penalty, and certify the answer."""
    if params["solver"] != "exact":
        raise InputError(f"solver={params['solver']!r} is unknown; use 'exact'")
    seed = task.seed()
    problem = Problem(task.operator, penalty, task.penalty, task.rank)
    V, spectrum = solve(problem, params["route"], seed)
    verify = task.n <= VERIFY_LIMIT if params["verify"] is None else bool(params["verify"])
    certificate = certify(problem, V, spectrum.w, verify=verify, seed=seed)
    used = {"rank": task.rank, "penalty": task.penalty, **params, "route": spectrum.route, "verify": verify}
    return task.finish(
        name,
        used,
        SymmetricMatrix(factor=V, diagonal=task.missing_diagonal()),
        certificate=certificate,
        status=verdict(certificate.optimal, spectrum.route),
    )


def verdict(optimal: bool, route: str) -> Status:
    """Say how the exact solver ended."""
    if optimal:
        return Status("optimal", f"the global optimum, by one eigendecomposition (route {route!r})")
    return Status(
        "inexact",
        f"the certificate does not prove the optimum (route {route!r}): see .certificate; try route='full'",
        ok=False,
    )


def plain(name: str, penalty: Penalty) -> Callable[[Task, dict[str, Any]], Completion]:
    """Wire a penalty that has no variants."""
    return lambda task, params: complete(task, name, penalty, params)


def smc_f(task: Task, params: dict[str, Any]) -> Completion:
    """Wire SMC_F: `variant="paper"` is the optimum of the gradient the paper prints, half the penalty."""
    coefficients = {"corrected": 1.0, "paper": 0.5}
    if params["variant"] not in coefficients:
        raise InputError(f"variant={params['variant']!r} is unknown; use 'corrected' or 'paper'")
    return complete(task, "smc_f", SquaredFrobenius(coefficients[params["variant"]]), params)


def row(
    name: str,
    regularizer: str,
    run: Callable[[Task, dict[str, Any]], Completion],
    reference: str,
    extra: Mapping[str, Any] | None = None,
) -> Method:
    """A registry row of this family."""
    return Method(
        name=name,
        family="spectral",
        acts_on="similarities",
        regularizer=regularizer,
        solver="exact eigenvalue shrinkage",
        psd=True,
        low_rank=True,
        keeps_candidates=False,
        random=False,
        out_of_sample=True,
        reference=reference,
        parameters={**(extra or {}), **SOLVER},
        run=run,
    )


METHODS = (
    row("smcnn", "nuclear norm", plain("smcnn", Nuclear()), "the paper, Algorithm 1"),
    row(
        "smcnmf",
        "nuclear minus Frobenius norm",
        plain("smcnmf", NuclearMinusFrobenius()),
        "the paper, Algorithm 2",
    ),
    row("smc_nr", "none", plain("smc_nr", NoPenalty()), "the paper, ablation without regularizer"),
    row(
        "smc_f",
        "squared Frobenius norm",
        smc_f,
        "the paper, ablation with Frobenius norm",
        {"variant": "corrected"},
    ),
)
