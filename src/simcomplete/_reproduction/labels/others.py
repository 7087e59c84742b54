"""Methods of other libraries that are compared on labels: imputers, and boosting that takes NaN as it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from simcomplete._reproduction.labels.soft_impute import soft_impute
from simcomplete._types import Matrix

# Regressions on all other features take hours on images; on this many of them, minutes.
NEAREST_FEATURES = 20
ROUNDS = 5


def knn_imputer(X: Matrix, seed: int) -> Matrix:
    """Fill in by scikit-learn's KNNImputer as it is."""
    from sklearn.impute import KNNImputer

    return np.asarray(KNNImputer(keep_empty_features=True).fit_transform(X))


def iterative_imputer(X: Matrix, seed: int) -> Matrix:
    """Fill in by scikit-learn's IterativeImputer, each feature from those that are most correlated with it."""
    import warnings

    from sklearn.exceptions import ConvergenceWarning
    from sklearn.experimental import enable_iterative_imputer  # noqa: F401
    from sklearn.impute import IterativeImputer

    few = {"n_nearest_features": min(NEAREST_FEATURES, X.shape[1]), "max_iter": ROUNDS, "random_state": seed}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return np.asarray(IterativeImputer(keep_empty_features=True, **few).fit_transform(X))


IMPUTERS: dict[str, Callable[[Matrix, int], Matrix]] = {
    "knn_imputer": knn_imputer,
    "iterative_imputer": iterative_imputer,
    "soft_impute": soft_impute,
}
BOOSTING = "boosting"
OTHERS = (*IMPUTERS, BOOSTING)


def boosting_predictions(train: Matrix, y: Any, test: Matrix, seed: int) -> Any:
    """Classes of incomplete rows by gradient boosting, which learns where to send NaN from rows that have some."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    known = ~np.isnan(train).all(axis=0)  # a feature without any value has no bins
    with threadpool_limits(1):  # threads that wait for each other take most of the time on so few rows
        model = HistGradientBoostingClassifier(random_state=seed).fit(train[:, known], y)
        return model.predict(test[:, known])


def with_gaps_of(rows: Matrix, others: Matrix, rng: np.random.Generator) -> Matrix:
    """Hide values of complete rows as they are missing in other rows, drawn at random.

    Examples
    --------
    >>> with_gaps_of(np.ones((2, 2)), np.array([[1.0, np.nan]]), np.random.default_rng(0))
    array([[ 1., nan],
           [ 1., nan]])
    """
    return np.where(np.isnan(others)[rng.integers(len(others), size=len(rows))], np.nan, rows)
