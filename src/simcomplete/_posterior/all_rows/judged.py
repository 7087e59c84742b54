"""Similarities of rows that lost values, over the features that were known of them: what a completion is judged by.

Truth is a judged row's direction over what was known of it before the loss; the other row of a pair is completed, and
taken as it is. Cosines over fewer features have larger errors: by how much is seen on half of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.all_rows.calibrate import LEAST_UNCERTAINTY, OTHERS, QUANTILES
from simcomplete._posterior.all_rows.lost import LostValues
from simcomplete._posterior.shared.rows import nonzero_or_one, unit_rows
from simcomplete._types import Matrix, Vector

LEVELS = (0.5, 0.6, 0.7, 0.8, 0.9, 1.0, 1.1, 1.25, 1.4, 1.6, 1.8, 2.0)  # of variances
LEAST_SHARE = 0.25  # of the features; what was seen on half of the known ones is carried no further
OPTIMISM = 0.8  # of the errors beyond a level that were seen, because what was chosen was chosen on the same rows
WEIGHTS = np.linspace(0.0, 1.0, 21)  # of one completion beside another


class RowMoments(NamedTuple):
    """Expected values and expected squares of rows, in any units."""

    mean: Matrix
    square: Matrix

    @classmethod
    def of(cls, mean: Matrix, variance: Matrix) -> RowMoments:
        """Take completed rows and their variances."""
        return cls(mean, mean * mean + variance)

    def mixed(self, other: RowMoments, weight: float) -> RowMoments:
        """These with a weight, and others, in the same units, with the rest of it."""
        return RowMoments(*(weight * a + (1 - weight) * b for a, b in zip(self, other, strict=True)))

    @property
    def vectors(self) -> Matrix:
        """Rows over the root of the sum of their expected squares: unit where all is known.

        Examples
        --------
        >>> RowMoments.of(np.array([[2.0, 1.0]]), np.array([[0.0, 11.0]])).vectors
        array([[0.5 , 0.25]])
        """
        return np.asarray(self.mean / np.sqrt(nonzero_or_one(self.square.sum(axis=1)))[:, None])


@dataclass(frozen=True)
class JudgedPairs:
    """Judged rows with others, and which features count."""

    count: Matrix  # (judged, d), 1.0 where a feature counts
    others: Matrix  # (others, d), completed
    length: Matrix  # (judged, others), of the others over what counts
    truth: Matrix  # (judged, others), cosines
    pairs: NDArray[np.bool_]

    @classmethod
    def of(cls, lost: LostValues, others: NDArray[np.int64], completed: Matrix, features: Matrix) -> JudgedPairs:
        """Compare judged rows with other rows, completed, over some features: 1.0 for those that count."""
        count = lost.known * features
        length = nonzero_or_one(np.sqrt(count @ (completed * completed).T))
        truth = unit_rows(lost.truth * count) @ completed.T / length
        return cls(count, completed, length, truth, lost.judged[:, None] != others)

    def products(self, mean: Matrix) -> Matrix:
        """Cosines with other rows, but for the length of the judged row."""
        return np.asarray((mean * self.count) @ self.others.T / self.length)

    def sums(self, square: Matrix) -> Vector:
        """Squared lengths of the judged rows."""
        return np.asarray(np.sum(square * self.count, axis=1))

    def gaps(self, products: Matrix, sums: Vector) -> Matrix:
        """Errors of cosines; 0 for pairs that do not count."""
        return np.where(self.pairs, products / np.sqrt(nonzero_or_one(sums))[:, None] - self.truth, 0.0)

    def best_level(self, mean: Matrix, variance: Matrix) -> float:
        """What variances are best multiplied by."""
        products, fixed, own = self.products(mean), self.sums(mean * mean), self.sums(variance)
        errors = [float(np.sum(self.gaps(products, fixed + level * own) ** 2)) for level in LEVELS]
        return LEVELS[int(np.argmin(errors))]

    def best_weight(self, first: RowMoments, second: RowMoments) -> float:
        """The weight of the first of two completions, the second has the rest."""
        A, B = (self.products(one.mean) for one in (first, second))
        a, b = (self.sums(one.square) for one in (first, second))
        errors = [float(np.sum(self.gaps(w * A + (1 - w) * B, w * a + (1 - w) * b) ** 2)) for w in WEIGHTS]
        return float(WEIGHTS[int(np.argmin(errors))])

    def ratios(self, found: RowMoments) -> Matrix:
        """|Errors| over sqrt(1 - |u|^2), u the vector of the judged row over what counts; 0 where pairs do not."""
        sums = nonzero_or_one(self.sums(found.square))
        known = self.sums(found.mean**2) / sums
        scale = np.sqrt(np.maximum(1 - known, LEAST_UNCERTAINTY))
        return np.asarray(np.abs(self.gaps(self.products(found.mean), sums)) / scale[:, None])


class PairErrors(NamedTuple):
    """Errors over sqrt(1 - |u|^2): their mean square and quantiles, over all features, and how they grow with fewer."""

    square: float
    quantiles: Vector
    exponent: float

    @classmethod
    def of(cls, ratios: Matrix, halved: Matrix, share: Vector, pairs: NDArray[np.bool_]) -> PairErrors:
        """Take errors over the known features, over half of these, and the share that the known ones are of all."""
        mean, half = (max(float(np.mean(each[pairs] ** 2)), 1e-300) for each in (ratios, halved))
        exponent = float(np.clip(np.log2(half / mean), -1.0, 1.0))
        share = np.maximum(share, LEAST_SHARE)
        every = (ratios * (share ** (exponent / 2))[:, None])[pairs]
        return cls(float(np.mean(every**2)), np.quantile(every, 1 - OPTIMISM * (1 - QUANTILES)), exponent)

    def expected(self, U: Matrix) -> float:
        """Expected squared error of a similarity between two of these rows: of the size of 1 - |u_i|^2 |u_j|^2."""
        b = np.sum(U * U, axis=1)
        both = (b.sum() ** 2 - np.sum(b * b)) / max(len(b) * (len(b) - 1), 1)
        return float(self.square * max(1.0 - both, 0.0))


def drawn_others(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of rows to compare judged ones with."""
    return np.asarray(rng.permutation(n)[:OTHERS], dtype=np.int64)
