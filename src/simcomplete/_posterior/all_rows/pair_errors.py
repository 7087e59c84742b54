"""How wrong the similarities of pairs are beside what `pair_variance` says: learnt from values that rows lost."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from simcomplete._posterior.all_rows.calibrate import QUANTILES
from simcomplete._posterior.all_rows.em import Factors
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.all_rows.scored_pairs import RowMoments
from simcomplete._posterior.shared.rows import unit_rows
from simcomplete._result.pair_spread import PARTS, PairSpread, UncertainRows, pair_variance
from simcomplete._types import Matrix, Vector

DIRECTIONS = 6  # along which errors of values go together, at most
OPTIMISM = 0.8  # of the errors beyond a level that were seen, because what was chosen was chosen on the same rows
WEIGHT_ROUNDS = 4
LEAST_BASE = 1e-3  # of the mean variance of pairs
LARGEST_RATIO = 25.0  # of a squared error to its variance that counts
TINY = 1e-300


class PairErrors(NamedTuple):
    """How the parts of a pair's variance count, and errors over the deviations that they make.

    Attributes
    ----------
    weights : array of shape (3,)
        Of the parts of `pair_variance`.
    square : float
        The mean of the squared ratios of errors to deviations.
    quantiles : array of shape (1001,)
        Of the ratios' sizes.
    """

    weights: Vector
    square: float
    quantiles: Vector

    @classmethod
    def of(
        cls, lost: HiddenValues, others: NDArray[np.int64], completed: Matrix, found: RowMoments, loadings: Matrix
    ) -> PairErrors:
        """Compare what was found of scored rows with what they had, over that, beside other rows taken as exact."""
        count, exact = lost.known.astype(np.float64), np.zeros_like(completed)
        beside = UncertainRows(completed, exact)
        made = pair_variance(UncertainRows.over(*found.and_variance, count), beside, loadings)
        true = UncertainRows.over(unit_rows(lost.truth), np.zeros_like(lost.truth), count)
        gaps = np.abs(made.similarity - pair_variance(true, beside, loadings[:, :0]).similarity)
        counted = (lost.scored[:, None] != others) & (made.parts[0] > 0)
        if not counted.any():
            return cls(np.ones(PARTS), 1.0, np.zeros(len(QUANTILES)))
        parts = made.parts[:, counted]
        weights = part_weights(parts, gaps[counted] ** 2)
        ratios = gaps[counted] / np.sqrt(np.maximum(weights @ parts, TINY))
        return cls(weights, float(np.mean(ratios**2)), np.quantile(ratios, 1 - OPTIMISM * (1 - QUANTILES)))

    def expected(self, pairs: PairSpread, some: NDArray[np.int64]) -> float:
        """Expected squared error of a similarity between two rows, from the pairs of some."""
        squared = pairs.between(some, some) ** 2
        count = max(len(some) * (len(some) - 1), 1)
        return float(self.square * (squared.sum() - np.trace(squared)) / count)


def part_weights(parts: Matrix, squares: Vector) -> Vector:
    """Weights of at least 0 of the parts of variances, so that relative errors of the squares are small.

    Examples
    --------
    >>> parts = np.array([[1.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0]])
    >>> part_weights(parts, np.array([2.0, 5.0, 4.0, 9.0])).round(6)
    array([2., 3.])
    """
    found = np.full(len(parts), float(squares.sum()) / max(float(parts.sum()), TINY))
    for _ in range(WEIGHT_ROUNDS):
        base = found @ parts
        base = np.maximum(base, LEAST_BASE * float(base.mean()) + TINY)
        fitted = scipy.optimize.nnls((parts / base).T, np.minimum(squares / base, LARGEST_RATIO))[0]
        if not fitted.any():
            break
        found = np.asarray(fitted)
    return found


def common_directions(factors: Factors) -> Matrix:
    """Along which values of a row are wrong together, in deviations of the features: the largest, (d, DIRECTIONS).

    Examples
    --------
    >>> one = Factors(np.zeros(2), np.array([[1.0], [0.0]]), np.array([1.0, 1.0]))
    >>> np.abs(common_directions(one)[:, :2]).round(3)
    array([[0.707, 0.   ],
           [0.   , 0.   ]])
    """
    W = factors.loadings
    u, s, _ = np.linalg.svd(W / np.sqrt(np.sum(W * W, axis=1) + factors.noise)[:, None], full_matrices=False)
    found = np.zeros((len(W), DIRECTIONS))
    found[:, : len(s)] = (u * s)[:, :DIRECTIONS]
    return found
