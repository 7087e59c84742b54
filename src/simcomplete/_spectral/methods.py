"""The paper's methods, each a penalty wired to a solver.

Parameters that every method here takes:

========== ==================================================================================================
solver     "exact" (one eigendecomposition), "descent" (the paper's algorithm) or "lbfgs"
route      how the eigenvalues are found, for the exact answer and for every certificate; "auto" chooses
verify     False leaves the certificate's products with S0 out; the exact solver only
step       descent: a number, "safe", "backtracking" or "paper"; see `simcomplete._spectral.solvers.descent.solve`
max_iter   descent and lbfgs: most iterations, 10 000 as in the paper
tol        descent and lbfgs: stop where |gradient|_F <= tol * (1 + |S0|_F), 1e-7; 0 makes all iterations
scale      descent and lbfgs: the start is scale times standard normal numbers; "auto" gives it the trace of S0
start      descent and lbfgs: an (n, rank) array to start from, instead
time_limit descent and lbfgs: seconds for the iterations
callback   descent and lbfgs: ``callback(iteration, facts)`` after every one; something true ends the run
========== ==================================================================================================
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from simcomplete._method.iterate import Limits, Run
from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._result.certificate import Certificate
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.validate import check_number
from simcomplete._rows.xp import is_array, to_numpy
from simcomplete._spectral.certify import certify
from simcomplete._spectral.certify_passes import certify_passes
from simcomplete._spectral.eigen.routes import largest
from simcomplete._spectral.objective import Problem
from simcomplete._spectral.penalties import (
    NoPenalty,
    Nuclear,
    NuclearMinusFrobenius,
    Penalty,
    SquaredFrobenius,
)
from simcomplete._spectral.solvers import descent, exact, lbfgs
from simcomplete.errors import InputError

# Beyond this many rows the certificate's products with S0 (two more passes) are made only when asked for.
VERIFY_LIMIT = 20_000
# A gap below this share of |S0|_F^2 is the optimum, whatever ended the run.
GAP = 1e-8

# None stands for "not given": what the exact solver has no use for is refused, never ignored.
ITERATIVE = {"max_iter": 10_000, "tol": 1e-7, "scale": "auto", "start": None, "time_limit": None, "callback": None}
SOLVER = {"solver": "exact", "route": "auto", "verify": None, "step": None, **dict.fromkeys(ITERATIVE)}


# What tune=True tries: the paper's ranks, and weights up to where they begin to matter.
GRID = tuple({"rank": rank, "penalty": weight} for rank in (50, 100, 200) for weight in (1e-3, 1.0, 10.0))


def complete(task: Task, name: str, penalty: Penalty, params: dict[str, Any]) -> Completion:
    """Solve the paper's problem with one penalty, and certify the answer; `Task.finish` warns of one that is not ok."""
    _refuse_strangers(params)
    seed = task.seed()
    problem = Problem(task.operator, penalty, task.penalty, task.rank)
    own = {key: value for key, value in params.items() if key not in ITERATIVE and key != "step"}
    used = {"rank": task.rank, "penalty": task.penalty, **own}
    history: list[dict[str, float]] = []
    if params["solver"] == "exact":
        verify = task.n <= VERIFY_LIMIT if params["verify"] is None else bool(params["verify"])
        spectrum = largest(problem.operator, problem.rank, params["route"], seed)
        # A factor that is large or elsewhere is not brought here to be looked at: its rows are made again.
        passes = verify and spectrum.reduced is not None and _far(task)
        target = None if task.out is None else task.out.table
        V = exact.factor(problem, spectrum, target, None if verify and not passes else task.dtype)
        if task.out is not None and task.out.written:
            V = task.out.read(task.out.draft)
        if passes and spectrum.reduced is not None:
            certificate = certify_passes(problem, spectrum.reduced, spectrum.w, seed)
        else:
            certificate = certify(problem, V, spectrum.w, verify=verify, seed=seed)
        status = verdict(certificate.optimal, spectrum.route)
    else:
        settings = _settings(task, params, seed)
        if params["solver"] == "descent":
            step = _step("safe" if params["step"] is None else params["step"])
            V, run = descent.solve(problem, settings, step)
            used["step"] = step
        else:
            V, run = lbfgs.solve(problem, settings)
        spectrum = largest(problem.operator, problem.rank, params["route"], seed)
        verify, history = True, run.history
        certificate = certify(problem, V, spectrum.w, seed=seed)
        status = judged(run, certificate, settings.tol)
        used |= _record(problem, settings)
    factor = V if spectrum.route == "structured" else task.cleared(V)
    return task.finish(
        name,
        {**used, "route": spectrum.route, "verify": verify},
        SymmetricMatrix(factor=factor, diagonal=task.missing_diagonal()),
        certificate=certificate,
        status=status,
        history=history,
    )


def _far(task: Task) -> bool:
    """Whether the factor is better not held: many rows, rows from outside, or a file to write it to."""
    out_of_core = task.samples is not None and task.samples.held is None
    return task.n > VERIFY_LIMIT or task.out is not None or out_of_core


def _refuse_strangers(params: dict[str, Any]) -> None:
    """Refuse an unknown solver, and parameters that the chosen one has no use for."""
    solver = params["solver"]
    strangers = {"exact": ("step", *ITERATIVE), "descent": (), "lbfgs": ("step",)}
    if not isinstance(solver, str) or solver not in strangers:
        raise InputError(f"solver={solver!r} is unknown; use 'exact', 'descent' or 'lbfgs'")
    given = [name for name in strangers[solver] if params[name] is not None]
    if given:
        owner = "solver='descent'" if given == ["step"] else "solver='descent' or 'lbfgs'"
        raise InputError(f"solver={solver!r} has no use for {', '.join(given)}; leave out, or choose {owner}")
    if solver != "exact" and params["verify"] is not None and not params["verify"]:
        raise InputError(f"verify=False is for solver='exact'; what {solver!r} found has to be verified: leave it out")


def _settings(task: Task, params: dict[str, Any], seed: int) -> descent.Settings:
    """Check what an iterative solver was given, and fill in what it was not."""
    p = {name: default if params[name] is None else params[name] for name, default in ITERATIVE.items()}
    max_iter, scale, start = p["max_iter"], p["scale"], p["start"]
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise InputError(f"max_iter={max_iter!r} must be a whole number of at least 1")
    if p["callback"] is not None and not callable(p["callback"]):
        raise InputError(f"callback={p['callback']!r} cannot be called; give a function of iteration and facts")
    if start is not None:
        if params["scale"] is not None:
            raise InputError("scale is for a random start; leave out scale or start")
        try:
            start = np.asarray(to_numpy(start) if is_array(start) else start, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"start cannot be read as numbers: {error}; give an array") from error
        if start.shape != (task.n, task.rank) or not np.isfinite(start).all():
            need = f"finite numbers of shape {(task.n, task.rank)}"
            raise InputError(f"start has shape {start.shape}; it must be {need}, rows times rank")
    if not isinstance(scale, str) or scale != "auto":
        scale = check_number(scale, "scale")
        if scale == 0:
            raise InputError("scale=0 starts at V = 0, which descent never leaves; use 'auto' or a number above 0")
    limits = Limits(
        max_iter=int(max_iter),
        time_limit=None if p["time_limit"] is None else check_number(p["time_limit"], "time_limit"),
        callback=p["callback"],
        label=params["solver"],
        progress=task.progress,
    )
    return descent.Settings(limits, check_number(p["tol"], "tol"), scale, start, seed)


def _step(step: Any) -> str | float:
    if isinstance(step, str):
        return step
    gamma = check_number(step, "step")
    if gamma == 0:
        raise InputError("step=0 goes nowhere; use a number above 0, or 'safe'")
    return gamma


def _record(problem: Problem, settings: descent.Settings) -> dict[str, Any]:
    """The settings as used, in plain values."""
    scale = descent.auto_scale(problem) if settings.scale == "auto" else settings.scale
    return {
        "max_iter": settings.limits.max_iter,
        "tol": settings.tol,
        "start": "random" if settings.start is None else "given",
        "scale": scale if settings.start is None else None,
        "time_limit": settings.limits.time_limit,
        "callback": None if settings.limits.callback is None else "given",
    }


def judged(run: Run[Any], certificate: Certificate, tol: float) -> Status:
    """Say how an iterative solver ended, by how far the certificate finds it from the global optimum."""
    status, gap = run.status, certificate.relative_gap
    settled = status.code in ("converged", "stalled")
    far = f"{gap:.1e} of |S0|^2 above the global optimum"
    if settled and gap <= max(GAP, tol):
        return Status("converged", f"{status.message}, after {run.n_iter} iterations; {far}")
    if settled:
        advice = "a saddle or a flat valley: another random_state or start, a smaller tol, or solver='exact'"
        return Status("stationary", f"{status.message}, yet {far}; {advice}", ok=False)
    return Status(
        status.code, f"{status.message}; {far}", ok=gap <= GAP and status.code not in ("diverged", "oscillating")
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
        solver="exact (descent, lbfgs)",
        psd=True,
        low_rank=True,
        keeps_candidates=False,
        random=False,
        out_of_sample=True,
        reference=reference,
        parameters={**(extra or {}), **SOLVER},
        grid=GRID,
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
