"""`posterior`: expected similarities given what was observed, the method to reach for first."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.iterate import Limits
from simcomplete._method.params import Parameters, Words, parameter
from simcomplete._method.problem import CandidatesQueries, Problem, Settings, Similarities
from simcomplete._method.spec import Method
from simcomplete._posterior.all_rows.em import ITERATIONS
from simcomplete._posterior.all_rows.select import RowsCompletion, complete_rows
from simcomplete._posterior.all_rows.split import Whole, candidates_among
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.model import Effort, Objective, check_settings, diagonal_deficit, typical_length
from simcomplete._posterior.shared.rows import Mask, Matrix
from simcomplete._posterior.similarities.wiener import complete_similarities
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError

# Every row incomplete, effort="fast": rows as they are, one rank.
FAST_ROWS: dict[str, Any] = {"ranks": (20,), "spaces": ("raw",)}


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete by the form that fits what was given: candidates and queries, rows alone, or similarities alone."""
    if isinstance(problem, Similarities):
        return from_similarities(problem, settings, params)
    if problem.measure.metric != "cosine" or problem.measure.positive:
        raise InputError("posterior estimates cosines in [-1, 1]; leave out metric and positive")
    if isinstance(problem, CandidatesQueries):
        return from_candidates(problem, settings, params)
    return from_rows(problem, settings, params)


def from_candidates(problem: CandidatesQueries, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete queries by the candidates' model, calibrated on the queries' own masks.

    The candidates' rows of the factor are an array where there are few, else made when they are asked for.
    """
    P, Q = problem.candidates, np.asarray(to_numpy(problem.queries.array), dtype=np.float64)
    own: dict[str, Any] = {"effort": params["effort"], "objective": params["objective"], "progress": settings.progress}
    model, vectors = CandidateModel.fit_transform(P, Q, rng=settings.rng, **own)
    U = vectors.u
    factor = np.concatenate([model.unit, U]) if model.in_memory else UnitRows(P, P.like(U, P.dtype))
    deficit = np.concatenate([model.candidates.diagonal_deficit, diagonal_deficit(U)])
    learnt = "your own" if model.trained else "no"
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=factor, diagonal=deficit, unit=True),
        choice=model.choice.as_dict(),
        interval_model=IntervalModel(vectors.uncertainty, model.choice.quantiles) if model.trained else None,
        status=Status("computed", f"expected similarities, calibrated on {learnt} candidates"),
    )


def from_rows(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete rows of which every one may be incomplete: by the complete ones, or by a factor model of them all."""
    check_settings(params["effort"], params["objective"])
    whole = candidates_among(problem.table)
    if whole is not None:
        return from_whole_rows(problem, settings, params, whole)
    table = problem.table / typical_length(np.nan_to_num(problem.table))
    found = fit_factors(table, settings.rng, params["effort"], progress=settings.progress)
    deficit = diagonal_deficit(found.U)
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=found.U, diagonal=deficit, unit=True),
        choice=found.choice.as_dict(),
        history=found.history,
        interval_model=None if found.quantiles is None else IntervalModel(np.sqrt(deficit), found.quantiles),
        status=found.status,
    )


def from_whole_rows(problem: Problem, settings: Settings, params: dict[str, Any], whole: Mask) -> Completion:
    """Complete rows with the complete ones among them as candidates; they stay where they are."""
    P, Q = HeldRows(problem.table[whole]), HeldRows(problem.table[~whole])
    done = from_candidates(CandidatesQueries(P, Q, problem.measure), settings, params)
    n_p, factor, spread = done.n_candidates, np.empty(problem.table.shape), np.zeros(problem.n)
    # There are enough candidates to learn from.
    assert done.interval_model is not None and done.matrix.factor is not None
    factor[whole] = to_numpy(done.matrix.factor[:n_p, :])
    factor[~whole] = to_numpy(done.matrix.factor[n_p:, :])
    spread[~whole] = done.interval_model.spread
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=factor, diagonal=diagonal_deficit(factor), unit=True),
        choice=done.choice,
        interval_model=IntervalModel(spread, done.interval_model.quantiles),
        status=Status("computed", f"expected similarities, calibrated on the {n_p} complete rows"),
    )


def fit_rows(
    X: Matrix, rng: np.random.Generator, effort: Effort, objective: Objective, masks: Mask | None = None
) -> RowsCompletion | Whole:
    """Fit a model of rows of which some are incomplete, calibrated for `masks` or for their own."""
    whole = candidates_among(X)
    if whole is None:
        return fit_factors(X, rng, effort, masks=masks)
    masks = ~np.isnan(X[~whole]) if masks is None else masks
    model = CandidateModel.fit(HeldRows(X[whole]), masks, rng=rng, effort=effort, objective=objective, growing=True)
    return Whole(model, model.vectors(X).u)


def fit_factors(
    X: Matrix,
    rng: np.random.Generator,
    effort: str,
    *,
    masks: Mask | None = None,
    progress: bool | None = False,
) -> RowsCompletion:
    """Fit the factor model of incomplete rows with as much effort as asked for."""
    limits = Limits(ITERATIONS, progress=progress, label="posterior")
    return complete_rows(X, rng, masks=masks, limits=limits, **(FAST_ROWS if effort == "fast" else {}))


def from_similarities(problem: Similarities, settings: Settings, params: dict[str, Any]) -> Completion:
    """Filter the similarities of queries, given an exact block of candidates."""
    n_p = problem.n_candidates
    if problem.n_exact is None or n_p == problem.n:
        raise InputError("posterior needs to know which rows are exact; give candidates= to complete_similarity()")
    S = problem.similarities
    seen = None if problem.overlap is None else np.diag(problem.overlap)
    found = complete_similarities(
        S[:n_p, :n_p],
        S[:n_p, n_p:],
        None if seen is None else seen[n_p:],
        None if seen is None else int(seen.max()),
        rng=settings.rng,
        effort="fast" if params["effort"] == "fast" else "full",
        query_diagonal=np.diag(S)[n_p:],
        exact=True,
    )
    spread = np.sqrt(np.maximum(1 - found.lengths**2, 1e-4))
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=found.factor, diagonal=found.diagonal),
        choice=found.as_dict(),
        interval_model=IntervalModel(spread, found.choice.quantiles),
        status=Status("computed", "expected similarities by a local Wiener filter, calibrated on the exact block"),
    )


METHODS = (
    Method(
        name="posterior",
        family="posterior",
        acts_on="both",
        regularizer="Gaussian prior around neighbours",
        solver="conditional expectation",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=True,
        reference="this project: local-prior Gaussian with learnt lengths",
        uses=frozenset({"overlap"}),
        parameters=Parameters(
            parameter("effort", "full", Words("full", "fast", "best"), meaning="how much is tried when calibrating"),
            parameter(
                "objective", "error", Words("error", "recall"), meaning="small squared error, or the ten nearest"
            ),
        ),
        shared=frozenset(),
        work=lambda sizes, params: 8.0 * sizes.n * sizes.d**2 + 2e3 * sizes.d**3,
        run=run,
    ),
)
