"""The calls that a case makes: the completion itself, and what can be looked at besides."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete import Completion, metrics
from simcomplete.errors import InputError, SimcompleteError
from simcomplete.estimators import PosteriorCompleter, SimilarityCompleter
from simcomplete.scorers import hidden_value_scorer

from . import checks
from .case import Case
from .checks import require
from .tools import TOOLS

__all__ = ["LOOKS", "TOOLS", "complete", "run"]

VIEWS = ("unit_diagonal", "keep_candidates", "clip")
CLOSE = 1e-8  # two routes to the same answer


def run(case: Case) -> str:
    """Make the calls of a case; return why the method refused the problem, in the words of its error, or nothing."""
    if case.form == "tools":
        for look in case.looks:
            TOOLS[look](case)
        return ""
    before = [None if part is None else np.array(part) for part in case.given()]
    rows, queries = case.given()
    try:
        done = complete(case, rows, queries)
    except SimcompleteError as error:
        return str(error) or "without a word"
    for part, was in zip((rows, queries), before, strict=True):
        require(part is None or np.array_equal(part, was, equal_nan=True), "what was given is not changed")
    checks.answer(case, done)
    checks.words(done)
    checks.search(case, done)
    for look in case.looks:
        LOOKS[look](case, done)
    return ""


def complete(case: Case, rows: Any, queries: Any = None, **more: Any) -> Completion:
    """Complete rows as the case says."""
    settings = {"progress": False, "method": case.method, **case.settings, **more}
    if case.form == "matrix":
        return sc.complete_similarity(rows, **settings)
    return sc.complete(rows, queries, **settings)


def same_answer(promise: str, done: Completion, other: Completion, tol: float = CLOSE) -> None:
    """Two completions have the same similarities, up to rounding."""
    a, b = (np.asarray(one.similarity(), dtype=np.float64) for one in (done, other))
    single = done.matrix.array.dtype == np.float32
    tol = max(tol, 1e-4) if single else tol
    require(other.method == done.method, f"{promise}: the same method", (done.method, other.method))
    require(a.shape == b.shape, f"{promise}: the same shape", (a.shape, b.shape))
    off = np.abs(a - b).max() / max(1.0, np.abs(a).max())
    require(off <= tol, promise, f"off by {off:.3g}")


def again(case: Case, done: Completion) -> None:
    """The same seed gives the same bits."""
    other = complete(case, *case.given())
    require(
        np.array_equal(np.asarray(done.similarity()), np.asarray(other.similarity())), "the same seed, the same bits"
    )


def from_path(case: Case, done: Completion) -> None:
    """Candidates in a file, given by its path and as a memory map, give the answer of those in memory."""
    if case.form != "queries":
        return
    rows, queries = case.given()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npy")
        np.save(path, np.asarray(rows))
        same_answer("from a path", done, complete(case, path, queries))
        mapped = np.load(path, mmap_mode="r")
        same_answer("from a memory map", done, complete(case, mapped, queries))


def from_dask(case: Case, done: Completion) -> None:
    """Candidates in a dask array of several chunks give the answer of those in memory."""
    if case.form != "queries":
        return
    import dask
    import dask.array as da

    rows, queries = case.given()
    lazy = da.from_array(np.asarray(rows), chunks=(max(1, len(rows) // 3), -1))
    with dask.config.set(scheduler="synchronous"):
        same_answer("from dask", done, complete(case, lazy, queries))


def from_frame(case: Case, done: Completion) -> None:
    """Frames give the answer of arrays, and their labels name rows."""
    import pandas as pd

    if case.form == "matrix":
        return
    rows, queries = (None if part is None else pd.DataFrame(np.asarray(part)) for part in case.given())
    rows.index = [f"p{i}" for i in range(len(rows))]
    if queries is not None:
        queries.index = [f"q{i}" for i in range(len(queries))]
    framed = complete(case, rows, queries)
    same_answer("from a frame", done, framed)
    require(framed.labels is not None, "a frame's labels are kept")
    last = framed.labels[-1]
    block = np.asarray(framed.similarity(last, [last, "p0"]))
    require(block.shape == (1, 2), "rows by label", block.shape)


def little_memory(case: Case, done: Completion) -> None:
    """Blocks of a few rows give the answer of one block."""
    if case.form != "matrix":
        same_answer("with blocks of a few rows", done, complete(case, *case.given(), memory=2**10))


def written(case: Case, done: Completion) -> None:
    """A factor in a file is the factor in memory."""
    if case.form == "matrix" or set(VIEWS) & set(case.settings) or case.method == "auto":
        return
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "factor.npy")
        try:
            other = complete(case, *case.given(), out=path)
        except InputError:
            require(done.factor is None, "a factor can be written to a file")
            require(not path.exists(), "what is refused leaves no file")
            return
        same_answer("with out=", done, other)
        checks.answer(case, other)
        checks.words(other)
        checks.search(case, other)


def saved(case: Case, done: Completion) -> None:
    """A saved result is the result, to the bit."""
    with tempfile.TemporaryDirectory() as folder:
        done.save(Path(folder, "done"))
        other = sc.load(Path(folder, "done"))
        a, b = np.asarray(done.similarity()), np.asarray(other.similarity())
        require(np.array_equal(a, b), "what was saved is loaded, to the bit", np.abs(a - b).max())
        require(other.params == done.params and other.status == done.status, "what was saved is loaded: the words")
        require(other.validity.failures() == done.validity.failures(), "what was saved is as valid", other.validity)
        checks.words(other)
        checks.search(case, other)
        _refuses_only_itself(lambda: other.view(keep_candidates=True).similarity())


def seen_otherwise(case: Case, done: Completion) -> None:
    """Every view can be taken, or is refused, and keeps its promise."""
    for view in VIEWS:
        try:
            other = done.view(**{view: True})
        except InputError:
            continue
        settings = {key: value for key, value in case.settings.items() if key not in VIEWS}
        had = {name: True for name in VIEWS if done.params.get(name)}
        changed = replace(case, settings={**settings, **had, view: True})
        checks.answer(changed, other)
        checks.words(other)
        checks.search(changed, other)


def indexed(case: Case, done: Completion) -> None:
    """A search through FAISS finds what the plain search finds."""
    if done.factor is None or done.matrix.bounds is not None:
        return
    try:
        plain = done.search(k=3, progress=False)
    except InputError:
        return
    found = done.search(k=3, index="faiss", progress=False)
    single = done.matrix.array.dtype == np.float32
    there = plain.ids >= 0
    require(((found.ids >= 0) == there).all(), "the index leaves out the same", (found.ids, plain.ids))
    scale = max(1.0, np.abs(plain.scores)[there].max(initial=0.0))
    off = np.abs(found.scores - plain.scores)[there].max(initial=0.0)
    require(off <= (1e-5 if single else 1e-9) * scale, "the index finds the best", off)


def estimated(case: Case, done: Completion) -> None:
    """The estimators: fitted, transformed, and as `complete` answers."""
    if case.form != "rows" or case.dtype == "list":
        return
    rows = np.asarray(case.given()[0])
    shared = ("rank", "penalty", "metric", "min_overlap", "epsilon", "positive", "random_state")
    settings = {key: value for key, value in case.settings.items() if key not in VIEWS}
    named = {key: settings.pop(key) for key in shared if key in settings}
    model = SimilarityCompleter(method=case.method, params=settings, progress=False, **named)
    try:
        S = model.fit(rows).similarity()
    except SimcompleteError:
        return
    except ValueError as error:  # scikit-learn's own checks: one sample is too few
        require("minimum of" in str(error), "an estimator refuses only what scikit-learn refuses", error)
        return
    require(np.isfinite(S).all() and (S == S.T).all(), "an estimator's similarities are finite and symmetric", S)
    if hasattr(model, "transform"):
        F = model.transform(rows)
        require(np.isfinite(F).all(), "rows of new samples are finite", F)
        scored(model, rows)


def scored(model: SimilarityCompleter, rows: np.ndarray) -> None:
    """Scores without ground truth: numbers, or refused."""
    for score, pairs in (("error", "fitted"), ("recall", "new")):
        scorer = hidden_value_scorer(0.5, score=score, pairs=pairs)
        try:
            value = scorer(model, rows)
        except SimcompleteError:
            continue
        require(value <= 1 and not np.isnan(value), "a score is a number of at most 1", value)


def estimated_posterior(case: Case, done: Completion) -> None:
    """The estimator of candidates: queries that come later."""
    if case.form != "queries" or case.dtype == "list":
        return
    rows, queries = map(np.asarray, case.given())
    try:
        model = PosteriorCompleter().fit(rows)
        F = model.transform(queries)
    except SimcompleteError:
        return
    except ValueError as error:
        require("minimum of" in str(error), "an estimator refuses only what scikit-learn refuses", error)
        return
    require(np.isfinite(F).all(), "rows of queries are finite", F)


def measured(case: Case, done: Completion) -> None:
    """Metrics of an answer against itself and against S0: in their ranges."""
    S = np.asarray(done.similarity())
    zero = np.zeros_like(S)
    error = metrics.relative_squared_error(S, zero, S)
    require(error == 0.0, "no error against itself", error)
    for relevance in ("binary", "graded"):
        gain = metrics.ndcg_at(zero, S, k=2, relevance=relevance)
        require(0 <= gain <= 1 + 1e-12, "gain is from 0 to 1", gain)
    require(metrics.recall_at(S, S, k=0.5) == 1, "everything is found in itself")
    require(0 <= metrics.rank(S) <= len(S), "the rank is between 0 and n")


def tuned(case: Case, done: Completion) -> None:
    """`tune=True` gives a finite answer, or is refused."""
    if case.form != "queries" or case.method == "auto" or not sc.methods()[case.method].grid:
        return
    if len(case.rows) > 12 or case.method in ("kfmc", "cmc", "bpmf"):
        return
    try:
        other = complete(case, *case.given(), tune=True)
    except SimcompleteError:
        return
    require(np.isfinite(np.asarray(other.similarity())).all(), "a tuned answer is finite")


def _refuses_only_itself(call: Callable[[], Any]) -> None:
    try:
        call()
    except SimcompleteError:
        return


LOOKS: dict[str, Callable[[Case, Completion], None]] = {
    "again": again,
    "blocks": lambda case, done: checks.blocks(done),
    "dask": from_dask,
    "estimator": estimated,
    "frame": from_frame,
    "index": indexed,
    "interval": checks.interval,
    "little memory": little_memory,
    "metrics": measured,
    "out": written,
    "path": from_path,
    "posterior estimator": estimated_posterior,
    "save": saved,
    "tune": tuned,
    "views": seen_otherwise,
}
