"""`kfmc`: samples near a curved surface. A few atoms span it in a kernel's feature space; missing values follow it.

Wiring only: the objective is in `kernels`, the algorithms are in `kfmc_online` and `kfmc_offline`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from simcomplete._baselines.given import given_array
from simcomplete._baselines.imputation.filled import complete_filled, fill
from simcomplete._baselines.imputation.kernels import Floats, Kernel, Polynomial, Rbf, bandwidth
from simcomplete._baselines.imputation.kfmc_offline import offline
from simcomplete._baselines.imputation.kfmc_online import Settings, extend, online
from simcomplete._baselines.imputation.mean import feature_means, power_of_two
from simcomplete._baselines.iteration import ITERATION, limits, told
from simcomplete._method.iterate import Limits, Run
from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._result.completion import Completion
from simcomplete._rows.validate import check_number
from simcomplete.errors import InputError

# What None stands for, by variant and kernel: the original values, save a tol that offline can reach.
USUAL: dict[tuple[str, str], dict[str, Any]] = {
    ("online", "rbf"): {"factor": 3.0, "alpha": 0.0, "beta": 1e-3, "max_iter": 2, "tol": 1e-5},
    ("online", "poly"): {"alpha": 0.01, "beta": 1e-3, "max_iter": 2, "tol": 1e-5},
    ("offline", "rbf"): {"factor": 1.0, "alpha": 0.0, "beta": 1e-3, "max_iter": 500, "tol": 3e-4},
    ("offline", "poly"): {"alpha": 1.0, "beta": 1.0, "max_iter": 500, "tol": 3e-4},
}
CHOICES = {
    "variant": ("online", "offline", "extend"),
    "kernel": ("rbf", "poly"),
    "init": ("candidates", "normal"),
    "bandwidth": ("candidates", "all"),
}


def run(task: Task, params: dict[str, Any]) -> Completion:
    """Choose unit, first guess and atoms; learn; fill; compare."""
    for name, choices in CHOICES.items():
        if params[name] not in choices:
            raise InputError(f"{name}={params[name]!r} is unknown; use one of {', '.join(map(repr, choices))}")
    for name in ("degree", "inner"):
        if isinstance(params[name], bool) or not isinstance(params[name], int) or params[name] < 1:
            raise InputError(f"{name}={params[name]!r} must be a whole number of at least 1")
    usual = USUAL["offline" if params["variant"] == "offline" else "online", params["kernel"]]
    p = {**params, **{name: value for name, value in usual.items() if params[name] is None}}
    table, n_p = task.table, task.n_candidates
    mask = ~np.isnan(table)
    unit = _unit(table[:n_p], p)
    X = np.where(mask, table, _start(p["start"], table, n_p)) / unit
    D = _atoms(p["atoms"], p["init"], X[:n_p], unit, task.rng)
    settings = _settings(p, X if p["bandwidth"] == "all" else X[:n_p], X[mask])
    with threadpool_limits(1, user_api="blas"):  # many small products: threads that wait for each other cost 15 times
        result, filled = _learn(p["variant"], task, X, D, settings, limits(task, p, "kfmc"))
    facts = {"status": result.status, "history": result.history}
    used = {**told(p), "atoms": len(D)}
    return complete_filled(task, "kfmc", used, fill(table, fill(table / unit, filled) * unit), **facts)


def _learn(
    variant: str, task: Task, X: Floats, D: Floats, settings: Settings, bounds: Limits
) -> tuple[Run[Any], Floats]:
    """Run the variant; return how it went and the samples it filled."""
    mask = ~np.isnan(task.table)
    if variant != "extend":
        result: Run[Any] = (online if variant == "online" else offline)(X, mask, D, settings, bounds)
        return result, result.state.X
    if task.together:
        raise InputError("variant='extend' learns from complete candidates alone; give candidates and queries")
    n_p = task.n_candidates
    result = online(X[:n_p], mask[:n_p], D, settings, bounds)
    # Where the atoms are fixed, the program divides the polynomial's gradient by its curvature alone.
    still = settings if isinstance(settings.kernel, Rbf) else replace(settings, relax=1.0)
    return result, np.concatenate([X[:n_p], extend(X[n_p:], mask[n_p:], result.state.D, still)[0]])


def _unit(P: Floats, p: dict[str, Any]) -> float:
    """What to divide by, so that rows have that norm in the mean: kernels and steps then know what is near."""
    size = power_of_two(P)
    if p["norm"] is None:
        # The largest number made of data is a squared norm, to the kernel's degree, times the data again.
        if np.log2(size) * (2 * (p["degree"] if p["kernel"] == "poly" else 1) + 2) > 1000:
            raise InputError(f"kernels of values near {size:.0e} overflow; leave norm at its default, 3")
        return 1.0
    norm = check_number(p["norm"], "norm", low=np.finfo(np.float64).tiny)
    mean_square = float(np.nansum((P / size) ** 2)) / max(int((~np.isnan(P)).sum()), 1)
    return size * float(np.sqrt(P.shape[1] * mean_square)) / norm if mean_square > 0 else 1.0


def _start(given: Any, table: Floats, n_p: int) -> Floats:
    """First guesses, for missing values."""
    if isinstance(given, str):
        if given not in ("mean", "zero"):
            raise InputError(f"start={given!r} is unknown; use 'mean', 'zero' or an array of shape {table.shape}")
        means = feature_means(table[:n_p]) if given == "mean" else np.zeros(table.shape[1])
        return np.broadcast_to(means, table.shape)
    return given_array(given, "start", table.shape)


def _atoms(given: Any, init: str, X: Floats, unit: float, rng: np.random.Generator) -> Floats:
    """The first atoms: some of the rows, standard normal numbers, or given."""
    n, d = X.shape
    if isinstance(given, (int, np.integer)) and not isinstance(given, bool) and given >= 1:
        if init == "normal":
            return rng.standard_normal((int(given), d))
        return np.asarray(X[rng.choice(n, min(int(given), n), replace=False)])
    return given_array(given, "atoms", ("m", d)) / unit


def _settings(p: dict[str, Any], X: Floats, observed: Floats) -> Settings:
    """Check the numbers, and choose the kernel's width by the distances of some rows."""
    least = np.finfo(np.float64).tiny
    if p["kernel"] == "rbf":
        kernel: Kernel = Rbf(bandwidth(X, check_number(p["factor"], "factor", least)))
    else:
        kernel = Polynomial(check_number(p["shift"], "shift"), p["degree"])
    return Settings(
        kernel,
        alpha=check_number(p["alpha"], "alpha"),
        beta=check_number(p["beta"], "beta", least),
        momentum=check_number(p["momentum"], "momentum", high=1.0),
        relax=check_number(p["relax"], "relax", least),
        inner=p["inner"],
        tol=check_number(p["tol"], "tol"),
        bounds=(observed.min(), observed.max()) if p["bounded"] and len(observed) else (-np.inf, np.inf),
    )


METHODS = (
    Method(
        name="kfmc",
        family="imputation",
        acts_on="samples",
        regularizer="codes in a kernel's feature space",
        solver="online (offline, extend)",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=True,
        out_of_sample=False,
        reference="Fan, Udell, CVPR 2019 (KFMC)",
        parameters={
            "variant": "online",
            "kernel": "rbf",
            "atoms": 100,
            "init": "candidates",
            "start": "mean",
            "norm": 3.0,
            "bandwidth": "candidates",
            **dict.fromkeys(("factor", "alpha", "beta", "tol", "max_iter")),
            "shift": 1.0,
            "degree": 2,
            "momentum": 0.5,
            "relax": 1.1,
            "inner": 100,
            "bounded": True,
            **ITERATION,
        },
        original={
            "init": "normal",
            "start": "zero",
            "norm": None,
            "bandwidth": "all",
            "inner": 20,
            "bounded": False,
            "tol": 1e-5,
        },
        grid=(
            {"factor": 1.0},
            {"factor": 3.0},
            {"kernel": "poly"},
            {"variant": "offline"},
            {"variant": "offline", "kernel": "poly"},
        ),
        run=run,
    ),
)
