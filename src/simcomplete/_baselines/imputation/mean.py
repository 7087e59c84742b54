"""`mean`: missing values become the mean of their feature over the candidates, never over the queries."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._baselines.imputation.filled import complete_filled, fill_missing
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import FILLED_MEASURE, Method
from simcomplete._result.completion import Completion


def power_of_two(values: NDArray[np.float64]) -> float:
    """A power of two near the largest magnitude: dividing by it is exact, and squares stay in range.

    Examples
    --------
    >>> power_of_two(np.array([3.0, -5.0, np.nan])), power_of_two(np.zeros(2))
    (4.0, 1.0)
    """
    top = max(float(np.nanmax(values, initial=0.0)), -float(np.nanmin(values, initial=0.0)))
    # Within +-1000, so that the reciprocal is a normal number as well.
    return float(2.0 ** np.clip(np.floor(np.log2(top)), -1000, 1000)) if top > 0 else 1.0


def feature_means(table: NDArray[np.float64]) -> NDArray[np.float64]:
    """Mean of the observed values of every feature; of all values where a feature has none, 0 where nothing is.

    Parameters
    ----------
    table : array of shape (n, d)
        NaN where missing.

    Returns
    -------
    array of shape (d,)

    Examples
    --------
    >>> feature_means(np.array([[1.0, np.nan, np.nan], [3.0, np.nan, 8.0]]))
    array([2., 4., 8.])
    """
    observed = ~np.isnan(table)
    scale = power_of_two(table)
    Z = np.where(observed, table, 0.0) / scale
    count = observed.sum(axis=0)
    overall = Z.sum() / max(int(count.sum()), 1)
    return np.asarray(np.where(count > 0, Z.sum(axis=0) / np.maximum(count, 1), overall) * scale)


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Fill with the candidates' means; when every row may be incomplete, with those of all observed values."""
    table = problem.table
    means = feature_means(table[: problem.n_candidates])
    return complete_filled(problem, "mean", params, fill_missing(table, np.broadcast_to(means, table.shape)))


METHODS = (
    Method(
        name="mean",
        family="imputation",
        acts_on="samples",
        regularizer="none",
        solver="none",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=False,
        reference="mean of the candidates (the paper cites Kim, Kim, Yi 2004, which is sequential kNN)",
        shared=FILLED_MEASURE,
        memory=lambda s, params: 3.1 * s.n * s.d,
        run=run,
    ),
)
