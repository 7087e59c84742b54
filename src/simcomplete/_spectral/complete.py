"""One call of a spectral method: solve by one of three solvers, certify the answer, say how it ended."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.iterate import Limits, Run
from simcomplete._method.problem import CandidatesQueries, Problem
from simcomplete._method.settings import Settings
from simcomplete._result.certificate import Certificate
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.xp import Array, is_array, to_numpy
from simcomplete._spectral.certify import certify
from simcomplete._spectral.certify_passes import certify_passes
from simcomplete._spectral.eigen.routes import Spectrum, largest_eigenpairs
from simcomplete._spectral.penalties import Penalty, SpectralProblem
from simcomplete._spectral.solvers import descent, lbfgs
from simcomplete.errors import InputError

# Beyond this many rows the certificate's products with S0 (two more passes) are made only when asked for.
VERIFY_LIMIT = 20_000
# A gap below this share of |S0|_F^2 is the optimum, whatever ended the run.
GAP = 1e-8
# What the iterative solvers take where nothing is given; the exact one has no use for any of these.
ITERATIVE: dict[str, Any] = {
    "max_iter": 10_000,
    "tol": 1e-7,
    "start_scale": "auto",
    "start": None,
    "time_limit": None,
    "callback": None,
    "on_interrupt": "raise",
}


def complete_spectrum(
    problem: Problem, settings: Settings, name: str, penalty: Penalty, params: dict[str, Any]
) -> Completion:
    """Solve the paper's problem with one penalty, and certify the answer."""
    refuse_unused(params)
    seed = settings.seed()
    spectral = SpectralProblem(problem.operator, penalty, settings.penalty, settings.rank)
    own = {key: value for key, value in params.items() if key not in ITERATIVE and key != "step"}
    used = {"rank": settings.rank, "penalty": settings.penalty, **own}
    history: list[dict[str, float]] = []
    if params["solver"] == "exact":
        verify = problem.n <= VERIFY_LIMIT if params["verify"] is None else bool(params["verify"])
        V, spectrum, certificate = _exact(problem, spectral, settings, params["route"], verify, seed)
        status = exact_status(certificate.optimal, spectrum.route)
    else:
        within = _iterative(problem.n, settings, params, seed)
        if params["solver"] == "descent":
            used["step"] = "safe" if params["step"] is None else params["step"]
            V, run = descent.descend(spectral, within, used["step"])
        else:
            V, run = lbfgs.minimise_by_lbfgs(spectral, within)
        spectrum = largest_eigenpairs(spectral.operator, spectral.rank, params["route"], seed)
        verify, history = True, run.history
        certificate = certify(spectral, V, spectrum.w, seed=seed)
        status = iterative_status(run, certificate, within.tol)
        used |= _recorded(spectral, within)
    factor = V if spectrum.route == "structured" else problem.zero_rows_without_evidence(V)
    return problem.result(
        name,
        {**used, "route": spectrum.route, "verify": verify},
        SymmetricMatrix(factor=factor, diagonal=problem.diagonal_deficit()),
        certificate=certificate,
        status=status,
        history=history,
    )


def _exact(
    problem: Problem, spectral: SpectralProblem, settings: Settings, route: Any, verify: bool, seed: int
) -> tuple[Array, Spectrum, Certificate]:
    """The optimal factor, the eigenvalues it was made from, and its certificate."""
    spectrum = largest_eigenpairs(spectral.operator, spectral.rank, route, seed)
    out = settings.out
    # A factor that is large or elsewhere is not brought here to be looked at: its rows are made again.
    out_of_core = isinstance(problem, CandidatesQueries) and problem.candidates.held is None
    passes = verify and spectrum.reduced is not None and (problem.n > VERIFY_LIMIT or out is not None or out_of_core)
    dtype = None if verify and not passes else problem.dtype
    V = spectral.factor(spectrum, None if out is None else out.table, dtype)
    if out is not None and out.written:
        V = out.read(out.draft)
    if passes and spectrum.reduced is not None:
        return V, spectrum, certify_passes(spectral, spectrum.reduced, spectrum.w, seed)
    return V, spectrum, certify(spectral, V, spectrum.w, verify=verify, seed=seed)


def refuse_unused(params: dict[str, Any]) -> None:
    """Refuse parameters that the chosen solver has no use for."""
    solver = params["solver"]
    unused = {"exact": ("step", *ITERATIVE), "descent": (), "lbfgs": ("step",)}[solver]
    given = [name for name in unused if params[name] is not None]
    if given:
        owner = "solver='descent'" if given == ["step"] else "solver='descent' or 'lbfgs'"
        raise InputError(
            f"solver={solver!r} does not use {', '.join(given)}; leave out, or choose {owner}", about=("solver",)
        )
    if solver != "exact" and params["verify"] is not None and not params["verify"]:
        raise InputError(
            f"verify=False is for solver='exact'; what {solver!r} found has to be verified: leave it out",
            about=("verify", "solver"),
        )
    if params["start"] is not None and params["start_scale"] is not None:
        raise InputError("start_scale is for a random start; leave out start_scale or start")


def _iterative(n: int, settings: Settings, params: dict[str, Any], seed: int) -> descent.DescentSettings:
    """What an iterative solver was given, and defaults for what it was not."""
    p = {name: default if params[name] is None else params[name] for name, default in ITERATIVE.items()}
    start, shape = p["start"], (n, settings.rank)
    if start is not None:
        try:
            start = np.asarray(to_numpy(start) if is_array(start) else start, dtype=np.float64)
        except (TypeError, ValueError) as error:
            raise InputError(f"start cannot be read as numbers: {error}; give an array") from error
        if start.shape != shape or not np.isfinite(start).all():
            raise InputError(
                f"start has shape {start.shape}; it must be finite numbers of shape {shape}, rows times rank"
            )
    limits = Limits(
        max_iter=int(p["max_iter"]),
        time_limit=None if p["time_limit"] is None else float(p["time_limit"]),
        callback=p["callback"],
        label=params["solver"],
        progress=settings.progress,
        best_on_interrupt=p["on_interrupt"] == "return",
    )
    scale = p["start_scale"] if isinstance(p["start_scale"], str) else float(p["start_scale"])
    return descent.DescentSettings(limits, float(p["tol"]), scale, start, seed)


def _recorded(spectral: SpectralProblem, within: descent.DescentSettings) -> dict[str, Any]:
    """The settings as used, in plain values."""
    scale = descent.auto_scale(spectral) if within.scale == "auto" else within.scale
    return {
        "max_iter": within.limits.max_iter,
        "tol": within.tol,
        "start": "random" if within.start is None else "given",
        "start_scale": scale if within.start is None else None,
        "time_limit": within.limits.time_limit,
        "callback": None if within.limits.callback is None else "given",
    }


def iterative_status(run: Run[Any], certificate: Certificate, tol: float) -> Status:
    """Say how an iterative solver ended, by how far the certificate finds it from the global optimum."""
    status, gap = run.status, certificate.relative_gap
    settled = status.code in ("converged", "stalled")
    far = f"{gap:.1e} of |S0|^2 above the global optimum"
    if status.code == "max_iter" and gap <= GAP:  # the optimum, whether or not the stop test has noticed
        return Status("converged", f"all {run.n_iter} iterations made; {far}")
    if status.code == "max_iter" and tol == 0:  # all iterations were asked for, whatever comes of them
        return Status("computed", f"all {run.n_iter} iterations made, as asked for with tol=0; {far}", ok=False)
    if settled and gap <= max(GAP, tol):
        return Status("converged", f"{status.message}, after {run.n_iter} iterations; {far}")
    if settled:
        advice = "a saddle or a flat valley: another random_state or start, a smaller tol, or solver='exact'"
        return Status("stationary", f"{status.message}, yet {far}; {advice}", ok=False)
    return Status(
        status.code, f"{status.message}; {far}", ok=gap <= GAP and status.code not in ("diverged", "oscillating")
    )


def exact_status(optimal: bool, route: str) -> Status:
    """Say how the exact solver ended."""
    if optimal:
        return Status("optimal", f"the global optimum, by one eigendecomposition (route {route!r})")
    return Status(
        "inexact",
        f"the certificate does not prove the optimum (route {route!r}): see .certificate; try route='full'",
        ok=False,
    )
