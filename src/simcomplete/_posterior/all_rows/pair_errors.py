"""How wrong the similarities of pairs are beside what `pair_variance` says: learnt from values that rows lost."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from simcomplete._posterior.all_rows.calibrate import QUANTILES
from simcomplete._posterior.all_rows.em import Factors
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.all_rows.scored_pairs import RowMoments
from simcomplete._posterior.shared.rows import nonzero_or_one, unit_rows
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
        cls,
        lost: HiddenValues,
        others: NDArray[np.int64],
        completed: Matrix,
        found: RowMoments,
        loadings: Matrix,
        sparser: RowMoments | None = None,
    ) -> PairErrors:
        """Compare what was found of scored rows with what they had, over that, beside other rows taken as exact.

        What was found where they lacked more, `sparser`, is compared too.
        """
        every = [found] if sparser is None else [found, sparser]
        count, exact = lost.known.astype(np.float64), np.zeros_like(completed)
        beside = UncertainRows(completed, exact)
        true = UncertainRows.over(unit_rows(lost.truth), np.zeros_like(lost.truth), count)
        truth = pair_variance(true, beside, loadings[:, :0]).similarity
        parts, gaps, by = [], [], []
        for one in every:
            made = pair_variance(UncertainRows.over(*one.and_variance, count), beside, loadings)
            counted = (lost.scored[:, None] != others) & (made.parts[0] > 0)
            parts.append(made.parts[:, counted])
            gaps.append(np.abs(made.similarity - truth)[counted])
            by.append(np.repeat(seen_share(lost, every), counted.sum(axis=1)))
        return cls._learnt(np.concatenate(parts, axis=1), np.concatenate(gaps), np.concatenate(by))

    @classmethod
    def _learnt(cls, parts: Matrix, gaps: Vector, by: Vector) -> PairErrors:
        if not len(gaps):
            return cls(np.ones(PARTS), 1.0, np.zeros(len(QUANTILES)))
        weights = part_weights(parts, gaps**2, by)
        ratios = gaps / np.sqrt(np.maximum(weights @ parts, TINY))
        order = np.argsort(ratios)
        rank = (np.cumsum(by[order]) - by[order] / 2) / by.sum()
        quantiles = np.interp(1 - OPTIMISM * (1 - QUANTILES), rank, ratios[order])
        return cls(weights, float(np.average(ratios**2, weights=by)), quantiles)

    def expected(self, pairs: PairSpread, some: NDArray[np.int64]) -> float:
        """Expected squared error of a similarity between two rows, from the pairs of some."""
        squared = pairs.between(some, some) ** 2
        count = max(len(some) * (len(some) - 1), 1)
        return float(self.square * (squared.sum() - np.trace(squared)) / count)


def seen_share(lost: HiddenValues, found: Sequence[RowMoments]) -> Vector:
    """How much each scored row counts: the share of the usual error that lies in the features it had.

    Where a few features make up most of the error, rows that never had these say little of errors over all features.
    """
    squares, times = np.zeros(lost.lost.shape[1]), lost.lost.sum(axis=0)
    truth = unit_rows(lost.truth)
    for one in found:
        length = np.sqrt(np.sum(one.square * lost.known, axis=1, keepdims=True))
        squares += np.sum(lost.lost * (one.mean / nonzero_or_one(length) - truth) ** 2, axis=0)
    usual = squares / np.maximum(times, 1)
    return np.asarray(lost.known @ usual / usual.sum()) if usual.any() else np.ones(len(truth))


def part_weights(parts: Matrix, squares: Vector, by: Vector | float = 1.0) -> Vector:
    """Weights of at least 0 of the parts of variances, so that relative errors of the squares are small.

    Each square counts `by` times.

    Examples
    --------
    >>> parts = np.array([[1.0, 1.0, 2.0, 3.0], [0.0, 1.0, 0.0, 1.0]])
    >>> part_weights(parts, np.array([2.0, 5.0, 4.0, 9.0])).round(6)
    array([2., 3.])
    """
    found, root = np.full(len(parts), float(squares.sum()) / max(float(parts.sum()), TINY)), np.sqrt(by)
    for _ in range(WEIGHT_ROUNDS):
        base = found @ parts
        base = np.maximum(base, LEAST_BASE * float(base.mean()) + TINY)
        fitted = scipy.optimize.nnls((root * parts / base).T, root * np.minimum(squares / base, LARGEST_RATIO))[0]
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
