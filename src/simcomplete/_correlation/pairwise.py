"""Covariances and correlations of columns with gaps, each pair over the rows that both have, as pandas takes them."""

from __future__ import annotations

import numpy as np

from simcomplete._types import Matrix, Vector


def pairwise_covariances(X: Matrix, centered: bool = False) -> tuple[Vector, Matrix, Matrix, Matrix]:
    """Means; covariances and variances of column i, over the rows that columns i and j both have; how many these are.

    Examples
    --------
    >>> X = np.array([[1.0, 2.0], [2.0, np.nan], [3.0, 4.0]])
    >>> pairwise_covariances(X)[2]
    array([[0.66666667, 1.        ],
           [1.        , 1.        ]])
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
    return np.zeros(X.shape[1]) if centered else means, C, V, counts


def powers_of_two(X: Matrix) -> Vector:
    """For every column the power of two that its largest value is about: divided by it, squares are in range.

    Examples
    --------
    >>> powers_of_two(np.array([[3.0, 0.0, -1e300], [np.nan, 0.0, 1.0]])).tolist() == [2.0, 1.0, 2.0**996]
    True
    """
    top = np.nan_to_num(np.abs(X)).max(axis=0, initial=0.0)
    return np.ldexp(1.0, np.where(top > 0, np.frexp(top)[1] - 1, 0))


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
    means, C, V, counts = pairwise_covariances(X, centered)
    with np.errstate(invalid="ignore", divide="ignore"):
        R = np.clip(C / np.sqrt(V * V.T), -1.0, 1.0)
    R[(counts < max(least, 1)) | ~(V * V.T > 0)] = np.nan
    return means, np.diag(C).copy(), R
