"""`posterior`: expected similarities given what was observed, the method to reach for first."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete._method.memory import block
from simcomplete._method.params import Flag, Parameters, Words, parameter
from simcomplete._method.problem import AllRows, CandidatesQueries, Problem, Similarities
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes
from simcomplete._posterior.all_rows.hidden_values import MAX_SCORED
from simcomplete._posterior.all_rows.on_device import working_on_device_of
from simcomplete._posterior.all_rows.packing import BLOCK
from simcomplete._posterior.all_rows.scored_pairs import HoldoutCallback
from simcomplete._posterior.all_rows.select import CHOSEN_ON, RANKS, RowsCompletion
from simcomplete._posterior.all_rows.split import (
    MIN_COMPLETE_ROWS,
    MIN_COMPLETE_SHARE,
    CompleteRowsModel,
    enough_complete,
)
from simcomplete._posterior.candidates.copies import MAX_EXAMPLES
from simcomplete._posterior.candidates.fitting import OTHERS, SIMULATED, STREAM_ABOVE_SEARCHED, STREAM_ABOVE_VALUES
from simcomplete._posterior.candidates.model import BATCH, PASS_QUERIES, CandidateModel, Learnt
from simcomplete._posterior.candidates.moments import RANK, WIDE
from simcomplete._posterior.candidates.source import MAX_DRAWN_ROWS
from simcomplete._posterior.centred import (
    centred_rows,
    centred_table,
    without_constant,
    without_constant_part,
)
from simcomplete._posterior.extend import FittedRows, posterior_extension
from simcomplete._posterior.incomplete_rows import FAST_ROWS, fit_all_rows
from simcomplete._posterior.shared.copy_classes import KINDS, PRIORS, check_prior, looks_for_copies
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS
from simcomplete._posterior.shared.rows import diagonal_deficit, in_units_of, typical_length
from simcomplete._posterior.similarities.given import from_similarities
from simcomplete._result.completion import Completion
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._result.pair_spread import PairSpread
from simcomplete._result.status import Status
from simcomplete._rows.budget import available_bytes
from simcomplete._rows.derived import ChangedRows, UnitRows
from simcomplete._rows.source import read_by_block
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import to_numpy
from simcomplete._types import Mask, Matrix


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Complete by the form that fits what was given: candidates and queries, only rows, or only similarities."""
    if isinstance(problem, Similarities):
        return from_similarities(problem, settings, params)
    if isinstance(problem, CandidatesQueries):
        return from_candidates(problem, settings, params)
    assert isinstance(problem, AllRows)  # there are three problems
    return from_rows(problem, settings, params)


def from_candidates(
    problem: CandidatesQueries, settings: Settings, params: dict[str, Any], learnt: Learnt | None = None
) -> Completion:
    """Complete queries by the candidates' model, calibrated on the queries' own masks.

    The candidates' rows of the factor are an array where there are few, else made when they are asked for.
    """
    P, Q = problem.candidates, np.asarray(to_numpy(problem.queries.array), dtype=np.float64, order="C")
    own: dict[str, Any] = {"effort": params["effort"], "objective": params["objective"], "progress": settings.progress}
    centred = problem.measure.metric == "pearson"
    own |= {"copies": looks_for_copies(params["copies"], centred), "prior": check_prior(params["prior"])}
    if centred:
        P, Q = centred_table(P), np.asarray(centred_rows(Q))
    model, found = CandidateModel.fit_transform(P, Q, rng=settings.rng, centred=centred, learnt=learnt, **own)
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


def from_rows(
    problem: AllRows, settings: Settings, params: dict[str, Any], watch: HoldoutCallback | None = None
) -> Completion:
    """Complete rows of which every one may be incomplete: by the complete ones, or by a model of all (`mix_rows`)."""
    whole = enough_complete(problem.rows.known_counts(), problem.rows.d)
    if whole is not None:
        return from_whole_rows(replace(problem, rows=problem.rows.in_memory()), settings, params, whole)
    centred = problem.measure.metric == "pearson"
    given, scale = _in_units(problem, centred)
    own: dict[str, Any] = {"mechanism": params["mechanism"], "progress": settings.progress, "watch": watch}
    with working_on_device_of(problem.rows.held):
        found = fit_all_rows(given, settings.rng, params["effort"], **own)
    U: Any = found.U
    if isinstance(U, RowTable):
        U = ChangedRows(U, without_constant) if centred else U
        U = U if settings.out is not None or 3 * U.nbytes > available_bytes() else U.whole()
    elif centred:
        U = without_constant(U)
    deficit = diagonal_deficit(U)
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=U, diagonal=deficit, unit=True),
        choice=found.choice.as_dict(),
        history=found.history,
        interval_model=None
        if found.quantiles is None
        else IntervalModel(found.spread(deficit), found.quantiles, pairs=pair_spread(found, U)),
        status=found.status,
        model=FittedRows(found, scale, (problem.rows,), params["effort"]),
    )


def _in_units(problem: AllRows, centred: bool) -> tuple[Any, float]:
    """Rows in units of a typical length, and that length: an array, or rows that are read by block."""
    if read_by_block(problem.rows):
        from simcomplete._posterior.all_rows.by_block import table_in_units  # needed here only

        return table_in_units(problem.rows, centred)
    table = np.ascontiguousarray(problem.table)  # sums in the same order, however a table lies in memory
    X = np.asarray(centred_rows(table)) if centred else table
    scale = typical_length(np.nan_to_num(X))
    return in_units_of(scale, X), scale


def pair_spread(found: RowsCompletion, U: Matrix) -> PairSpread | None:
    """How uncertain the similarities of pairs of vectors are, where a model knows."""
    pairs: PairSpread | None = getattr(found, "pairs", None)
    return None if pairs is None else replace(pairs, vectors=U)


def from_whole_rows(
    problem: AllRows, settings: Settings, params: dict[str, Any], whole: Mask, learnt: Learnt | None = None
) -> Completion:
    """Complete rows with the complete ones among them as candidates; they stay where they are."""
    P, Q = HeldRows(problem.table[whole]), HeldRows(problem.table[~whole])
    done = from_candidates(CandidatesQueries(P, Q, problem.measure), settings, params, learnt)
    n_p, factor, uncertainty = done.n_candidates, np.empty(problem.table.shape), np.zeros(problem.n)
    assert done.interval_model is not None and done.matrix.factor is not None  # there are enough to learn from
    factor[whole] = to_numpy(done.matrix.factor[:n_p, :])
    factor[~whole] = to_numpy(done.matrix.factor[n_p:, :])
    uncertainty[~whole] = done.interval_model.spread
    match = done.interval_model.match
    return problem.result(
        "posterior",
        params,
        SymmetricMatrix(factor=factor, diagonal=diagonal_deficit(factor), unit=True),
        choice=done.choice,
        interval_model=IntervalModel(
            uncertainty,
            done.interval_model.quantiles,
            done.interval_model.ranked,
            None if match is None else match.among(whole),
        ),
        status=Status("computed", f"expected similarities, calibrated on the {n_p} complete rows"),
        model=FittedRows(CompleteRowsModel(done.model.model, factor), 1.0, (problem.rows,), params["effort"]),
    )


def work(sizes: Sizes, params: Mapping[str, Any]) -> float:
    """A Gram matrix in each space, and a Cholesky factor for every simulated mask; wide rows have a low-rank one."""
    each = sizes.d**3 if sizes.d <= WIDE else sizes.d * 96**2
    return {"fast": 0.3, "full": 1.0, "best": 5.0}[params["effort"]] * (8.0 * sizes.n * sizes.d**2 + 60.0 * each)


def posterior_memory(s: Sizes, params: Mapping[str, Any]) -> float:
    """By what was given: see the parts."""
    if (
        s.form == "similarities"
    ):  # a copy, and eigenvectors of the candidates' block, of what they leave, and their work
        return s.n**2 + 8.0 * s.n_candidates**2
    if s.form == "candidates":
        return memory_of_candidates(s, params["effort"]) + (0 if params["copies"] is False else memory_of_copies(s))
    seen = s.n_candidates + (1 - s.missing) * s.n_queries
    if s.n_candidates >= max(MIN_COMPLETE_ROWS, MIN_COMPLETE_SHARE * seen):
        return memory_of_candidates(s, params["effort"]) + 3.0 * s.n * s.d
    # Second moments of every row's factors, a block at a time, and of every feature's loadings.
    rank = max(FAST_ROWS["ranks"] if params["effort"] == "fast" else RANKS)
    moments = (min(rank, s.n, s.d) + 1) ** 2
    if s.by_block:
        return memory_by_block(s, moments)
    own = 11.0 * s.n * s.d + min(7.0 * s.n * moments, 2 * BLOCK / 8) + 5.0 * s.d * moments
    if params["effort"] == "fast":
        return own
    # Two models over features, of 3000 rows at most, and what members expect of the rows that are scored.
    some = min(s.n, CHOSEN_ON)
    return own + 6.0 * s.n * s.d + 3.0 * (some + s.d) * moments + 20.0 * min(some, MAX_SCORED) * s.d


def memory_by_block(s: Sizes, moments: float) -> float:
    """A model of rows that are read by block: a sketch for its start, keys to sort by, blocks, and the rows learnt on.

    What is made of the rows that are read is as in memory.
    """
    some = min(s.n, CHOSEN_ON)
    learnt = 20.0 * some * s.d + 3.0 * (some + s.d) * moments + 20.0 * min(some, MAX_SCORED) * s.d
    passes = 5.0 * s.d * moments + 4 * BLOCK / 8 + 4 * block(10.0 * s.n * s.d)
    return 60.0 * 3 * s.n + 4 * block(float(s.n * s.d)) + learnt + passes + (0 if s.written else s.n * s.d)


def memory_of_candidates(s: Sizes, effort: str) -> float:
    """Cosines of queries, real and simulated, with candidates; second moments; a factorisation for every mask."""
    d, spaces, wide = s.d, 1 if effort == "fast" else 2, s.d > WIDE
    streamed = s.n_candidates * d > (STREAM_ABOVE_SEARCHED if effort == "best" else STREAM_ABOVE_VALUES)
    n = min(s.n, MAX_DRAWN_ROWS) if streamed else s.n
    simulated = min(SIMULATED, s.n_candidates // 4)
    asked = min(s.n_queries, PASS_QUERIES) + simulated
    cosines = 5.0 * n * asked
    if streamed:
        cosines = 1.8 * n * asked + 4 * s.n + 0.6 * block(s.n_candidates * (5 * d + 4 * asked))
    learnt = 85 * simulated * d + 29 * simulated * min(OTHERS, n - simulated) if effort == "best" else 0
    table = (9 if wide else 2 * spaces) * n * d + (0 if wide else 7 * spaces + 2) * d**2
    return table + spaces * min(s.n_queries, BATCH) * numbers_per_mask(s) + max(cosines, learnt)


def memory_of_copies(s: Sizes) -> float:
    """Rows of the neighbours as they are, beside unit ones, and once more in units of the features' deviations."""
    simulated = min(SIMULATED, s.n_candidates // 4)
    near = min(s.n_candidates, max(min(s.n_queries, BATCH), simulated) * MAX_NEIGHBOURS)
    return 2.0 * near * s.d + (2 * len(KINDS) + 2) * min(simulated, MAX_EXAMPLES) * s.d


def numbers_per_mask(s: Sizes) -> float:
    """What the factorisation for one mask takes."""
    d, shown = s.d, (1 - s.missing) * s.d
    if d > WIDE:
        return (shown + RANK) * RANK
    # Up to half of the features a Cholesky factor of what is shown; beyond, the precision of what is hidden as well.
    beyond = min(max((0.55 - s.missing) / 0.1, 0.0), 1.0)
    return (1 - beyond) * shown**2 + beyond * (d**2 - shown * (d - shown))


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
            parameter(
                "effort",
                "full",
                Words("full", "fast", "best"),
                meaning="amount of calibration: 'fast' learns lengths only, 'best' combines several models",
            ),
            parameter(
                "objective",
                "error",
                Words("error", "recall"),
                meaning="smallest squared error, or most of the ten nearest found",
            ),
            parameter(
                "mechanism",
                "auto",
                Words("auto", "random"),
                meaning="if every row is incomplete: values may be missing because of their size, or at random",
            ),
            parameter(
                "copies",
                None,
                Flag(),
                meaning="whether queries may be candidates themselves, with noise; None: unless metric='pearson'",
            ),
            parameter("prior", None, *PRIORS, meaning="share of queries that are, in all or of each kind; None: few"),
        ),
        shared=frozenset({"metric"}),
        by_block=True,
        extend=posterior_extension,
        work=work,
        memory=posterior_memory,
        run=run,
    ),
)
