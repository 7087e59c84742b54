"""`NearestCorrelation`: a valid covariance matrix as an estimator, in the manner of sklearn.covariance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from simcomplete._correlation.labels import opened
from simcomplete._correlation.nearest import nearest_correlation
from simcomplete._correlation.pairwise import pairwise, powers_of_two
from simcomplete._correlation.repair import Repair
from simcomplete._rows.frame_columns import without
from simcomplete._types import Matrix
from simcomplete.errors import InputError
from simcomplete.estimators._parameters import NamedParameters
from simcomplete.estimators._save import Saved

SMALLEST = 1e-290  # variance of a column; the largest is its inverse


class NearestCorrelation(NamedParameters, Saved, BaseEstimator):  # type: ignore[misc]
    """Valid correlation and covariance matrix nearest to the pairwise estimate from samples with missing values.

    Parameters
    ----------
    min_eigenvalue : float
        The smallest eigenvalue of the correlation matrix; above 0, `precision_` is its inverse, else a pseudo-inverse.
    precomputed : bool
        Whether `fit` is given a covariance or correlation matrix instead of samples.
    assume_centered : bool
        Whether samples have mean 0.
    min_overlap : int
        Pairs of columns with fewer common rows are treated as unknown.
    warm_start : bool
        Start from the last fit.

    Attributes
    ----------
    covariance_, correlation_, precision_ : arrays of shape (n_features, n_features)
        The repaired matrices, and the inverse of the covariance.
    location_ : array of shape (n_features,)
        Means of the columns; zeros for a matrix.
    repair_ : Repair
        The repair, with the largest changes and the certificate.
    n_features_in_ : int
        Features seen when fitting.
    feature_names_in_ : array of shape (n_features_in_,)
        Their names, where a frame had some.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete.estimators import NearestCorrelation
    >>> X = np.random.default_rng(0).standard_normal((20, 5))
    >>> X[::3, 1] = np.nan
    >>> model = NearestCorrelation(min_eigenvalue=1e-6).fit(X)
    >>> model.covariance_.shape, bool(np.linalg.eigvalsh(model.correlation_)[0] > 0)
    ((5, 5), True)
    """

    def __init__(
        self,
        *,
        min_eigenvalue: float = 1e-8,
        precomputed: bool = False,
        assume_centered: bool = False,
        min_overlap: int = 2,
        warm_start: bool = False,
    ) -> None:
        self.min_eigenvalue = min_eigenvalue
        self.precomputed = precomputed
        self.assume_centered = assume_centered
        self.min_overlap = min_overlap
        self.warm_start = warm_start

    def fit(self, X: Any, y: Any = None) -> Self:
        """Estimate from samples with gaps, or repair a matrix.

        Parameters
        ----------
        X : array or frame of shape (n_samples, n_features)
            NaN where a value is missing; with `precomputed`, a covariance or correlation matrix.
        y : Ignored
            Here by convention.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        checks = {
            "dtype": np.float64,
            "ensure_all_finite": "allow-nan",
            "ensure_min_samples": 1 + (not self.precomputed),
        }
        if self.precomputed:
            table = opened(X, "X")  # columns in the order of the rows
            given = table.wrap(table.values)
            if given.shape[1] > len(table.values):  # a first column of labels
                given = without(given, 0)
            C: NDArray[Any] = np.asarray(validate_data(self, given, **checks), dtype=np.float64)
            self.location_, variances = np.zeros(len(C)), np.diag(C).copy()
        else:
            samples = np.asarray(validate_data(self, X, **checks), dtype=np.float64)
            size = powers_of_two(samples)
            location, spread, R = pairwise(samples / size, self.assume_centered, self.min_overlap)
            with np.errstate(over="ignore"):  # refused below
                self.location_, variances = location * size, spread * size * size
        if not (variances >= 0).all():
            i = int(np.argmax(~(variances >= 0)))
            raise InputError(
                f"the variance of column {self._name(i)} is {variances[i]:.6g}; a number that is at least 0 is needed"
            )
        live = variances[variances > 0]
        if len(live) and not (live.min() >= SMALLEST and live.max() <= 1 / SMALLEST):
            i = int(np.argmax((variances > 0) & ~((variances >= SMALLEST) & (variances <= 1 / SMALLEST))))
            raise InputError(
                f"the variance of column {self._name(i)} is {variances[i]:.1e}; its inverse is beyond the range "
                "of numbers; give the column in other units"
            )
        sd = np.sqrt(variances)
        if self.precomputed:
            unit = np.where(sd > 0, sd, 1.0)
            R = C / np.outer(unit, unit)
        R[sd == 0] = R[:, sd == 0] = 0.0  # a constant column has no correlation with others
        np.fill_diagonal(R, 1.0)
        before: Repair | None = getattr(self, "repair_", None) if self.warm_start else None
        start = before if before is not None and len(before.values) == len(R) else None
        self.repair_ = nearest_correlation(R, min_eigenvalue=self.min_eigenvalue, start=start, progress=False)
        self.correlation_: Matrix = self.repair_.values
        self.covariance_: Matrix = self.correlation_ * np.outer(sd, sd)
        self.precision_: Matrix = self._inverse(sd)
        return self

    def _inverse(self, sd: NDArray[np.float64]) -> Matrix:
        """By way of correlations, where all are of one size, whatever the units of the columns; 0 for constant ones."""
        if not self.min_eigenvalue > 0:
            return np.asarray(np.linalg.pinv(self.covariance_, hermitian=True))
        unit = np.where(sd > 0, 1 / np.where(sd > 0, sd, 1.0), 0.0)
        # A constant column is uncorrelated with all others: its row of the inverse is its own.
        P: Matrix = np.linalg.inv(self.correlation_) * np.outer(unit, unit)
        return (P + P.T) / 2

    def _name(self, i: int) -> str:
        return repr(self.feature_names_in_[i]) if hasattr(self, "feature_names_in_") else str(i)

    def get_precision(self) -> Matrix:
        """Return the inverse of the covariance, as the estimators of sklearn.covariance do."""
        return self.precision_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.pairwise = self.precomputed
        return tags
