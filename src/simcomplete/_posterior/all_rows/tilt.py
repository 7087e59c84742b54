"""Values that are missing because of what they are.

With log odds(missing) = a_f + b_i + beta x / sd, what is missing is distributed as what is known, tilted: a normal
distribution N(m, v) becomes N(m + beta v / sd, v). beta is seen from what is predicted of missing values, beside what
is predicted of values that were lost on purpose, both without the value itself, less the means of rows and features.

Predictions of one row, and of one feature, go together, and so do gaps that lie beside each other: how sure beta is, is
told by sums over whole rows and over whole features (a standard error clustered both ways). A block of missing values,
or gaps that follow the rows' level, are then no evidence; each value counted alone, they seem to be.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from simcomplete._types import Mask, Matrix

LEAST_Z = 4.0  # of beta, clustered; below, values are taken to be missing at random
TURNS = 20  # of taking off the means of rows and features
LARGEST_SHIFT = 1.5  # deviations of the feature


class Tilt(NamedTuple):
    """How much likelier larger values are to be missing: per standard deviation, and how sure that is."""

    beta: float = 0.0
    z: float = 0.0
    raw: bool = False  # in the units rows came in, not of rows of a common length

    def shift(self, variance: Matrix, deviation: Matrix) -> Matrix:
        """How far missing values move, given their variances and the deviations of their features."""
        return np.asarray(np.clip(self.beta * variance / deviation**2, -LARGEST_SHIFT, LARGEST_SHIFT) * deviation)


def estimate_tilt(t: Matrix, missing: Mask, scored: Mask, raw: bool = False) -> Tilt:
    """Compare predictions of missing values with those of lost ones.

    Parameters
    ----------
    t : array of shape (rows, d)
        Predicted values, in deviations of their features.
    missing, scored : array of bool, shape (rows, d)
        What is missing, and what is missing or lost: the values that are compared.
    raw : bool
        Which units these are.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.standard_normal((300, 20))
    >>> missing = rng.random(x.shape) < 1 / (1 + np.exp(-x))
    >>> found = estimate_tilt(x, missing, np.ones_like(missing))
    >>> bool(abs(found.beta - 1) < 0.1), bool(found.z > 4)
    (True, True)
    """
    return _contrast(t, missing, scored, raw)[1]


def clearer_tilt(unit: Matrix, raw: Matrix, missing: Mask, scored: Mask) -> Tilt:
    """Estimate the tilt in two units, and take the one in which missing and lost values differ more."""
    both = (_contrast(unit, missing, scored, False), _contrast(raw, missing, scored, True))
    return max(both, key=lambda one: one[0])[1]


def _contrast(t: Matrix, missing: Mask, scored: Mask, raw: bool) -> tuple[float, Tilt]:
    """How much of the predictions' variance missing or not explains, and the tilt."""
    x, D = (_without_means(values, scored) for values in (t, missing.astype(np.float64)))
    total, count = float(np.sum(D * D)), max(int(scored.sum()), 1)
    if total <= 1e-9 * count:
        return 0.0, Tilt(raw=raw)
    delta = float(np.sum(x * D)) / total
    within = float(np.sum(x * x)) / count - delta**2 * total / count
    if not within > 0:
        return 0.0, Tilt(raw=raw)
    score = (x - delta * D) * D
    by_row, by_feature = (float(np.sum(score.sum(axis=axis) ** 2)) for axis in (1, 0))
    own = float(np.sum(score**2))
    z = delta * total / np.sqrt(max(by_row + by_feature - own, by_row, by_feature, within * total))
    beta = delta / within * (1 - 1 / z**2) if abs(z) > LEAST_Z else 0.0
    return delta**2 * total / (count * within), Tilt(float(beta), float(z), raw)


def _without_means(values: Matrix, scored: Mask) -> Matrix:
    """Values less the means of their rows and features, by turns; 0 where they are not scored."""
    seen = scored.astype(np.float64)
    rows, columns = (np.maximum(seen.sum(axis=axis), 1.0) for axis in (1, 0))
    left = values * seen
    for _ in range(TURNS):
        left = (left - left.sum(axis=0) / columns) * seen
        left = (left - (left.sum(axis=1) / rows)[:, None]) * seen
    return left
