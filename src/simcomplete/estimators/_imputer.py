"""`PosteriorImputer`: tables with missing values to tables without, in their own units."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import MissingIndicator
from sklearn.utils.validation import _check_feature_names_in, check_is_fitted, validate_data

from simcomplete._method.given import generator
from simcomplete._posterior.shared.rows import Effort, check_settings
from simcomplete._posterior.values.model import ValueModel
from simcomplete._rows.validate import as_array
from simcomplete.errors import InputError
from simcomplete.estimators._columns import ValueLimits, refuse_other_than_numbers
from simcomplete.estimators._parameters import NamedParameters
from simcomplete.estimators._save import Saved


class PosteriorImputer(NamedParameters, Saved, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Impute missing values by their expected values given the observed ones, with standard deviations.

    Features are standardised internally, so that units do not matter. If there are enough complete rows, the other rows
    are completed by a model of these, otherwise by a factor model of all rows. Observed values are returned unchanged.

    Parameters
    ----------
    effort : {"full", "fast", "best"}
        Amount of computation when the model is fitted.
    round : bool, int, sequence or dict, optional
        Digits behind the point that filled-in values are rounded to: True or 0 for whole numbers. One for all features,
        one per feature (None where a feature is not to be rounded), or a dict from names of features.
    min, max : float, sequence or dict, optional
        Bounds of filled-in values, given in the same three ways.
    add_indicator : bool
        Append a column for every feature with missing values when fitting, True where a value was missing, as
        scikit-learn's imputers do.
    keep_empty_features : bool
        Keep features without any value when fitting, with 0 in the place of what is missing; else they are left out.
    random_state : int, Generator or None
        Seed for the values that are hidden to learn from.

    Attributes
    ----------
    n_features_in_ : int
        Features seen when fitting.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where a frame had some.
    indicator_ : MissingIndicator or None
        What makes the indicator columns.

    See Also
    --------
    simcomplete.pool : One estimate from several completed tables.

    Notes
    -----
    Standard deviations are learnt from hidden values: the interval of 1.645 deviations around a value
    should contain 90 percent of the true values if values are missing at random. They are too small if a value is
    missing because of its size.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import PosteriorImputer
    >>> rng = np.random.default_rng(0)
    >>> X = rng.standard_normal((200, 1)) * [1.0, 10.0, 100.0]
    >>> X += 0.01 * rng.standard_normal((200, 3))
    >>> X[::4, 1] = np.nan
    >>> imputer = PosteriorImputer(effort="fast").fit(X)
    >>> values, std = imputer.impute([[1.0, np.nan, 100.0]], return_std=True)
    >>> values.round(1), bool(0 < std[0, 1] < 1)
    (array([[  1.,  10., 100.]]), True)
    """

    def __init__(
        self,
        *,
        effort: Effort = "full",
        round: Any = None,
        min: Any = None,
        max: Any = None,
        add_indicator: bool = False,
        keep_empty_features: bool = False,
        random_state: Any = 0,
    ) -> None:
        self.effort = effort
        self.round = round
        self.min = min
        self.max = max
        self.add_indicator = add_indicator
        self.keep_empty_features = keep_empty_features
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None) -> Self:
        """Learn from rows with missing values.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            Numbers, NaN (in frames also None, NA and null) where missing.
        y : Ignored
            Here by convention.

        Returns
        -------
        self : object
            The fitted imputer.
        """
        check_settings(self.effort)
        rows = self._checked(X, reset=True)
        names = getattr(self, "feature_names_in_", None)
        self._limits = ValueLimits.of(self.round, self.min, self.max, rows.shape[1], names)
        self._with_values = ~np.isnan(rows).all(axis=0)
        self._model: ValueModel | None = None
        if self._with_values.any():
            known = rows[:, self._with_values].astype(np.float64)
            self._model = ValueModel.fit(known, generator(self.random_state), self.effort)
        # A feature that has missing values only later gets no column, as in scikit-learn's imputers.
        self.indicator_ = MissingIndicator(error_on_new=False).fit(rows) if self.add_indicator else None
        return self

    def transform(self, X: Any) -> NDArray[Any]:
        """Fill in rows, each separately.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.

        Returns
        -------
        array of shape (n_new, n_features_out), or a frame after `set_output`
            The rows without missing values, then the indicator columns where they were asked for.
        """
        check_is_fitted(self)
        rows = self._checked(X, reset=False)
        filled = self._filled(rows)[0]
        if self.indicator_ is None:
            return filled
        return np.hstack([filled, self.indicator_.transform(rows).astype(filled.dtype)])

    def impute(self, X: Any, *, return_std: bool = False) -> Any:
        """Fill in rows, and return the uncertainty of every value.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        return_std : bool
            Also return the standard deviation of every value, 0 where it was observed.

        Returns
        -------
        values : array of shape (n_new, features kept)
            As `transform` has them, without indicator columns.
        std : array of the same shape
            Only with `return_std`. It is that of the value before rounding and bounds.
        """
        check_is_fitted(self)
        values, std = self._filled(self._checked(X, reset=False))
        return (values, std) if return_std else values

    def sample(self, X: Any, n: int = 5, *, random_state: Any = 0) -> NDArray[Any]:
        """Complete rows several times by draws, for multiple imputation.

        The missing values of a row are drawn jointly, with the deviations that `impute` returns and their correlations
        given the observed values. The parameters of the model are the same in all draws, so with few rows the variation
        between completed tables is slightly too small.

        Parameters
        ----------
        X : array or frame of shape (n_new, n_features)
            Rows with NaN where a value is missing.
        n : int
            How many completed tables.
        random_state : int, Generator or None
            Seed of the draws.

        Returns
        -------
        array of shape (n, n_new, features kept)
            Observed values are the same in all of them. `simcomplete.pool` combines estimates from them.
        """
        check_is_fitted(self)
        if isinstance(n, bool) or not isinstance(n, (int, np.integer)) or n < 1:
            raise InputError(f"n={n!r} is not a number of completed tables; give a whole number from 1 on")
        rows = self._checked(X, reset=False)
        out = np.empty((int(n), len(rows), int(self._kept.sum())), dtype=rows.dtype)
        drawn = np.zeros((int(n), *rows.shape))
        if self._model is not None:
            some = rows[:, self._with_values].astype(np.float64)
            drawn[:, :, self._with_values] = self._model.sample(some, int(n), generator(random_state))
        for table, values in zip(out, drawn, strict=True):
            table[...] = self._finished(rows, values)
        return out

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Names of the columns that `transform` returns.

        Parameters
        ----------
        input_features : sequence of str, optional
            Names of the features, where the imputer was fitted without.

        Returns
        -------
        array of str
            Names of the kept features, then of the indicator columns.
        """
        check_is_fitted(self)
        names = _check_feature_names_in(self, input_features)
        kept = names[self._kept]
        if self.indicator_ is None:
            return np.asarray(kept)
        return np.concatenate([kept, self.indicator_.get_feature_names_out(names)])

    @property
    def _kept(self) -> NDArray[np.bool_]:
        return np.asarray(self._with_values | bool(self.keep_empty_features))

    def _filled(self, rows: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
        values, std = np.zeros(rows.shape), np.zeros(rows.shape)
        if self._model is not None:
            known = rows[:, self._with_values].astype(np.float64)
            values[:, self._with_values], std[:, self._with_values] = self._model.values(known)
        return self._finished(rows, values), std[:, self._kept].astype(rows.dtype)

    def _finished(self, rows: NDArray[Any], values: NDArray[np.float64]) -> NDArray[Any]:
        """Filled-in values within their limits, beside observed ones as they came; empty features left out."""
        return np.where(np.isnan(rows), self._limits.apply(values).astype(rows.dtype), rows)[:, self._kept]

    def _checked(self, X: Any, *, reset: bool) -> NDArray[Any]:
        if isinstance(X, np.ma.MaskedArray):  # whose mask would be lost without a word
            X = as_array(X)
        refuse_other_than_numbers(X)
        rows = validate_data(self, X, reset=reset, dtype=[np.float64, np.float32], ensure_all_finite="allow-nan")
        return np.asarray(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.transformer_tags.preserves_dtype = ["float64", "float32"]
        return tags
