"""`NearestCorrelation`: a valid covariance matrix as an estimator, in the manner of sklearn.covariance."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.validation import validate_data

from simcomplete._correlation.labels import opened
from simcomplete._correlation.nearest import nearest_correlation
from simcomplete._correlation.repair import Repair
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError
from simcomplete.estimators._save import Saved


class NearestCorrelation(Saved, BaseEstimator):  # type: ignore[misc]
    """The valid correlation and covariance matrix nearest to the pairwise estimate from samples with gaps.

    Parameters
    ----------
    min_eigenvalue : float
        The smallest eigenvalue of the correlation matrix; above 0, `precision_` is its inverse, else a pseudo-inverse.
    precomputed : bool
        Whether `fit` is given a covariance or correlation matrix instead of samples.
    assume_centered : bool
        Whether samples have mean 0.
    min_overlap : int
        Pairs of columns with fewer common rows are unknown, and get any value that is valid.
    warm_start : bool
        Start from the last fit.

    Attributes
    ----------
    covariance_, correlation_, precision_ : arrays of shape (n_features, n_features)
        The repaired matrices, and the inverse of the covariance.
    location_ : array of shape (n_features,)
        Means of the columns; zeros for a matrix.
    repair_ : Repair
        What moved, and the proof.
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
            C: NDArray[Any] = np.asarray(validate_data(self, table.wrap(table.values), **checks), dtype=np.float64)
            self.location_, variances = np.zeros(len(C)), np.diag(C).copy()
        else:
            samples = np.asarray(validate_data(self, X, **checks), dtype=np.float64)
            self.location_, variances, R = pairwise(samples, self.assume_centered, self.min_overlap)
        if not (variances >= 0).all():
            i = int(np.argmax(~(variances >= 0)))
            raise InputError(f"the variance of column {i} is {variances[i]:.6g}; a number that is at least 0 is needed")
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
        self.precision_: Matrix = np.linalg.pinv(self.covariance_, hermitian=True)
        return self

    def get_precision(self) -> Matrix:
        """Return the inverse of the covariance, as the estimators of sklearn.covariance do."""
        return self.precision_

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.input_tags.pairwise = self.precomputed
        return tags


def pairwise(X: Matrix, centered: bool = False, least: int = 2) -> tuple[Vector, Vector, Matrix]:
    """Means and variances of columns, and correlations over the rows that both columns have; NaN where too few.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 4.0]])
    >>> means, variances, R = pairwise(X)
    >>> variances, R
    (array([0.66666667, 1.        ]), array([[1., 1.],
           [1., 1.]]))
    """
    seen = ~np.isnan(X)
    M = seen.astype(np.float64)
    counts = M.T @ M
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.where(seen, X, 0.0).sum(axis=0) / M.sum(axis=0)
        # Moving columns to their means first costs nothing and keeps the digits of data far from 0.
        Z = np.where(seen, X if centered else X - means, 0.0)
        C, V = Z.T @ Z / counts, np.square(Z).T @ M / counts
        if not centered:
            shift = Z.T @ M / counts  # the mean of column i over the rows that column j has
            C, V = C - shift * shift.T, V - shift**2
        R = np.clip(C / np.sqrt(V * V.T), -1.0, 1.0)
    R[(counts < max(least, 1)) | ~(V * V.T > 0)] = np.nan
    return np.zeros(X.shape[1]) if centered else means, np.diag(C).copy(), R
