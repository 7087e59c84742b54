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

from . import checks, forms, models, uncertainty
from .case import VIEWS, Case
from .checks import require
from .correlations import repaired
from .forms import complete, same_answer
from .tools import TOOLS

__all__ = ["LOOKS", "TOOLS", "complete", "run"]


def run(case: Case) -> str:
    """Make the calls of a case; return why the method refused the problem, in the words of its error, or nothing."""
    if case.form == "repair":
        return repaired(case)
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


def again(case: Case, done: Completion) -> None:
    """The same seed gives the same bits."""
    other = complete(case, *case.given())
    require(
        np.array_equal(np.asarray(done.similarity()), np.asarray(other.similarity())), "the same seed, the same bits"
    )


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
        same_answer("with out=", case, done, other)
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
    "balanced": uncertainty.balanced,
    "blocks": lambda case, done: checks.blocks(done),
    "chances": uncertainty.chances,
    "dask": forms.from_dask,
    "estimator": estimated,
    "frame": forms.from_frame,
    "growing": models.growing,
    "imputed": uncertainty.imputed,
    "index": indexed,
    "interval": checks.interval,
    "labels": forms.labelled,
    "later queries": uncertainty.queried,
    "little memory": forms.little_memory,
    "match": uncertainty.matched,
    "metrics": measured,
    "out": written,
    "path": forms.from_path,
    "posterior estimator": estimated_posterior,
    "restricted": uncertainty.restricted,
    "save": saved,
    "saved model": models.saved_model,
    "sparse": forms.from_sparse,
    "tune": tuned,
    "views": seen_otherwise,
}
