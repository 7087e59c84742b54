"""`kfmc`: samples near a curved surface. A few atoms span it in a kernel's feature space; missing values follow it.

Wiring only: the objective is in `kernels`, the algorithms are in `kfmc_online` and `kfmc_offline`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from simcomplete._baselines.given import given_array
from simcomplete._baselines.imputation.filled import complete_filled, fill_missing
from simcomplete._baselines.imputation.kernels import BANDWIDTH_ROWS, Kernel, Polynomial, Rbf, bandwidth
from simcomplete._baselines.imputation.kfmc_offline import offline
from simcomplete._baselines.imputation.kfmc_online import KfmcSettings, extend, online
from simcomplete._baselines.imputation.mean import feature_means, power_of_two
from simcomplete._baselines.iteration import limits
from simcomplete._method.iterate import Limits, Run
from simcomplete._method.params import (
    ITERATION,
    Arrays,
    Flag,
    Nothing,
    Number,
    Parameters,
    Whole,
    Words,
    max_iter,
    parameter,
    tol,
)
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import FILLED_MEASURE, Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._types import Matrix
from simcomplete.errors import InputError

# What None stands for, by variant and kernel: the original values, save a tol that offline can reach.
USUAL: dict[tuple[str, str], dict[str, Any]] = {
    ("online", "rbf"): {"factor": 3.0, "alpha": 0.0, "beta": 1e-3, "max_iter": 2, "tol": 1e-5},
    ("online", "poly"): {"alpha": 0.01, "beta": 1e-3, "max_iter": 2, "tol": 1e-5},
    ("offline", "rbf"): {"factor": 1.0, "alpha": 0.0, "beta": 1e-3, "max_iter": 500, "tol": 3e-4},
    ("offline", "poly"): {"alpha": 1.0, "beta": 1.0, "max_iter": 500, "tol": 3e-4},
}
# Of the largest value: powers of queries that are far larger than candidates would leave the range of numbers.
SMALLEST_UNIT = 2.0**-100


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Choose unit, first guess and atoms; learn; fill; compare."""
    usual = USUAL["offline" if params["variant"] == "offline" else "online", params["kernel"]]
    p = {**params, **{name: value for name, value in usual.items() if params[name] is None}}
    table, n_p = problem.table, problem.n_candidates
    mask = ~np.isnan(table)
    unit = max(_unit(table[:n_p], p), power_of_two(table) * SMALLEST_UNIT)
    X = np.where(mask, table, _start(p["start"], table, n_p)) / unit
    D = _atoms(p["atoms"], p["init"], X[:n_p], unit, settings.rng)
    learning = _settings(p, X if p["bandwidth"] == "all" else X[:n_p], X[mask])
    with threadpool_limits(1, user_api="blas"):  # many small products: threads that wait for each other cost 15 times
        result, filled = _learn(p["variant"], problem, X, D, learning, limits(settings, p, "kfmc"))
    facts = {"status": result.status, "history": result.history}
    used = {**as_recorded(p), "atoms": len(D)}
    return complete_filled(
        problem, "kfmc", used, fill_missing(table, fill_missing(table / unit, filled) * unit), **facts
    )


def _learn(
    variant: str, problem: Problem, X: Matrix, D: Matrix, settings: KfmcSettings, bounds: Limits
) -> tuple[Run[Any], Matrix]:
    """Run the variant; return how it went and the samples it filled."""
    mask = ~np.isnan(problem.table)
    if variant != "extend":
        result: Run[Any] = (online if variant == "online" else offline)(X, mask, D, settings, bounds)
        return result, result.state.X
    if problem.all_rows_are_queries:
        raise InputError("variant='extend' learns from complete candidates alone; give candidates and queries")
    n_p = problem.n_candidates
    result = online(X[:n_p], mask[:n_p], D, settings, bounds)
    # Where the atoms are fixed, the program divides the polynomial's gradient by its curvature alone.
    still = settings if isinstance(settings.kernel, Rbf) else replace(settings, relax=1.0)
    return result, np.concatenate([X[:n_p], extend(X[n_p:], mask[n_p:], result.state.D, still)[0]])


def _unit(P: Matrix, p: dict[str, Any]) -> float:
    """What to divide by, so that rows have that norm in the mean: kernels and steps then know what is near."""
    size = power_of_two(P)
    if p["norm"] is None:
        # The largest number made of data is a squared norm, to the kernel's degree, times the data again.
        if np.log2(size) * (2 * (p["degree"] if p["kernel"] == "poly" else 1) + 2) > 1000:
            raise InputError(f"kernels of values near {size:.0e} overflow; leave norm at its default, 3")
        return 1.0
    norm = float(p["norm"])
    mean_square = float(np.nansum((P / size) ** 2)) / max(int((~np.isnan(P)).sum()), 1)
    return size * float(np.sqrt(P.shape[1] * mean_square)) / norm if mean_square > 0 else 1.0


def _start(given: Any, table: Matrix, n_p: int) -> Matrix:
    """First guesses, for missing values."""
    if isinstance(given, str):
        means = feature_means(table[:n_p]) if given == "mean" else np.zeros(table.shape[1])
        return np.broadcast_to(means, table.shape)
    return given_array(given, "start", table.shape)


def _atoms(given: Any, init: str, X: Matrix, unit: float, rng: np.random.Generator) -> Matrix:
    """The first atoms: some of the rows, standard normal numbers, or given."""
    n, d = X.shape
    if isinstance(given, (int, np.integer)):
        if init == "normal":
            return rng.standard_normal((int(given), d))
        return np.asarray(X[rng.choice(n, min(int(given), n), replace=False)])
    return given_array(given, "atoms", ("m", d)) / unit


def _settings(p: dict[str, Any], X: Matrix, observed: Matrix) -> KfmcSettings:
    """Numbers as they are, and the kernel's width by the distances of some rows."""
    if p["kernel"] == "rbf":
        kernel: Kernel = Rbf(bandwidth(X, float(p["factor"])))
    else:
        kernel = Polynomial(float(p["shift"]), p["degree"])
    return KfmcSettings(
        kernel,
        alpha=float(p["alpha"]),
        beta=float(p["beta"]),
        momentum=float(p["momentum"]),
        relax=float(p["relax"]),
        inner=p["inner"],
        tol=float(p["tol"]),
        bounds=(observed.min(), observed.max()) if p["bounded"] and len(observed) else (-np.inf, np.inf),
    )


def _work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """A row sees all atoms in every inner step."""
    atoms = params["atoms"] if isinstance(params["atoms"], int) else 100
    passes = params["max_iter"] or (500 if params["variant"] == "offline" else 2)
    inner = 1 if params["variant"] == "offline" else params["inner"]
    return 6.0 * passes * inner * sizes.n * atoms * sizes.d


def _memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """Distances of the rows that set the width, or the copies of the table and the codes while it iterates."""
    atoms = params["atoms"] if isinstance(params["atoms"], int) else len(params["atoms"])
    rows = s.n if params["bandwidth"] == "all" or s.form == "rows" else s.n_candidates
    few = rows / -(-rows // BANDWIDTH_ROWS) if params["kernel"] == "rbf" and rows else 0
    more = 9.0 if params["variant"] == "offline" else 5.6
    return max(3.0 * few**2 + 3 * s.n * s.d, more * s.n * s.d + 5 * s.n * atoms)


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {
    "init": "normal",
    "start": "zero",
    "norm": None,
    "bandwidth": "all",
    "inner": 20,
    "bounded": False,
    "tol": 1e-5,
}

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
        reference="Fan, Udell, CVPR 2019 (KFMC)",
        parameters=Parameters(
            parameter(
                "variant",
                "online",
                Words("online", "offline", "extend"),
                meaning="one row after the other, all at once, or atoms from the candidates only",
            ),
            parameter("kernel", "rbf", Words("rbf", "poly"), meaning="kernel of the feature space"),
            parameter(
                "atoms",
                100,
                Whole(1),
                Arrays("an array of shape (m, d)"),
                meaning="number of atoms, or the first atoms",
            ),
            parameter("init", "candidates", Words("candidates", "normal"), meaning="where the first atoms come from"),
            parameter(
                "start", "mean", Words("mean", "zero"), Arrays("an array of shape (n, d)"), meaning="the first values"
            ),
            parameter(
                "norm",
                3.0,
                Number(above=True),
                Nothing(),
                meaning="mean length to scale rows to; None: as they are",
            ),
            parameter(
                "bandwidth",
                "candidates",
                Words("candidates", "all"),
                meaning="rows that determine the width of the kernel",
            ),
            parameter("factor", None, Number(above=True), meaning="width of the kernel; None: by variant"),
            parameter("alpha", None, Number(), meaning="weight of the atoms' size; None: by variant and kernel"),
            parameter("beta", None, Number(above=True), meaning="weight of the codes; None: by variant and kernel"),
            tol(None, "stop where a step changes less; None: by variant"),
            max_iter(None, "passes over the rows, or iterations; None: by variant"),
            parameter("shift", 1.0, Number(), meaning="constant of the polynomial kernel"),
            parameter("degree", 2, Whole(1), meaning="degree of the polynomial kernel"),
            parameter("momentum", 0.5, Number(0.0, 1.0), meaning="momentum of the atoms"),
            parameter("relax", 1.1, Number(above=True), meaning="relaxation of the steps"),
            parameter("inner", 100, Whole(1), meaning="most steps for one row"),
            parameter("bounded", True, Flag(), meaning="keep values within the observed range"),
            *ITERATION,
        ),
        original=ORIGINAL,
        grid=(
            {"factor": 1.0},
            {"factor": 3.0},
            {"kernel": "poly"},
            {"variant": "offline"},
            {"variant": "offline", "kernel": "poly"},
            ORIGINAL,
        ),
        shared=FILLED_MEASURE,
        work=_work,
        memory=_memory,
        run=run,
    ),
)
