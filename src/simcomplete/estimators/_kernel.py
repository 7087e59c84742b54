"""`PosteriorKernel`: expected similarities as a kernel matrix, for estimators with ``kernel="precomputed"``."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from simcomplete._method.given import generator
from simcomplete._posterior.shared.rows import Effort, Objective
from simcomplete._rows.budget import require
from simcomplete._rows.scaling import Center, Scale
from simcomplete._rows.validate import as_array
from simcomplete._similarity.measure import Metric
from simcomplete.errors import InputError
from simcomplete.estimators._changes import patterns_given
from simcomplete.estimators._frames import frame_rows
from simcomplete.estimators._parameters import NamedParameters
from simcomplete.estimators._posterior import PosteriorCompleter
from simcomplete.estimators._save import Saved


class PosteriorKernel(
    NamedParameters,
    Saved,
    ClassNamePrefixFeaturesOutMixin,  # type: ignore[misc]
    TransformerMixin,  # type: ignore[misc]
    BaseEstimator,  # type: ignore[misc]
):
    """Kernel of expected similarities with the fitted rows, any of which may be incomplete.

    ``fit_transform`` completes each fitted row by a model of the others (out of fold), so that the next estimator is
    trained on rows that are completed in the same way as new rows.

    Parameters
    ----------
    metric, center, scale, effort, objective : optional
        As in `PosteriorCompleter`.
    masks : None, "observed" or array of shape (n_masks, n_features)
        Patterns to calibrate for: those of the fitted rows that are incomplete ("observed", which needs some; None
        takes random ones where there are none), booleans (True where observed), or rows whose gaps are the patterns.
    folds : int
        Number of parts; the rows of each part are completed by a model of the other parts.
    random_state : int, Generator or None
        Seed of the folds and of the simulated queries.

    Attributes
    ----------
    vectors_ : array of shape (n_samples, n_features)
        Vectors of the fitted rows: unit rows of complete ones, out-of-fold expectations of others.
    completer_ : PosteriorCompleter
        The model of all fitted rows, which makes vectors of new ones.
    n_features_in_ : int
        Features seen when fitting.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where a frame had some.

    Notes
    -----
    ``fit(X).transform(X)`` differs from ``fit_transform(X)`` for incomplete rows, as in
    `sklearn.preprocessing.TargetEncoder`: there the model was fitted to the same rows.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.svm import SVC
    >>> from simcomplete.estimators import PosteriorKernel
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], 60)
    >>> X = rng.normal(size=(120, 6)) + 3 * np.eye(2)[y][:, [0, 1, 0, 1, 0, 1]]
    >>> X[rng.random(X.shape) < 0.3] = np.nan
    >>> machine = make_pipeline(PosteriorKernel(effort="fast"), SVC(kernel="precomputed"))
    >>> float(machine.fit(X, y).score(X, y)) > 0.8
    True
    """

    def __init__(
        self,
        *,
        metric: Metric = "cosine",
        center: Center = None,
        scale: Scale = None,
        effort: Effort = "full",
        objective: Objective = "error",
        masks: Any = None,
        folds: int = 5,
        random_state: Any = 0,
    ) -> None:
        self.metric = metric
        self.center = center
        self.scale = scale
        self.effort = effort
        self.objective = objective
        self.masks = masks
        self.folds = folds
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Fit the model of all rows, and complete each by the others.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Rows with NaN where a value is missing.
        y : Ignored
            Here by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        rows = self._checked(X, reset=True)
        whole, folds = ~np.isnan(rows).any(axis=1), self._folds(len(rows))
        masks = self._patterns(rows, whole)
        self.completer_ = self._completer().fit(rows, masks=masks)
        # A complete row is known whoever is in the model: only the others are left out in turn.
        self.vectors_ = self.completer_.transform(rows)
        for fold in folds:
            gone = fold[~whole[fold]]
            if len(gone):
                rest = np.setdiff1d(np.arange(len(rows)), fold)
                self.vectors_[gone] = self._completer().fit(rows[rest], masks=masks).transform(rows[gone])
        self._n_features_out = len(rows)
        return self

    def fit_transform(self, X: Any, y: Any = None, **params: Any) -> NDArray[Any]:
        """Fit, and return the kernel of the fitted rows, each completed by the others.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Rows with NaN where a value is missing.
        y, **params : Ignored
            Here by convention.

        Returns
        -------
        array of shape (n_samples, n_samples)
            Symmetric and positive semi-definite.
        """
        return self.fit(X)._products(self.vectors_)

    def transform(self, X: Any) -> NDArray[Any]:
        """Return expected similarities of new rows with the fitted ones.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        array of shape (n_new, n_samples)
        """
        check_is_fitted(self)
        return self._products(self.completer_.transform(self._checked(X, reset=False)))

    def _completer(self) -> PosteriorCompleter:
        names = ("metric", "center", "scale", "effort", "objective", "random_state")
        return PosteriorCompleter(**{name: getattr(self, name) for name in names})

    def _products(self, u: NDArray[Any]) -> NDArray[Any]:
        n = len(self.vectors_)
        require(2 * 8 * len(u) * n, f"a kernel of {len(u)} x {n}", "fit or transform fewer rows")
        return np.asarray(np.clip(u @ self.vectors_.T, -1.0, 1.0))

    def _folds(self, n: int) -> list[NDArray[np.int64]]:
        if isinstance(self.folds, bool) or not isinstance(self.folds, (int, np.integer)) or self.folds < 2:
            raise InputError(f"folds={self.folds!r} must be a whole number of at least 2")
        order = generator(self.random_state).permutation(n)
        return [np.sort(part) for part in np.array_split(order, min(int(self.folds), n))] if n > 1 else []

    def _patterns(self, rows: NDArray[Any], whole: NDArray[np.bool_]) -> Any:
        """What to calibrate for, as `PosteriorCompleter.fit` takes it."""
        masks = patterns_given(self.masks, not whole.all())
        return masks if masks is not None or whole.all() else ~np.isnan(rows[~whole])

    def _checked(self, X: Any, *, reset: bool) -> NDArray[Any]:
        frame = frame_rows(self, X, reset=reset)
        if isinstance(X, np.ma.MaskedArray):  # whose mask would be lost without a word
            X = as_array(X)
        rules: dict[str, Any] = {"dtype": [np.float64, np.float32], "ensure_all_finite": "allow-nan"}
        return np.asarray(validate_data(self, X, reset=reset, **rules) if frame is None else frame.array)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
