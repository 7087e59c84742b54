"""What the estimators share: scikit-learn's contract around `simcomplete.complete`, no mathematics."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from simcomplete._api import complete
from simcomplete._method.scaled import ScaledExtension
from simcomplete._method.spec import Extension
from simcomplete._registry import REGISTRY, find, methods
from simcomplete._result.completion import Completion
from simcomplete._rows.budget import require
from simcomplete._rows.table import HeldRows, as_row_table
from simcomplete._rows.validate import as_array
from simcomplete._rows.xp import rows_not_finite
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError, NotFiniteError
from simcomplete.estimators._callbacks import CallbackSupport, FitTask, with_callbacks
from simcomplete.estimators._frames import frame_rows
from simcomplete.estimators._parameters import NamedParameters
from simcomplete.estimators._save import Saved

# Settings that every method takes; `complete` knows them by the same names.
SHARED = (
    *("rank", "penalty", "metric", "center", "scale", "min_overlap", "epsilon", "positive"),
    *("random_state", "progress"),
)


def extendable() -> list[str]:
    """Names of the methods that new rows can be added to."""
    return [method.name for method in methods() if method.extend is not None]


def finite_vectors(rows: NDArray[Any], method: str) -> NDArray[Any]:
    """Vectors of new rows, or an error that names the first one that is not finite."""
    bad = rows_not_finite(rows)
    if len(bad):
        raise NotFiniteError(
            f"the fitted {method!r} has no finite vector for row {bad[0]} of the new rows ({len(bad)} of {len(rows)}); "
            "leave it out, or bring its values nearer to those of the fitted rows"
        )
    return rows


def _takes_new_rows(completer: Completer) -> bool:
    """Whether the method has an out-of-sample form; of "auto" that is known once it has chosen."""
    name = completer._wiring()[0]
    if name == "auto":
        fitted = getattr(completer, "completion_", None)
        return fitted is not None and find(fitted.method).extend is not None
    # An unknown name is refused by fit, with a suggestion.
    return name not in REGISTRY or REGISTRY[name].extend is not None


class Completer(
    NamedParameters,
    Saved,
    CallbackSupport,  # type: ignore[misc]
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
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
        frame = frame_rows(self, X, reset=True)
        X = self._checked(X, reset=True) if frame is None else frame.array
        method, own = self._wiring()
        task = FitTask(self, {"X": X, "y": y}, None if method == "auto" else find(method, or_auto=True), own)
        # In float64 whatever was given: only then do new rows agree with fitted ones to the last digits.
        done = self._complete(X.astype(np.float64, copy=False), None, task.watched(own))
        self.rank_ = done.rank
        self.n_iter_ = max(int(done.history[-1].get("iteration", 1)), 1) if done.history else 1
        # A copy: new rows are compared with what was fitted, whatever becomes of X.
        rows = X.copy() if done.scaling is None else np.asarray(done.scaling(X))
        done = done if frame is None else replace(done, labels=frame.labels, frame=frame.frame)
        self._keep_fit(done, rows, X.dtype)
        task.end()
        return self

    def _keep_fit(self, done: Completion, rows: NDArray[Any] | None, dtype: Any) -> None:
        """Keep a result and the rows, scaled, that it was made of; also when a saved model is read."""
        self.completion_: Completion = done
        # A factor with signs, or clipped, is not what products of rows give.
        V = done.factor if done.matrix.psd_by_form else None
        self.factor_: NDArray[Any] | None = None if V is None else V.astype(dtype, copy=False)
        self._n_features_out = 0 if self.factor_ is None else self.factor_.shape[1]
        self._fit_dtype = dtype
        self._extension = None if rows is None else self._extended(HeldRows(rows))

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
            `factor_`; ``fit(X).transform(X)`` gives the same (after an iterative solver, as far as it converged).
        """
        self.fit(X, y)
        if self.factor_ is None:
            raise InputError(
                f"method {self.completion_.method!r} gives a matrix without a factor, so there are no rows to "
                f"return; use fit(X).similarity(), or one of the methods {', '.join(extendable())}"
            )
        return self.factor_

    def transform(self, X: Any) -> Any:
        """Return rows of the factor for new samples, without fitting again.

        Only methods with an out-of-sample form have it; `simcomplete.methods()` lists them.

        Every row is computed only from its own similarities with the fitted rows.

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
        rows, dtype = self._new_rows(X)
        return rows.astype(dtype, copy=False)

    def similarity(self, X_new: Any = None, *, clip: bool = False) -> NDArray[Any]:
        """Return completed similarities, to be used as a precomputed kernel or affinity.

        Parameters
        ----------
        X_new : array or frame of shape (n_new, n_features), optional
            New samples, to be compared with the fitted ones; without them, the fitted ones among each other.
        clip : bool
            Clip to [-1, 1], with `positive` to [0, 1]. A clipped matrix need not be positive semi-definite.

        Returns
        -------
        S : array of shape (n_new, n_samples) or (n_samples, n_samples)
            In the type of the samples.
        """
        if X_new is None:
            check_is_fitted(self)
            return np.asarray(self.completion_.similarity(clip=clip), dtype=self._fit_dtype)
        rows, dtype = self._new_rows(X_new)
        fitted = self._fitted_extension().factor
        require(
            2 * 8 * len(rows) * len(fitted),
            f"the {len(rows)} x {len(fitted)} similarities of new with fitted rows",
            "compare fewer new rows at a time, or work with transform() and factor_",
        )
        S = rows @ fitted.T
        if clip:
            np.clip(S, 0.0 if self.completion_.params.get("positive") else -1.0, 1.0, out=S)
        return np.asarray(S, dtype=dtype)

    def complete(
        self,
        P: Any,
        Q: Any = None,
        *,
        memory: Any = None,
        out: Any = None,
        id: Any = None,
        labels: Any = None,
        missing: str | None = None,
    ) -> Completion:
        """Complete candidates and queries with this estimator's parameters; see `simcomplete.complete`.

        It does not need `fit`, and does not change a fitted estimator.

        Parameters
        ----------
        P : array or frame of shape (n_p, n_features)
            Complete samples. Without `Q`, samples that may all be incomplete.
        Q : array or frame of shape (n_q, n_features), optional
            Samples with NaN where a value is missing.
        memory, out : optional
            For many candidates: what a block may take, and a file for the factor.
        id, labels, missing : optional
            Labels of rows, and the meaning of absent cells, as in `simcomplete.complete`.

        Returns
        -------
        Completion
        """
        named = {"id": id, "labels": labels, "missing": missing}
        return self._complete(P, Q, {**self._wiring()[1], "memory": memory, "out": out, **named})

    def _complete(self, P: Any, Q: Any, own: dict[str, Any]) -> Completion:
        shared = {name: getattr(self, name) for name in SHARED}
        return complete(P, Q, method=self._wiring()[0], **shared, **own)

    def _extended(self, rows: HeldRows) -> Extension | None:
        done = self.completion_
        extend = find(done.method).extend
        if extend is None:
            return None
        measure = Measure(self.metric, self.min_overlap, self.epsilon, self.positive)
        extension = extend(done, rows, measure)
        return extension if done.scaling is None else ScaledExtension(extension, done.scaling)

    @property
    def _fitted_rows(self) -> NDArray[Any] | None:
        """The rows that new ones are compared with, scaled; None where the method has no form for new rows."""
        extension: Any = self._extension
        extension = extension.inner if isinstance(extension, ScaledExtension) else extension
        return None if extension is None else np.asarray(as_row_table(extension.rows).whole())

    def _new_rows(self, X: Any) -> tuple[NDArray[np.float64], Any]:
        extension = self._fitted_extension()
        X = self._checked(X, reset=False)
        rows = extension.transform(X, self.progress)
        return finite_vectors(rows, self.completion_.method), X.dtype

    def _fitted_extension(self) -> Extension:
        check_is_fitted(self)
        if self._extension is None:
            raise InputError(
                f"method {self.completion_.method!r} has no out-of-sample form, so rows cannot be added to a fit; "
                f"use complete(P, Q) with the new rows as Q, or one of the methods {', '.join(extendable())}"
            )
        return self._extension

    def _checked(self, X: Any, *, reset: bool) -> NDArray[Any]:
        frame = frame_rows(self, X, reset=reset)
        if frame is not None:
            return np.asarray(frame.array)
        if isinstance(X, np.ma.MaskedArray):  # whose mask would be lost without a word
            X = as_array(X)
        return np.asarray(
            validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags


def _gives_rows(completer: Completer) -> bool:
    """Whether the method's result is a factor, whose rows can be returned."""
    name = completer._wiring()[0]
    return name not in REGISTRY or REGISTRY[name].factor


# After the class is made: scikit-learn wraps both for set_output then, and would lose the conditions.
Completer.fit_transform = available_if(_gives_rows)(Completer.fit_transform)  # type: ignore[method-assign]
Completer.transform = available_if(_takes_new_rows)(Completer.transform)  # type: ignore[method-assign]
