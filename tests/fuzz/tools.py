"""Calls without a method: similarities over common features, masks, metrics."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

import simcomplete as sc
from simcomplete import masks, metrics
from simcomplete.errors import InputError

from . import correlations, models
from .case import Case
from .checks import beyond_squares, require


def overlap(case: Case) -> None:
    """Similarities over common features, against a double loop."""
    rows = case.given()[0]
    for metric in ("cosine", "pearson"):
        S, evidence = sc.overlap_similarity(rows, metric, return_evidence=True)
        S = np.asarray(S)
        require(np.isfinite(S).all() and (S == S.T).all(), "overlap similarities are finite and symmetric", S)
        require(np.abs(S).max() <= 1 + 1e-5, "overlap similarities are within [-1, 1]", S)
        require((np.diag(S) == 1).all(), "a row is like itself", S)
        require(0 <= evidence.pairs_without <= evidence.pairs, "evidence is counted", evidence)
        mapped = sc.overlap_similarity(rows, metric, positive=True, epsilon=0.1 * (metric == "cosine"))
        require((mapped >= 0).all() and (mapped <= 1).all(), "mapped similarities are within [0, 1]", mapped)
    X = np.asarray(rows, dtype=np.float64)
    S = np.asarray(sc.overlap_similarity(rows))
    for i in range(len(X)):
        for j in range(i):
            if beyond_squares(X[i], case.dtype) or beyond_squares(X[j], case.dtype):
                continue
            expected = _cosine(X[i], X[j])
            require(abs(S[i, j] - expected) <= 1e-4, "overlap similarities are cosines", (i, j, S[i, j], expected))


def _cosine(a: np.ndarray, b: np.ndarray) -> float:
    both = ~(np.isnan(a) | np.isnan(b))
    a, b = ((x[both] / max(np.abs(x[both]).max(initial=0.0), 1e-320)) for x in (a, b))
    size = np.linalg.norm(a) * np.linalg.norm(b)
    return float(a @ b / size) if size > 0 else 0.0


def counts(case: Case) -> None:
    """Counts of common features."""
    rows = case.given()[0]
    observed = ~np.isnan(np.asarray(rows, dtype=np.float64))
    require(np.array_equal(sc.overlap_counts(rows), observed.astype(int) @ observed.T), "common features are counted")


def patterns(case: Case) -> None:
    """Masks: their shape, their share, and what they hide."""
    rows = case.given()[0]
    X = np.asarray(rows, dtype=np.float64)
    n, d = X.shape
    for mask in (masks.random(rows, 0.5), masks.by_value(rows, 0.5), masks.stripes(rows, 0.5, shape=(1, d))):
        require(mask.shape == (n, d) and mask.dtype == bool, "shape of a mask", mask.shape)
        hidden = masks.apply(rows, mask)
        require(np.isnan(hidden[~mask]).all(), "what a mask hides is hidden", hidden)
        require(np.array_equal(hidden[mask], X.astype(hidden.dtype)[mask], equal_nan=True), "the rest stays", hidden)
    require((masks.random(rows, 0.5).sum(axis=1) == d - round(0.5 * d)).all(), "a mask hides its share")


def measures(case: Case) -> None:
    """Metrics of rows that may hold NaN: numbers in their ranges, or refused."""
    rows = np.asarray(case.given()[0], dtype=np.float64)
    try:
        recall = metrics.recall_at(rows, rows[:, ::-1], k=0.5)
        gain = metrics.ndcg_at(rows, rows[:, ::-1], k=2)
    except InputError:
        require(np.isnan(rows).any(), "what has no NaN is measured")
        return
    require(0 <= recall <= 1 and 0 <= gain <= 1 + 1e-12, "metrics are from 0 to 1", (recall, gain))
    require(0 <= metrics.rank(factor=rows) <= min(rows.shape), "the rank is between 0 and the shape")


TOOLS: dict[str, Callable[[Case], None]] = {
    "counts": counts,
    "covariance estimator": correlations.fitted,
    "duplicates": models.same_rows,
    "estimates": correlations.estimated,
    "imputer": models.filled,
    "kernel": models.kernel,
    "masks": patterns,
    "measures": measures,
    "overlap": overlap,
}
