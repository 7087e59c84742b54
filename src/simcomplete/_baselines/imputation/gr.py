"""`gr`: GROUSE. A subspace is learnt from the stream of all rows; missing values come from it."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from simcomplete._baselines.given import given_array
from simcomplete._baselines.imputation.filled import complete_filled, fill_missing
from simcomplete._baselines.imputation.grouse import RowStream, grouse, orthonormal, principal
from simcomplete._baselines.imputation.mean import power_of_two
from simcomplete._baselines.iteration import limits
from simcomplete._method.params import ITERATION, Arrays, Flag, Number, Parameters, Words, max_iter, parameter
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings, as_recorded
from simcomplete._method.spec import FILLED_MEASURE, Method
from simcomplete._result.completion import Completion
from simcomplete._types import Matrix, Positions
from simcomplete.errors import InputError


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Stream candidates and queries, fill from the subspace, compare."""
    table, n_p, d = problem.table, problem.n_candidates, problem.table.shape[1]
    unit = power_of_two(table)
    rows = RowStream(table / unit)
    U = start(params["start"], rows.X[:n_p], _rank(settings, rows, params["support"]), settings.rng)
    # Rows of another size would need another step, so by default it counts in their mean square: no unit in it.
    step = float(params["step"])
    power = d * float(np.sum(rows.X[:n_p] ** 2)) / max(int(rows.mask[:n_p].sum()), 1)
    step = step / (power if power > 0 else 1.0) if params["relative"] else step * unit * unit
    bounds = limits(settings, params, "gr")
    result = grouse(rows, U, _orders(params["orders"], bounds.max_iter, problem.n, settings.rng), step, bounds)
    U = result.state.U
    estimate = fill_missing(table / unit, rows.all_weights(U) @ U.T) * unit
    facts = {"status": result.status, "history": result.history}
    return complete_filled(
        problem, "gr", {"rank": U.shape[1], **as_recorded(params)}, fill_missing(table, estimate), **facts
    )


def start(given: Any, Z: Matrix, rank: int, rng: np.random.Generator) -> Matrix:
    """The first basis: random, the principal directions of some rows (not centred, as the model is not), or given."""
    d = Z.shape[1]
    if isinstance(given, str):
        if given == "pca":
            return principal(Z, rank)
        return orthonormal(rng.standard_normal((d, rank)))
    U = given_array(given, "start", (d, "rank"))
    if U.shape[1] > d:
        raise InputError(f"start has {U.shape[1]} directions in {d} dimensions; give at most {d}")
    return orthonormal(U)


def _rank(settings: Settings, rows: RowStream, support: float) -> int:
    """The rank asked for, else 10 but so few that a usual query has `support` values for each of its weights."""
    counts = rows.mask.sum(axis=1)[~rows.whole]
    most = 10 if support == 0 or not len(counts) else max(1, min(10, int(np.median(counts) // support)))
    return int(min(settings.rank_or(most), *rows.X.shape))


def _orders(given: Any, cycles: int, n: int, rng: np.random.Generator) -> Iterable[Positions]:
    """One permutation of the rows per cycle, drawn as they are needed or given."""
    if given is None:
        return (rng.permutation(n) for _ in range(cycles))
    orders = given_array(given, "orders", (cycles, n))
    if not (np.sort(orders) == np.arange(n)).all():
        raise InputError(f"orders has a row that is not a permutation of 0 to {n - 1}; give one for each cycle")
    return orders.astype(np.int64)


# The authors' parameters, which tuning tries, too.
ORIGINAL: dict[str, Any] = {"step": 0.1, "relative": False, "start": "random", "support": 0, "max_iter": 50}

METHODS = (
    Method(
        name="gr",
        family="imputation",
        acts_on="samples",
        regularizer="rank",
        solver="stochastic gradient on the Grassmannian",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=True,
        reference="Balzano, Nowak, Recht, Allerton 2010 (GROUSE)",
        parameters=Parameters(
            parameter("step", 0.1, Number(), meaning="size of a step"),
            parameter("relative", True, Flag(), meaning="measure steps relative to the mean square of a row"),
            parameter(
                "start", "pca", Words("pca", "random"), Arrays("an array of shape (d, rank)"), meaning="the first basis"
            ),
            parameter(
                "support",
                3,
                Number(),
                meaning="observed values per weight in a typical query, which bounds the rank; 0: no bound",
            ),
            max_iter(10, "cycles over all rows"),
            parameter(
                "orders", None, Arrays("permutations of shape (max_iter, n)"), meaning="the order of every cycle"
            ),
            *ITERATION,
        ),
        original=ORIGINAL,
        grid=(*({"rank": rank, "step": step} for step in (0.1, 10.0) for rank in (2, 5, 10, 20)), ORIGINAL),
        shared=FILLED_MEASURE | {"rank"},
        work=lambda sizes, params: 80.0 * params["max_iter"] * sizes.n * sizes.d,
        memory=lambda s, params: 5.6 * s.n * s.d,
        run=run,
    ),
)
