"""What the estimators share: scikit-learn's contract around `simcomplete.complete`, no mathematics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from simcomplete.api import complete
from simcomplete.arrays import to_numpy
from simcomplete.completion import Completion
from simcomplete.errors import InputError
from simcomplete.estimators.callbacks import CallbackSupport, FitTask, with_callbacks
from simcomplete.inputs import as_samples
from simcomplete.memory import require
from simcomplete.registry import find, methods
from simcomplete.similarity.measure import Measure
from simcomplete.spectral.extend import Extension, extension

# Settings that every method takes; `complete` knows them by the same names.
SHARED = ("rank", "penalty", "metric", "min_overlap", "epsilon", "positive", "random_state", "progress")


class Completer(CallbackSupport, ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Samples with missing values in, rows of a factor out: their products are the completed similarities.

    A subclass says with `_wiring` which method runs, and with which parameters of its own.
    """

    def _wiring(self) -> tuple[str, dict[str, Any]]:
        raise NotImplementedError

    @with_callbacks
    def fit(self, X: Any, y: Any = None) -> Self:
        """Complete the similarities of samples that may all be incomplete.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Rows are samples, NaN is missing.
        y : Ignored
            Here by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        labels = as_samples(X).labels if hasattr(X, "columns") else None
        X = self._checked(X, reset=True)
        task = FitTask(self, X, *self._wiring())
        # In float64 whatever was given: only then do new rows agree with fitted ones to the last digits.
        done = self._complete(X.astype(np.float64, copy=False), None, task)
        whole = done.factor is not None and done.signs is None
        self.completion_: Completion = replace(done, labels=labels)
        self.factor_ = to_numpy(done.factor).astype(X.dtype, copy=False) if whole else None
        self.rank_ = done.rank
        self.n_iter_ = max(task.count, 1)
        self._n_features_out = 0 if self.factor_ is None else int(self.factor_.shape[1])
        measure = Measure(self.metric, self.min_overlap, self.epsilon, self.positive)
        # A copy: new rows are compared with what was fitted, whatever becomes of X.
        self._extension: Extension | None = (
            extension(done, X.copy(), measure) if find(done.method).out_of_sample else None
        )
        task.end()
        return self

    def fit_transform(self, X: Any, y: Any = None) -> Any:
        """Fit, and return the factor of the fitted rows.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Rows are samples, NaN is missing.
        y : Ignored
            Here by convention.

        Returns
        -------
        factor : array of shape (n_samples, rank)
            `factor_`, which ``fit(X).transform(X)`` gives too.
        """
        self.fit(X)
        if self.factor_ is None:
            raise InputError(
                f"method {self.completion_.method!r} gives a matrix without a factor, so there are no rows to "
                f"return; use fit(X).similarity(), or one of {names('psd', 'low_rank')}"
            )
        return self.factor_

    def transform(self, X: Any) -> Any:
        """Return rows of the factor for new samples, without fitting again.

        Every row is computed from its own similarities with the fitted rows alone, so it does not matter which
        rows come together.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows are samples, NaN is missing.

        Returns
        -------
        rows : array of shape (n_new, rank)
            Their products with the rows of `factor_` are completed similarities. Zero for a row that has nothing
            in common with any fitted row.
        """
        rows = self._added(X)
        return rows.astype(self._dtype, copy=False)

    def similarity(self, X_new: Any = None, *, clip: bool = False) -> NDArray[Any]:
        """Completed similarities, to be used as a precomputed kernel or affinity.

        Parameters
        ----------
        X_new : array or frame of shape (n_new, n_features), optional
            New samples, to be compared with the fitted ones; without them, the fitted ones among each other.
        clip : bool
            Clip to [-1, 1], or to [0, 1] with `positive`. A clipped matrix need not be positive semi-definite.

        Returns
        -------
        S : array of shape (n_new, n_samples) or (n_samples, n_samples)
            In the type of the samples.
        """
    def complete(self, P: Any, Q: Any = None) -> Completion:
        """Complete candidates and queries with this estimator's parameters; see `simcomplete.complete`.

        Nothing is remembered: it neither needs `fit` nor changes what was fitted.

        Parameters
        ----------
        P : array or frame of shape (n_p, n_features)
            Complete samples. Without `Q`, samples that may all be incomplete.
        Q : array or frame of shape (n_q, n_features), optional
            Samples with NaN where a value is missing.

        Returns
        -------
        Completion
        """
        return self._complete(P, Q)
