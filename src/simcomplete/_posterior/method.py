"""`posterior`: expected similarities given what was observed, the method to reach for first."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.iterate import Limits
from simcomplete._method.params import Flag, Number, Parameters, Words, parameter
from simcomplete._method.problem import AllRows, CandidatesQueries, Problem, Similarities
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method
from simcomplete._posterior.all_rows.em import ITERATIONS
from simcomplete._posterior.all_rows.select import RowsCompletion, complete_rows
from simcomplete._posterior.all_rows.split import (
    CompleteRowsModel,
    candidates_among,
)
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.centred import (
    CentredModel,
    centred_rows,
    centred_table,
    without_constant,
    without_constant_part,
)
from simcomplete._posterior.cost import FAST_ROWS, posterior_memory, work
from simcomplete._posterior.extend import FittedRows, PosteriorExtension
from simcomplete._posterior.shared.rows import Effort, Objective, diagonal_deficit, typical_length
from simcomplete._posterior.similarities.wiener import complete_similarities
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.status import Status
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.progress import expect
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.measure import Measure
from simcomplete._types import Mask, Matrix
from simcomplete.errors import InputError

MOST_COPIES = 0.99  # the largest share of copies that can be told
NO_CENTRED_COPIES = (
    "copies=True cannot go with metric='pearson': a copy has the same values, and the mean that correlations take off "
    "depends on which of them are missing; use metric='cosine', or copies=False"
)
EXPECTED_FITS = 8  # to choose a setting, to calibrate it, and of all rows: seldom fewer or more, for progress alone
MEMBER_FITS = 7  # of the stack, with and without what is hidden


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete by the form that fits what was given: candidates and queries, rows alone, or similarities alone."""
    if isinstance(problem, Similarities):
        return from_similarities(problem, settings, params)
    if isinstance(problem, CandidatesQueries):
        return from_candidates(problem, settings, params)
    assert isinstance(problem, AllRows)  # there are three problems
    return from_rows(problem, settings, params)


def from_candidates(problem: CandidatesQueries, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete queries by the candidates' model, calibrated on the queries' own masks.

    The candidates' rows of the factor are an array where there are few, else made when they are asked for.
    """
    P, Q = problem.candidates, np.asarray(to_numpy(problem.queries.array), dtype=np.float64, order="C")
    own: dict[str, Any] = {"effort": params["effort"], "objective": params["objective"], "progress": settings.progress}
    own |= {name: params[name] for name in ("copies", "prior")}
    centred = problem.measure.metric == "pearson"
    if centred:
        if params["copies"]:
            raise InputError(NO_CENTRED_COPIES)
        P, Q = centred_table(P), np.asarray(centred_rows(Q))
    model, found = CandidateModel.fit_transform(P, Q, rng=settings.rng, centred=centred, **own)
    found = without_constant_part(found) if centred else found
    below = found.u
    factor = np.concatenate([model.unit, below]) if model.in_memory else UnitRows(P, P.like(below, P.dtype))
    deficit = np.concatenate([model.candidates.diagonal_deficit, diagonal_deficit(below)])
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=factor, diagonal=deficit, unit=True),
        choice=model.choice.as_dict(),
        interval_model=IntervalModel(found.uncertainty, model.choice.quantiles, model.errors, found.match)
        if model.trained
        else None,
        model=FittedRows(model, 1.0, (problem.candidates, problem.queries), params["effort"]),
        status=Status(
            "computed", f"expected similarities, calibrated on {'your own' if model.trained else 'no'} candidates"
        ),
    )


def from_rows(problem: AllRows, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete rows of which every one may be incomplete: by the complete ones, or by a factor model of them all."""
    whole = candidates_among(problem.table)
    if whole is not None:
        return from_whole_rows(problem, settings, params, whole)
    centred = problem.measure.metric == "pearson"
    X = np.asarray(centred_rows(problem.table)) if centred else problem.table
    scale = typical_length(np.nan_to_num(X))
    own: dict[str, Any] = {"mechanism": params["mechanism"], "progress": settings.progress}
    found = fit_all_rows(X / scale, settings.rng, params["effort"], **own)
    U = without_constant(found.U) if centred else found.U
    deficit = diagonal_deficit(U)
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=U, diagonal=deficit, unit=True),
        choice=found.choice.as_dict(),
        history=found.history,
        interval_model=None if found.quantiles is None else IntervalModel(found.spread(deficit), found.quantiles),
        status=found.status,
        model=FittedRows(found, scale, (problem.rows,), params["effort"]),
    )


def from_whole_rows(problem: AllRows, settings: Settings, params: dict[str, Any], whole: Mask) -> Completion:
    """Complete rows with the complete ones among them as candidates; they stay where they are."""
    P, Q = HeldRows(problem.table[whole]), HeldRows(problem.table[~whole])
    done = from_candidates(CandidatesQueries(P, Q, problem.measure), settings, params)
    n_p, factor, uncertainty = done.n_candidates, np.empty(problem.table.shape), np.zeros(problem.n)
    assert done.interval_model is not None and done.matrix.factor is not None  # there are enough to learn from
    factor[whole] = to_numpy(done.matrix.factor[:n_p, :])
    factor[~whole] = to_numpy(done.matrix.factor[n_p:, :])
    uncertainty[~whole] = done.interval_model.spread
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=factor, diagonal=diagonal_deficit(factor), unit=True),
        choice=done.choice,
        interval_model=IntervalModel(uncertainty, done.interval_model.quantiles, done.interval_model.ranked),
        status=Status("computed", f"expected similarities, calibrated on the {n_p} complete rows"),
        model=FittedRows(CompleteRowsModel(done.model.model, factor), 1.0, (problem.rows,), params["effort"]),
    )


def fit_rows(
    X: Matrix,
    rng: np.random.Generator,
    effort: Effort,
    objective: Objective,
    masks: Mask | None = None,
    mechanism: str = "auto",
    *,
    centred: bool = False,
) -> RowsCompletion | CompleteRowsModel:
    """Fit a model of rows of which some are incomplete, calibrated for `masks` or for their own."""
    whole = candidates_among(X)
    if whole is None:
        return fit_all_rows(X, rng, effort, masks=masks, mechanism=mechanism)
    masks = ~np.isnan(X[~whole]) if masks is None else masks
    own: dict[str, Any] = {"effort": effort, "objective": objective, "growing": True, "centred": centred}
    model = CandidateModel.fit(HeldRows(X[whole]), masks, rng=rng, **own)
    return CompleteRowsModel(model, model.vectors(X).u)


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
    with expect(3 if effort == "fast" else EXPECTED_FITS):
        return complete_rows(X, rng, masks=masks, limits=limits, **(FAST_ROWS if effort == "fast" else {}))


def fit_all_rows(
    X: Matrix,
    rng: np.random.Generator,
    effort: str,
    *,
    masks: Mask | None = None,
    mechanism: str = "auto",
    progress: bool | None = False,
) -> RowsCompletion:
    """Fit the factor model of incomplete rows and, unless it should be fast, a stack of others beside it."""
    if effort == "fast":
        return fit_factors(X, rng, effort, masks=masks, progress=progress)
    from simcomplete._posterior.all_rows.mixture import mix_rows  # needed here only

    limits = Limits(ITERATIONS, progress=progress, label="posterior")
    with expect(EXPECTED_FITS + MEMBER_FITS):
        single = complete_rows(X, rng, masks=masks, limits=limits)
        return mix_rows(X, single, rng, masks=masks, limits=limits, tilt=mechanism == "auto")


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
    uncertainty = np.sqrt(np.maximum(1 - found.lengths**2, 1e-4))
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=found.factor, diagonal=found.diagonal),
        choice=found.as_dict(),
        interval_model=IntervalModel(uncertainty, found.choice.quantiles),
        status=Status("computed", "expected similarities by a local Wiener filter, calibrated on the exact block"),
    )


def posterior_extension(done: Completion, rows: RowTable, measure: Measure) -> PosteriorExtension:
    """What adds rows to a completion: the model that made it."""
    fitted = done.model
    model = CentredModel(fitted.model) if measure.metric == "pearson" else fitted.model
    return PosteriorExtension(model, rows, fitted.scale, measure)


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
                "objective", "error", Words("error", "recall"), meaning="small squared error, or the ten nearest found"
            ),
            parameter(
                "mechanism",
                "auto",
                Words("auto", "random"),
                meaning="every row incomplete: values may be missing because of what they are, or at random",
            ),
            parameter("copies", False, Flag(), meaning="whether queries may be candidates themselves, with noise"),
            parameter(
                "prior", None, Number(0.0, MOST_COPIES, above=True), meaning="share of queries that are; None: few"
            ),
        ),
        shared=frozenset({"metric"}),
        extend=posterior_extension,
        work=work,
        memory=posterior_memory,
        run=run,
    ),
)
