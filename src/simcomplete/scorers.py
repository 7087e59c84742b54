"""Scorers for `GridSearchCV` and similar tools; larger is better.

Two kinds. With ground truth, the complete rows are given as `y`: ``GridSearchCV(...).fit(X, X_complete)``. Without
it, `hidden_value_scorer` hides values that are known and sees whether the similarities survive.

Scored are the pairs of the test rows, either among themselves (``pairs="new"``) or with the rows the estimator was
fitted to (``pairs="fitted"``; the reference then is over the features that the fitted row has, so it is the truth where
fitted rows are complete). With ``cv=[(rows, rows)]`` and ``pairs="new"`` the score is the paper's own: all rows fitted
together, error over the whole matrix.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.spec import Extension
from simcomplete._rows.frames import is_frame
from simcomplete._rows.table import HeldRows
from simcomplete._rows.validate import as_array, check_number
from simcomplete._similarity.overlap import overlap_matrix
from simcomplete.errors import InputError
from simcomplete.metrics import recall_at, relative_squared_error

__all__ = ["SimilarityScorer", "hidden_value_scorer", "recall_scorer", "relative_error_scorer"]

ScoreKind = Literal["error", "recall"]
PairKind = Literal["new", "fitted"]
SampleArray = NDArray[Any]


@dataclass(frozen=True)
class SimilarityScorer:
    """A scorer; made by the functions of this module.

    Attributes
    ----------
    score : {"error", "recall"}
        Minus the relative squared error, or the share of the true top k found.
    pairs : {"new", "fitted"}
        Test rows among themselves, or with the fitted rows.
    k : int or float
        Of the recall, as in `simcomplete.metrics.recall_at`.
    missing : float or None
        Share of the known values to hide; None takes the truth from `y`.
    random_state : int
        Decides which; the same values are hidden for every estimator that is scored on the same rows.
    """

    score: ScoreKind = "error"
    pairs: PairKind = "new"
    k: float = 0.2
    missing: float | None = None
    random_state: int = 0

    def __post_init__(self) -> None:
        for name, allowed in (("score", ("error", "recall")), ("pairs", ("new", "fitted"))):
            if getattr(self, name) not in allowed:
                raise InputError(f"{name}={getattr(self, name)!r} is unknown; use {' or '.join(map(repr, allowed))}")
        if self.missing is not None:
            check_number(self.missing, "missing", 0.0, 1.0)

    def __call__(self, estimator: Any, X: Any, y: Any = None) -> float:
        """Score a fitted estimator, or a pipeline that ends in one, on rows it is to complete."""
        if self.missing is None and y is None:
            raise InputError(
                "this scorer compares with the truth and was given no y; give the complete rows as y, "
                "GridSearchCV(...).fit(X, X_complete), or use hidden_value_scorer()"
            )
        before, extension = unwrapped(estimator)
        given = rows(before, X, estimator)
        if self.missing is None:
            full = rows(before, y, estimator)
            if full.shape != given.shape or np.isnan(full).any():
                raise InputError(
                    f"y of shape {full.shape} must hold the {given.shape[0]} rows of X with all {given.shape[1]} "
                    "values present; without them use hidden_value_scorer()"
                )
        else:
            full, given = given, hidden(given, self.missing, self.random_state)
        compare = among_new if self.pairs == "new" else with_fitted
        S_hat, S0, S = compare(extension, given, full)
        if self.score == "error":
            return -relative_squared_error(S_hat, S0, S)
        if self.pairs == "new":
            S_hat, S = without_diagonal(S_hat), without_diagonal(S)
        return float(recall_at(S_hat, S, self.k))


def relative_error_scorer(*, pairs: PairKind = "new") -> SimilarityScorer:
    """Negative relative squared error of `simcomplete.metrics`; `y` has the complete rows.

    Parameters
    ----------
    pairs : {"new", "fitted"}
        Score the test rows' similarities among themselves, or with the fitted rows.

    Returns
    -------
    SimilarityScorer
        0 is perfect, -1 as good as not completing at all.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import SMCNN
    >>> from simcomplete.scorers import relative_error_scorer
    >>> rng = np.random.default_rng(0)
    >>> truth = rng.random((60, 2)) @ rng.random((2, 20))
    >>> X = np.where(rng.random(truth.shape) < 0.5, np.nan, truth)
    >>> round(relative_error_scorer()(SMCNN(rank=2).fit(X[:30]), X[30:], truth[30:]), 2)
    -0.25
    """
    return SimilarityScorer("error", pairs)


def recall_scorer(k: float = 0.2, *, pairs: PairKind = "new") -> SimilarityScorer:
    """Share of the true k most similar rows that are found; `y` has the complete rows.

    Parameters
    ----------
    k : int or float
        A count, or a fraction of the rows compared with.
    pairs : {"new", "fitted"}
        As in `relative_error_scorer`. Among themselves, no row counts as its own neighbour.

    Returns
    -------
    SimilarityScorer
        Between 0 and 1.

    Examples
    --------
    Nothing is missing here, so every row finds its nearest among the fitted ones.

    >>> import numpy as np
    >>> from simcomplete.estimators import SMCNN
    >>> from simcomplete.scorers import recall_scorer
    >>> X = np.array([[1.0, 0.2], [0.1, 1.0], [2.0, 0.1]])
    >>> recall_scorer(k=1, pairs="fitted")(SMCNN().fit(X), X[:2], X[:2])
    1.0
    """
    return SimilarityScorer("recall", pairs, k)


def hidden_value_scorer(
    missing: float = 0.5,
    *,
    score: ScoreKind = "error",
    pairs: PairKind = "fitted",
    k: float = 0.2,
    random_state: int = 0,
) -> SimilarityScorer:
    """Score without ground truth: hide known values and compare with the similarities over all known values.

    Parameters
    ----------
    missing : float
        Share of each row's known values to hide. At least one stays.
    score, k
        The error, or the recall at `k`.
    pairs : {"new", "fitted"}
        As in `relative_error_scorer`.
    random_state : int
        Decides which values are hidden.

    Returns
    -------
    SimilarityScorer
        `y` is ignored.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.model_selection import GridSearchCV
    >>> from simcomplete.estimators import SMCNN
    >>> from simcomplete.scorers import hidden_value_scorer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.random((60, 3)) @ rng.random((3, 20))
    >>> X[rng.random(X.shape) < 0.5] = np.nan
    >>> search = GridSearchCV(SMCNN(), {"rank": [3, 40]}, scoring=hidden_value_scorer()).fit(X)
    >>> search.best_params_
    {'rank': 3}
    """
    return SimilarityScorer(score, pairs, k, missing, random_state)


def unwrapped(estimator: Any) -> tuple[Any, Extension]:
    """Return what comes before the completer in a pipeline (or None), and what adds rows to the completer's fit."""
    before, last = (estimator[:-1], estimator[-1]) if hasattr(estimator, "steps") else (None, estimator)
    if not hasattr(last, "_fitted_extension"):
        raise InputError(
            f"{type(last).__name__} completes no similarities; score SMCNN, SMCNmF, SimilarityCompleter, "
            "PosteriorCompleter, or a pipeline that ends in one"
        )
    return before, last._fitted_extension()


def rows(before: Any, X: Any, completer: Any) -> SampleArray:
    """Return rows as the completer gets them; it knows the names of columns."""
    if before is None and is_frame(X):
        return np.asarray(completer._checked(X, reset=False))
    return as_array(X if before is None or not len(before) else before.transform(X))


def hidden(X: SampleArray, missing: float, seed: int) -> SampleArray:
    """Copy of X with that share of every row's known values hidden, one at least left."""
    rng = np.random.default_rng(seed)
    X = X.copy()
    for row in X:
        known = np.flatnonzero(~np.isnan(row))
        row[rng.permutation(known)[: min(round(missing * len(known)), max(len(known) - 1, 0))]] = np.nan
    return X


def with_fitted(
    extension: Extension, given: SampleArray, full: SampleArray
) -> tuple[SampleArray, SampleArray, SampleArray]:
    """Completed, initial and reference similarities of rows with the fitted ones."""
    S_hat = extension.transform(given, False) @ extension.factor.T
    return S_hat, extension.overlap(given, False), extension.overlap(full, False)


def among_new(
    extension: Extension, given: SampleArray, full: SampleArray
) -> tuple[SampleArray, SampleArray, SampleArray]:
    """Completed, initial and reference similarities of rows among themselves."""
    S_hat = extension.among(given)
    given, full = prepared(extension, given), prepared(extension, full)
    S0, S = (overlap_matrix(HeldRows(X), extension.measure, progress=False)[0] for X in (given, full))
    np.fill_diagonal(S0, 1.0)
    np.fill_diagonal(S, 1.0)
    return S_hat, S0, S


def prepared(extension: Extension, X: SampleArray) -> SampleArray:
    """Rows as the fitted ones are compared: with features centred and scaled where the estimator does that."""
    change = getattr(extension, "prepared", None)
    return X if change is None else np.asarray(change(X))


def without_diagonal(S: SampleArray) -> SampleArray:
    """Rows without their own entry, (m, m - 1)."""
    m = len(S)
    return S[~np.eye(m, dtype=bool)].reshape(m, m - 1)
