"""How several expectations of the same lost values are combined, and how large the errors that stay are."""

from __future__ import annotations

import numpy as np
import scipy.optimize

from simcomplete._types import Mask, Matrix, Vector

HUBER = 2.5  # robust deviations beyond which an error counts less
HUBER_ROUNDS = 4
LARGEST_RATIO = 25.0  # of a squared error to its variance that counts
VARIANCE_ROUNDS = 3
LEAST_BASE = 0.01  # of the mean expected sum of squares
FEATURE_BASE = 0.1  # of it, added for features: of those that never change, nothing can be learnt
LARGEST_SLOPE = 1.0
SLOPE_STEPS = 20
TINY = 1e-300


def value_weights(columns: Matrix, truth: Vector, weights: Vector) -> Vector:
    """Weights of at least 0 with the least error of the combined columns; large errors count less (Huber).

    Parameters
    ----------
    columns : array of shape (values, columns)
        What is combined.
    truth, weights : array of shape (values,)
        What the combination should be, and how much each value counts.

    Examples
    --------
    >>> x = np.random.default_rng(0).standard_normal(500)
    >>> truth = np.where(np.arange(500) == 7, 1e6, x)  # one is wrong
    >>> value_weights(np.column_stack([2 * x, np.ones(500)]), truth, np.ones(500)).round(1)
    array([0.5, 0. ])
    """
    kept = np.ones(len(truth))
    found = np.zeros(columns.shape[1])
    root = np.sqrt(weights)
    for _ in range(HUBER_ROUNDS):
        by = root * np.sqrt(kept)
        found = _least_squares(columns * by[:, None], truth * by)
        gap = np.abs(truth - columns @ found) * root
        kept = np.minimum(1.0, HUBER * (1.4826 * np.median(gap) + TINY) / np.maximum(gap, TINY))
    return np.asarray(found)


def variance_weights(columns: Matrix, squares: Matrix, counted: Matrix | Mask) -> Vector:
    """Weights of at least 0 of several variances, so that sums over rows and over features fit the squared errors.

    Parameters
    ----------
    columns : array of shape (columns, rows, d)
        Variances.
    squares, counted : array of shape (rows, d)
        Squared errors, and how much each counts: 0 where it is not known.
    """
    counted = counted.astype(np.float64)
    A = np.concatenate([np.sum(columns * counted, axis=2).T, np.sum(columns * counted, axis=1).T])
    b = np.concatenate([np.sum(squares * counted, axis=1), np.sum(squares * counted, axis=0)])
    count = np.concatenate([counted.sum(axis=1), counted.sum(axis=0)])
    of_feature = np.arange(len(b)) >= len(squares)
    some = count > 0
    A, b, count, of_feature = A[some], b[some], count[some], of_feature[some]
    found = np.full(A.shape[1], b.sum() / max(A.sum(), TINY))
    for _ in range(VARIANCE_ROUNDS):
        base = A @ found
        base = np.maximum(base, max(LEAST_BASE * base.mean(), TINY))
        base = base + np.where(of_feature, FEATURE_BASE * base[of_feature].mean(), 0.0)
        by = np.sqrt(count) / base
        found = _least_squares(A * by[:, None], np.minimum(b, LARGEST_RATIO * base) * by)
    return np.asarray(found)


def _least_squares(A: Matrix, b: Vector) -> Vector:
    """Non-negative least squares; FloatingPointError where numbers left their range on the way."""
    if not (np.isfinite(A).all() and np.isfinite(b).all()):
        raise FloatingPointError("least squares of numbers that are not finite")
    return np.asarray(scipy.optimize.nnls(A, b)[0])


def variance_slope(ratios: Vector, t: Vector) -> float:
    """How the logarithm of squared errors over their variances rises with t: a gamma regression.

    Examples
    --------
    >>> t = np.linspace(-2, 2, 1000)
    >>> round(variance_slope(np.exp(0.5 * t), t), 2)
    0.5
    """
    X = np.column_stack([np.ones_like(t), t])
    inverse = np.linalg.inv(X.T @ X + 1e-9 * len(t) * np.eye(2))
    level, slope = float(np.log(max(ratios.mean(), TINY))), 0.0
    for _ in range(SLOPE_STEPS):
        gap = np.minimum(ratios / np.exp(np.clip(level + slope * t, -600, 600)), LARGEST_RATIO) - 1.0
        step = inverse @ (X.T @ gap)
        level, slope = level + float(step[0]), float(np.clip(slope + step[1], -LARGEST_SLOPE, LARGEST_SLOPE))
    return slope
