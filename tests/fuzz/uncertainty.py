"""What a completion says about errors, copies and missing values: looks besides the similarities themselves."""

from __future__ import annotations

import numpy as np

import simcomplete as sc
from simcomplete import Completion
from simcomplete.errors import InputError, SimcompleteError

from .case import VIEWS, Case
from .checks import beyond_squares, refused, require, tolerance


def chances(case: Case, done: Completion) -> None:
    """Quantiles, probabilities, deviations and draws: in their ranges and in their order, or refused."""
    if done.interval_model is None:
        for call in (lambda: done.quantile(0.5), lambda: done.probability(0.5), done.std, lambda: done.sample(1)):
            refused(call)
        return
    low, middle, high = (np.asarray(done.quantile(p)) for p in (0.05, 0.5, 0.95))
    within("quantiles", np.stack([low, middle, high]), -1.0, 1.0)
    require((low <= middle).all() and (middle <= high).all(), "quantiles are ordered", (low, middle, high))
    for above in (-0.5, 0.0, 0.9, 1.0):
        within("probabilities", done.probability(above), 0.0, 1.0)
    blind = np.empty(0) if done.unobserved is None else done.unobserved
    seen = ~np.isin(np.arange(done.n - done.n_queries, done.n), blind)
    known = ~np.isin(np.arange(done.n_candidates), blind)
    sure = np.asarray(done.probability(-2.0))[seen][:, known]
    require((sure == 1).all() and not np.asarray(done.probability(2.0))[seen][:, known].any(), "what must be is sure")
    within("deviations", done.std(), 0.0, 1.0)
    drawn = done.sample(3, random_state=1)
    within("draws", drawn, -1.0, 1.0)
    require(drawn.shape == (3, done.n_queries, done.n_candidates), "shape of draws", drawn.shape)
    require(np.array_equal(drawn, done.sample(3, random_state=1)), "the same seed, the same draws")
    found_with_probability(done)


def found_with_probability(done: Completion) -> None:
    """A search with probabilities, and probabilities of the first places."""
    if not done.n_queries or done.n_candidates - done.all_rows_are_queries < 1:
        return
    found = done.search(k=2, above=0.5, progress=False)
    there = found.ids >= 0
    require(found.probability.shape == found.ids.shape, "a probability for every neighbour", found.probability)
    within("probabilities of neighbours", found.probability[there], 0.0, 1.0)
    found.to_frame()
    try:
        top = done.top_probability(1)
    except InputError:
        return
    within("probabilities of the first place", top, 0.0, 1.0)


def balanced(case: Case, done: Completion) -> None:
    """The balanced order: candidates, each once, with their similarities as scores."""
    if done.factor is None or not done.n_queries or done.n_candidates - done.all_rows_are_queries < 1:
        return
    found = done.search(k=3, order="balanced", progress=False)
    S = np.asarray(done.similarity("queries", "candidates"), dtype=np.float64)
    there = found.ids >= 0
    require((np.isnan(found.scores) == ~there).all(), "no score without a neighbour, balanced", found.scores)
    off = np.abs(found.scores - np.take_along_axis(S, found.ids, axis=1))[there].max(initial=0.0)
    require(off <= tolerance(done) * max(1.0, np.abs(S).max()), "scores are the similarities, balanced", off)
    for ids, real in zip(found.ids, there, strict=True):
        require(len(set(ids[real].tolist())) == real.sum(), "each neighbour once, balanced", ids)


def matched(case: Case, done: Completion) -> None:
    """Copies among the candidates: probabilities of three kinds, which leave room for none; or refused."""
    model = done.interval_model
    if model is None or model.match is None:
        refused(lambda: done.match)
        return
    match = done.match
    require(match.ids.shape == (done.n_queries,), "a source for every query", match.ids.shape)
    require((match.ids < done.n_candidates).all(), "sources are candidates", match.ids)
    within("probabilities of copies", match.probabilities, 0.0, 1.0)
    within("probabilities of any copy", match.copy, 0.0, 1.0 + 1e-9)
    require(set(match.kinds) <= {"fresh", "exact", "near", "rough"}, "kinds of copies", match.kinds)


def imputed(case: Case, done: Completion) -> None:
    """Missing values: observed ones to the bit, others finite where the feature has any value at all."""
    if not hasattr(done.model, "imputed"):
        refused(done.imputed)
        return
    given = all_rows(case)
    values, std = done.imputed(return_std=True)
    require(values.shape == std.shape == given.shape, "a value for every cell", values.shape)
    observed, hopeless = ~np.isnan(given), np.isnan(given).all(axis=0)
    require(np.array_equal(values[observed], given.astype(values.dtype)[observed]), "observed values stay", values)
    require((std[observed] == 0).all(), "observed values are sure", std)
    require(np.isfinite(values[:, ~hopeless]).all(), "imputed values are finite", values)
    require((std[:, ~hopeless] >= 0).all() and np.isfinite(std[:, ~hopeless]).all(), "their deviations, too", std)
    some = done.imputed([0])
    require(np.allclose(some, values[:1], rtol=1e-6, equal_nan=True), "some rows are a part of all", (some, values[:1]))


def restricted(case: Case, done: Completion) -> None:
    """Similarities over some features: those over what is observed are the overlap similarities."""
    if not hasattr(done.model, "restricted") or done.params.get("metric", "cosine") != "cosine":
        refused(done.restricted)
        return
    S = np.asarray(done.restricted())
    within("restricted similarities", S, -1.0, 1.0)
    plain = done.scaling is None and "biases" not in case.settings
    if plain and not any(beyond_squares(row, case.dtype) for row in all_rows(case)):
        expected = np.asarray(sc.overlap_similarity(all_rows(case)))
        apart = ~np.eye(len(S), dtype=bool)
        off = np.abs(S - expected)[apart].max(initial=0.0)
        require(off <= 1e-4, "restricted to what is observed", f"off by {off}")
    features = np.arange(done.model.d) % 2 == 0
    within("restricted similarities", done.restricted(features, rows=[0]), -1.0, 1.0)
    if done.interval_model is not None:
        S, low, high = done.restricted(features, level=0.9)
        within("restricted intervals", np.stack([low, high]), -1.0, 1.0)
        require((low <= S + 1e-12).all() and (high + 1e-12 >= S).all(), "restricted intervals are ordered", (low, high))


def queried(case: Case, done: Completion) -> None:
    """Queries that come later, for the same candidates."""
    if set(VIEWS) & set(case.settings):  # which may have changed nothing
        return
    if case.form == "matrix" or not hasattr(done.model, "query"):
        refused(lambda: done.query(np.ones((1, max(1, np.asarray(case.rows).shape[1])))))
        return
    later = np.asarray(case.given()[0 if case.queries is None else 1])[:3]
    try:
        more = done.query(later)
    except SimcompleteError as error:
        require("biases" in case.settings, "queries may come later", error)
        return
    S = np.asarray(more.similarity())
    require(np.isfinite(S).all() and (S == S.T).all(), "similarities of later queries are finite and symmetric", S)
    require(more.n_candidates == done.n_candidates and more.n_queries == len(later), "later queries are counted")
    if more.interval_model is not None:
        low, high = more.interval(0.9)
        require((low <= high).all() and np.isfinite(low).all(), "intervals of later queries are ordered", (low, high))


def all_rows(case: Case) -> np.ndarray:
    """Candidates and queries of a case in one table."""
    return np.concatenate([np.asarray(part, dtype=np.float64) for part in case.given() if part is not None])


def within(what: str, values: object, low: float, high: float) -> None:
    """Numbers that are finite and between two ends."""
    array = np.asarray(values)
    require(np.isfinite(array).all(), f"{what} are finite", array)
    if array.size:
        require(array.min() >= low and array.max() <= high, f"{what} are from {low:g} to {high:g}", array)
