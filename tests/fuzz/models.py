"""Estimators of scikit-learn's kind: fitted, changed, saved and loaded; and tables without a completion."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete import Completion
from simcomplete.errors import InputError, SimcompleteError
from simcomplete.estimators import PosteriorCompleter, PosteriorImputer, PosteriorKernel, SimilarityCompleter

from .case import VIEWS, Case
from .checks import require
from .uncertainty import within

SHARED = ("rank", "penalty", "metric", "min_overlap", "epsilon", "positive", "random_state")
NOT_OF_ESTIMATORS = (*VIEWS, "biases")


def fitted(model: Any, rows: Any, **named: Any) -> bool:
    """Fit, or be refused: by us, or by scikit-learn's own checks where samples are too few."""
    try:
        model.fit(rows, **named)
    except SimcompleteError:
        return False
    except ValueError as error:
        require("minimum of" in str(error), "an estimator refuses only what scikit-learn refuses", error)
        return False
    return True


def reloaded(model: Any) -> Any:
    """The same model after it was saved and read."""
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder, "model"))
        return sc.load(Path(folder, "model"))


def saved_model(case: Case, done: Completion) -> None:
    """Any method as an estimator, saved and loaded: the same rows of new samples, to the bit."""
    if case.form != "rows" or case.dtype == "list":
        return
    rows = np.asarray(case.given()[0])
    own = {key: value for key, value in case.settings.items() if key not in NOT_OF_ESTIMATORS}
    named = {key: own.pop(key) for key in (*SHARED, "center", "scale") if key in own}
    model = SimilarityCompleter(method=case.method, params=own, progress=False, **named)
    if not fitted(model, rows):
        return
    same = reloaded(model)
    require(np.array_equal(model.similarity(), same.similarity()), "a loaded model has the same similarities")
    if hasattr(model, "transform"):
        require(np.array_equal(model.transform(rows), same.transform(rows)), "a loaded model transforms to the bit")


def growing(case: Case, done: Completion) -> None:
    """Candidates that come and go by id, with error bars and copies; saved and loaded meanwhile."""
    if case.form != "queries" or case.dtype == "list":
        return
    rows, queries = map(np.asarray, case.given())
    model = PosteriorCompleter(effort="fast", copies=len(rows) % 2 == 0)
    if not fitted(model, rows, ids=[f"id {i}" for i in range(len(rows))]):
        return
    answered(model, queries)
    u = model.transform(queries)
    same = reloaded(model)
    require(np.array_equal(u, same.transform(queries)), "a loaded model transforms to the bit")
    same.partial_fit(rows[:1], ids=["another"])
    answered(same, queries)
    same.forget(ids=["another"])
    answered(same, queries)
    off = np.abs(same.transform(queries) - u).max(initial=0.0)
    require(off <= (1e-4 if u.dtype == np.float32 else 1e-6), "what came and went leaves nothing", off)
    try:
        same.recalibrate(queries)
    except InputError:
        return
    answered(same, queries)


def answered(model: PosteriorCompleter, queries: np.ndarray) -> None:
    """What a fitted model says of queries."""
    within("rows of queries", model.transform(queries), -np.inf, np.inf)
    within("similarities of queries", model.similarity(queries), -1.0, 1.0)
    found = model.search(queries, k=3)
    blind = np.isnan(queries).all(axis=1)
    require((np.isnan(found.scores) == blind[:, None]).all(), "scores of those of which something is known", found)
    try:
        low, high = model.interval(queries)
    except InputError:
        return
    within("intervals of queries", np.stack([low, high]), -1.0, 1.0)
    require((low <= high).all(), "intervals of queries are ordered", (low, high))
    within("probabilities of queries", model.probability(queries, 0.5), 0.0, 1.0)
    model.search(queries, k=2, above=0.5).to_frame()
    if model.copies:
        within("probabilities of copies", model.match(queries).copy, 0.0, 1.0 + 1e-9)


def filled(case: Case) -> None:
    """The imputer: no gap is left, observed values stay, draws and what was saved agree with it."""
    rows = case.given()[0]
    X = np.asarray(rows, dtype=np.float64)
    model = PosteriorImputer(effort="fast", add_indicator=len(X) % 2 == 0, keep_empty_features=len(X) % 3 == 0)
    if not fitted(model, rows):
        return
    values, std = model.impute(rows, return_std=True)
    require(np.isfinite(values).all() and np.isfinite(std).all() and (std >= 0).all(), "no gap is left", (values, std))
    there = ~np.isnan(X).all(axis=0) | model.keep_empty_features
    kept, observed = X[:, there].astype(values.dtype), ~np.isnan(X[:, there])
    require(values.shape == kept.shape, "features with a value are kept", values.shape)
    require(np.array_equal(values[observed], kept[observed]), "observed values stay", values)
    require((std[observed] == 0).all(), "observed values are sure", std)
    drawn = model.sample(rows, 2)
    require(np.isfinite(drawn).all() and drawn.shape == (2, *kept.shape), "draws have no gap", drawn)
    require(np.array_equal(drawn[:, observed], np.stack([kept[observed]] * 2)), "observed values stay in draws", drawn)
    out = model.transform(rows)
    require(out.shape[1] == len(model.get_feature_names_out()), "a name for every column", out.shape)
    require(np.array_equal(out, reloaded(model).transform(rows)), "a loaded imputer fills in to the bit")
    bounded = PosteriorImputer(effort="fast", min=-1.0, max=1.0, round=1).fit(rows).transform(rows)
    drawn_in = bounded[np.isnan(X[:, ~np.isnan(X).all(axis=0)])]
    require((np.abs(drawn_in) <= 1).all(), "values are within their bounds", drawn_in)


def kernel(case: Case) -> None:
    """The kernel of incomplete rows: symmetric, positive semi-definite."""
    rows = case.given()[0]
    model = PosteriorKernel(effort="fast", folds=2)
    if not fitted(model, rows):
        return
    K = model.fit_transform(rows)
    within("kernels", K, -1.0, 1.0)
    require(np.abs(K - K.T).max() <= 1e-6, "a kernel is symmetric", K)
    smallest = np.linalg.eigvalsh(K.astype(np.float64))[0]
    require(smallest >= -1e-5 * len(K), "a kernel is positive semi-definite", smallest)
    within("kernels of new rows", model.transform(rows), -1.0, 1.0)


def same_rows(case: Case) -> None:
    """Duplicates within one table: pairs in order, with probabilities."""
    rows = case.given()[0]
    labels = [f"row {i}" for i in range(len(case.rows))]
    try:
        found = sc.duplicates(rows, above=0.5, labels=labels, progress=False)
    except SimcompleteError:
        return
    repr(found)
    require((found.pairs[:, 0] < found.pairs[:, 1]).all(), "the lower row first", found.pairs)
    require(found.pairs.max(initial=0) < len(case.rows), "pairs are rows", found.pairs)
    within("probabilities of pairs", found.probability, 0.5, 1.0 + 1e-9)
    require((np.diff(found.probability) <= 1e-12).all(), "the likeliest first", found.probability)
    within("distances of pairs", found.distances, 0.0, np.inf)
    require(len(found.to_frame()) == len(found), "a line for every pair")
    require({row for group in found.groups for row in group} == set(found.pairs.ravel().tolist()), "groups of pairs")
