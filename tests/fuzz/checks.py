"""What must hold of every answer."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete import Completion
from simcomplete.errors import InputError

from .case import Case


class ViolatedError(AssertionError):
    """Something that was promised does not hold; the first argument says what, in the same words every time."""


def require(holds: Any, promise: str, detail: object = "") -> None:
    """Raise where a promise does not hold."""
    if not bool(holds):
        raise ViolatedError(promise, str(detail))


def answer(case: Case, done: Completion) -> None:
    """The similarities themselves: shape, type, finite, symmetric, and what the method's row and the views promise."""
    S = np.asarray(done.similarity())
    given = [np.asarray(part) for part in case.given() if part is not None]
    n = sum(map(len, given))
    require(S.shape == (n, n), "one row and column per sample", S.shape)
    require(np.isfinite(S).all(), "finite", S)
    require((S == S.T).all(), "symmetric", S)
    single = case.form != "list" and all(part.dtype == np.float32 for part in given)
    require(S.dtype == (np.float32 if single else np.float64), "the type stays", S.dtype)
    validity = done.validity
    require(validity.symmetric.ok, "validity says symmetric", validity)
    promised(case, done, S)
    views(case, done, S)


def promised(case: Case, done: Completion, S: np.ndarray) -> None:
    """What the method's row says: positive semi-definite, exact candidates, bounded rank."""
    method = sc.methods()[done.method]
    # The row speaks of the method's own variant, and of the result before it is seen otherwise.
    other = "variant" in case.settings and case.settings["variant"] != method.parameters["variant"].default
    seen_otherwise = other or set(case.settings) & {"keep_candidates", "clip"}
    if method.psd and not seen_otherwise and done.params.get("psd", True):
        require(done.validity.psd.ok, "validity says positive semi-definite", done.validity)
        tol = 1e-5 if S.dtype == np.float32 else 1e-9
        smallest = np.linalg.eigvalsh(S.astype(np.float64))[0]
        require(smallest >= -tol * len(S) * max(1.0, np.abs(S).max()), "positive semi-definite", smallest)
    exact = method.keeps_candidates and case.form == "queries" and not few_digits(case)
    if exact and not set(case.settings) & {"unit_diagonal", "clip"}:
        require(done.validity.candidates_exact.ok, "validity says candidates are exact", done.validity)
    rank = case.settings.get("rank")
    if method.low_rank and rank is not None and done.method == case.method and not seen_otherwise:
        require(done.rank <= rank, "the rank is at most what was asked for", f"{done.rank} > {rank}")


def few_digits(case: Case) -> bool:
    """Whether means are to be taken off single-precision values so small that they have few digits."""
    size = np.abs(case.rows[case.rows != 0])
    small = case.dtype == "float32" and size.size and size.min() < np.finfo(np.float32).tiny
    return bool(small) and case.settings.get("metric") == "pearson"


def views(case: Case, done: Completion, S: np.ndarray) -> None:
    """What the views that were asked for promise."""
    asked = {name for name in ("unit_diagonal", "keep_candidates", "clip") if case.settings.get(name)}
    tol = 1e-4 if S.dtype == np.float32 else 1e-8
    if "clip" in asked:
        require(np.abs(S).max() <= 1, "clipped entries are in [-1, 1]", S)
        require(done.validity.bounded.ok, "validity says clipped entries are bounded", done.validity)
    if asked == {"unit_diagonal"}:
        require(np.abs(np.diag(S) - 1).max() <= tol, "the diagonal is 1", np.diag(S))
        require(done.validity.unit_diagonal.ok, "validity says that the diagonal is 1", done.validity)
    if asked == {"keep_candidates"} and done.exact is not None:
        require(done.validity.candidates_exact.ok, "validity says that candidates were kept", done.validity)


def words(done: Completion) -> None:
    """What is shown of a result: it can be shown, and JSON can hold it."""
    require(repr(done).startswith("Completion("), "repr")
    require(done._repr_html_().startswith("<table>"), "the table for notebooks")
    json.dumps(done.summary(), allow_nan=False)
    str(done.validity)
    json.dumps(done.validity.as_dict(), allow_nan=False)
    require(0 <= done.rank <= done.n, "the rank is between 0 and n", done.rank)


def search(case: Case, done: Completion) -> None:
    """Neighbours: in range, best first, the true ones, and no row its own."""
    S = np.asarray(done.similarity(), dtype=np.float64)
    n_p, tol = done.n_candidates, 1e-5 if done.matrix.array.dtype == np.float32 else 1e-9
    scale = max(1.0, np.abs(S).max())
    for rows in ("queries", "candidates"):
        others = n_p - (rows == "candidates" or done.all_rows_are_queries)
        if others < 1:
            refused(lambda rows=rows: done.search(k=1, rows=rows))
            continue
        first = 0 if rows == "candidates" or done.all_rows_are_queries else n_p
        which = np.arange(first, done.n if rows == "queries" else n_p)
        found = done.search(k=3, rows=rows, progress=False)
        k = min(3, others)
        require(found.ids.shape == found.scores.shape == (len(which), k), "k neighbours of every row", found.ids.shape)
        if not len(which):
            continue
        among, blind = S[which][:, :n_p].copy(), np.empty(0) if done.unobserved is None else done.unobserved
        among[:, np.isin(np.arange(n_p), blind)] = among[np.isin(which, blind)] = -np.inf
        if first < n_p:
            among[np.arange(len(which)), which] = -np.inf
            require((found.ids != which[:, None]).all(), "no row is its own neighbour", found.ids)
        best = -np.sort(-among, axis=1)[:, :k]
        there = np.isfinite(best)
        require(((found.ids < n_p) & ((found.ids >= 0) == there)).all(), "ids are candidates, or -1", found.ids)
        require((np.isnan(found.scores) == ~there).all(), "no score without a neighbour", found.scores)
        require((np.diff(found.scores, axis=1)[there[:, 1:]] <= 0).all(), "best first", found.scores)
        off = np.abs(found.scores - np.take_along_axis(among, found.ids, axis=1))[there].max(initial=0.0)
        require(off <= tol * scale, "scores are the similarities", off)
        off = np.abs(found.scores - best)[there].max(initial=0.0)
        require(off <= tol * scale, "the best are found", (found.scores, best))


def blocks(done: Completion) -> None:
    """Blocks of similarities are parts of the whole."""
    S = np.asarray(done.similarity(), dtype=np.float64)
    tol = (1e-5 if done.matrix.array.dtype == np.float32 else 1e-9) * max(1.0, np.abs(S).max())
    every, n_p = np.arange(done.n), done.n_candidates
    queries = every if done.all_rows_are_queries else every[n_p:]
    for rows, cols, which, among in (
        ("queries", "candidates", queries, every[:n_p]),
        (slice(None, None, -1), None, every[::-1], every),
        ([-1, 0], every % 2 == 0, every[[-1, 0]], every[::2]),
        ([], None, every[:0], every),
    ):
        block = np.asarray(done.similarity(rows, cols))
        require(block.shape == (len(which), len(among)), "shape of a block", block.shape)
        off = np.abs(block - S[np.ix_(which, among)]).max(initial=0.0)
        require(off <= tol, "a block is a part of the whole", off)


def interval(case: Case, done: Completion) -> None:
    """Error bars: ordered, around the similarity, within [-1, 1], wider for a higher level."""
    if done.interval_model is None:
        refused(done.interval)
        return
    require(((done.confidence >= 0) & (done.confidence <= 1)).all(), "confidence is from 0 to 1", done.confidence)
    S = np.asarray(done.similarity("queries", "candidates"))
    low, high = done.interval(0.9)
    require(np.isfinite(low).all() and np.isfinite(high).all(), "intervals are finite", (low, high))
    require((low <= high).all(), "intervals are ordered", (low, high))
    require(low.min(initial=0) >= -1 and high.max(initial=0) <= 1, "intervals are within [-1, 1]", (low, high))
    inside = np.clip(S, -1, 1)
    tol = 1e-5 if S.dtype == np.float32 else 1e-12
    # Correlations over two features are -1 or 1, and errors tell which; estimates are between.
    if not (case.settings.get("metric") == "pearson" and case.rows.shape[1] <= 2):
        holds = (low <= inside + tol) & (high >= inside - tol)
        # Quantiles of the truth, learnt from errors: where these are all of one sign, as of rows that are all the same,
        # the estimate is at none of them.
        least, most = done.interval(0.999)
        holds |= (least > inside + tol) | (most < inside - tol)
        require(holds.all(), "intervals hold the similarity", (low, high))
    wide = done.interval(0.99)
    require((wide[0] <= low).all() and (wide[1] >= high).all(), "a higher level is wider", (low, high))
    own = done.interval(0.9, "candidates", "candidates")
    if not done.all_rows_are_queries:
        require((own[0] == own[1]).all(), "intervals of candidates have no width", own)


def beyond_squares(row: np.ndarray, dtype: str) -> bool:
    """Whether a value is so small beside the largest of its row that it may count as 0: 1e-100, in float32 1e-18."""
    sizes = np.abs(row[~np.isnan(row) & (row != 0)])
    return bool(sizes.size) and sizes.min() / sizes.max() < (1e-17 if dtype == "float32" else 1e-99)


def tolerance(done: Completion) -> float:
    """How far numbers may be apart that are computed in two ways from a factor of its type."""
    return 1e-5 if done.matrix.array.dtype == np.float32 else 1e-9


def refused(call: Any) -> None:
    """What cannot be answered is an InputError."""
    try:
        call()
    except InputError:
        return
    require(False, "what cannot be answered is refused")
