"""Correlation and covariance matrices: repaired, and estimated from samples with gaps."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete import Estimate, Repair
from simcomplete.errors import InputError, SimcompleteError
from simcomplete.estimators import NearestCorrelation

from .case import Case
from .checks import require

REPAIRS = ("nearest_correlation", "nearest_covariance", "shrink_to_valid", "factor_correlation")


def repaired(case: Case) -> str:
    """Repair a matrix by the function that the case names; return why it was refused, or nothing."""
    A = case.given()[0]
    before = np.array(A)
    try:
        repair = getattr(sc, case.method)(A, **_arguments(case))
    except SimcompleteError as error:
        return str(error) or "without a word"
    require(np.array_equal(A, before, equal_nan=True), "what was given is not changed")
    X = np.asarray(repair.matrix)
    n = len(case.rows)
    require(X.shape == (n, n) and np.isfinite(X).all() and (X == X.T).all(), "a repair is finite and symmetric", X)
    size = max(float(np.abs(X).max()), np.finfo(float).tiny)
    smallest = float(np.linalg.eigvalsh(X / size)[0])
    require(smallest >= -exactness(case) * n, "a repair is positive semi-definite", smallest)
    kept(case, repair, X, size)
    words(repair)
    return ""


def exactness(case: Case) -> float:
    """How exact a repair is: weights by element, unknown entries, bounds and entries held are met to 1e-8."""
    by_element = {"fixed", "lower", "weights", "block"} & set(case.settings) or np.isnan(case.rows).any()
    return 2e-8 if by_element else 1e-9


def kept(case: Case, repair: Repair, X: np.ndarray, size: float) -> None:
    """What was to stay: the diagonal, entries held, bounds, the rank, the floor."""
    told, n = case.settings, len(X)
    covariance = case.method == "nearest_covariance"
    if not covariance:
        require((np.diag(X) == 1).all(), "the diagonal of a repair is 1", np.diag(X))
        require(np.abs(X).max() <= 1 + 1e-9, "correlations are within [-1, 1]", X)
    elif told.get("keep") != "nothing":
        own = np.diag(np.asarray(case.given()[0]))
        require((np.diag(X) == own).all(), "variances stay", (np.diag(X), own))
    floor = told.get("min_eigenvalue", 0.0)
    if floor and (not covariance or told.get("through") != "correlation"):
        least = float(np.linalg.eigvalsh(X)[0])
        require(least >= floor - exactness(case) * n * size, "the smallest eigenvalue is as asked for", (least, floor))
    if "block" in told and repair.status.ok:
        k = told["block"]
        off = np.abs(X[:k, :k] - repair.given[:k, :k])[~np.eye(k, dtype=bool)].max(initial=0.0)
        require(off <= 1e-7 * size, "a block stays", off)
    if "rank" in told:
        w = np.linalg.eigvalsh(X)
        require((w > 1e-9 * n).sum() <= told["rank"], "the rank is at most what was asked for", w)
    if "lower" in told and not covariance and repair.status.ok:
        apart = X[~np.eye(n, dtype=bool)]
        require((apart >= told["lower"] - 1e-6).all(), "bounds are met", apart)
    if told.get("fixed") is not None and repair.status.ok:
        mask = np.asarray(told["fixed"], dtype=bool)
        off = np.abs(X - repair.given)[mask & ~np.eye(n, dtype=bool)].max(initial=0.0)
        require(off <= 1e-7 * size, "entries that are held stay", off)


def words(repair: Repair) -> None:
    """What is shown of a repair, and its proof."""
    repr(repair)
    require(repair._repr_html_().startswith("<table>"), "the table for notebooks")
    json.dumps(repair.summary(), allow_nan=False)
    proof = repair.certificate
    require(proof.lower_bound <= proof.objective * (1 + 1e-9), "a lower bound is below", proof)
    require(np.isfinite([repair.distance, proof.relative_gap, repair.min_eigenvalue_after]).all(), "facts are finite")
    try:
        L = repair.cholesky()
    except InputError:
        return
    off = np.abs(L @ L.T - repair.values).max()
    require(off <= 1e-9 * np.abs(repair.values).max(), "a Cholesky factor is one", off)


def _arguments(case: Case) -> dict[str, Any]:
    given = {key: np.asarray(value) if isinstance(value, list) else value for key, value in case.settings.items()}
    return given if case.method == "shrink_to_valid" else {"progress": False, **given}


def estimated(case: Case) -> None:
    """Estimates from samples with gaps: valid, with intervals in order; `np.corrcoef` where nothing is missing."""
    rows = case.given()[0]
    words = (None, "ledoit_wolf")
    for call, shrinkage in ((call, word) for call in (sc.correlation, sc.covariance) for word in words):
        try:
            found = call(rows, shrinkage=shrinkage)
        except SimcompleteError:
            continue
        valid(found)
    X = np.asarray(rows, dtype=np.float64)
    with np.errstate(over="ignore", invalid="ignore"):
        spread = X.std(axis=0)  # NaN where a value is missing, and then not compared
    if len(X) > 2 and (spread > 1e-3 * np.abs(X).max(axis=0)).all() and 1e-100 < spread.min() < spread.max() < 1e100:
        expected = np.atleast_2d(np.corrcoef(X.T))
        off = np.abs(np.asarray(sc.correlation(rows).matrix) - expected).max()
        require(off <= 1e-6, "of complete samples it is np.corrcoef", off)


def valid(found: Estimate) -> None:
    """An estimate: symmetric, positive semi-definite, around it intervals that a higher level makes wider."""
    S = np.asarray(found.matrix)
    require(np.isfinite(S).all() and (S == S.T).all(), "an estimate is finite and symmetric", S)
    size = max(float(np.abs(S).max()), np.finfo(float).tiny)
    smallest = float(np.linalg.eigvalsh(S / size)[0])
    require(smallest >= -1e-9 * len(S), "an estimate is positive semi-definite", smallest)
    if found.kind == "correlation":
        require((np.diag(S) == 1).all() and np.abs(S).max() <= 1 + 1e-9, "correlations are within [-1, 1]", S)
    low, high = map(np.asarray, found.interval(0.9))
    wide = tuple(map(np.asarray, found.interval(0.99)))
    require(np.isfinite(low).all() and np.isfinite(high).all(), "intervals of estimates are finite", (low, high))
    require((low <= high).all(), "intervals of estimates are ordered", (low, high))
    require((wide[0] <= low).all() and (wide[1] >= high).all(), "a higher level is wider, of estimates", (low, high))
    repr(found)
    found._repr_html_()
    json.dumps(found.summary(), allow_nan=False)
    try:
        found.repaired_pairwise()
    except SimcompleteError:
        return


def fitted(case: Case) -> None:
    """The estimator in the manner of scikit-learn's covariances."""
    rows = case.given()[0]
    try:
        model = NearestCorrelation().fit(rows)
    except SimcompleteError:
        return
    except ValueError as error:  # scikit-learn's own checks
        require("minimum of" in str(error), "an estimator refuses only what scikit-learn refuses", error)
        return
    for name in ("covariance_", "correlation_", "precision_"):
        require(np.isfinite(getattr(model, name)).all(), f"{name} is finite", getattr(model, name))
    smallest = np.linalg.eigvalsh(model.correlation_)[0]
    require(smallest >= 1e-8 - 1e-9 * len(model.correlation_), "the floor of a fitted correlation", smallest)
