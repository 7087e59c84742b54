"""Similarities of rows that lost values, over the features that were known of them: what a completion is scored by.

Truth is a scored row's direction over what was known of it before the loss; the other row of a pair is completed, and
taken as it is.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.all_rows.calibrate import OTHERS
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.shared.rows import nonzero_or_one, unit_rows
from simcomplete._types import Matrix, Vector

# Of variances; neighbours are 9 percent apart. Where one feature is much larger than the others, it decides the length
# and the direction of a row at once: its variance shortens vectors hardly, and the level is near 0.
LEVELS = [float(level) for level in np.geomspace(1 / 64, 2.0, 57)]
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
    def and_variance(self) -> tuple[Matrix, Matrix]:
        """Expected values and variances."""
        return self.mean, np.maximum(self.square - self.mean**2, 0.0)

    def at_level(self, level: float) -> RowMoments:
        """The same with variances times a level."""
        return RowMoments(self.mean, self.mean**2 + level * (self.square - self.mean**2))

    @property
    def vectors(self) -> Matrix:
        """Rows over the root of the sum of their expected squares: unit where all is known.

        Examples
        --------
        >>> RowMoments.of(np.array([[2.0, 1.0]]), np.array([[0.0, 11.0]])).vectors
        array([[0.5 , 0.25]])
        """
        return np.asarray(self.mean / np.sqrt(nonzero_or_one(self.square.sum(axis=1)))[:, None])


class HoldoutResult(NamedTuple):
    """What a completion made of rows that had lost values, and of the rows they are compared with."""

    lost: HiddenValues
    others: NDArray[np.int64]  # positions in `lost.X`
    scored: RowMoments
    compared: RowMoments

    def restricted(self) -> Matrix:
        """Expected cosines of scored rows with the others, over the features that both had before the loss.

        Features of rows that were lost too, and of their copies, count as they did before.
        """
        return self._cosines(self.scored, self.compared, np.ones(self.lost.X.shape[1]))

    def _cosines(self, one: RowMoments, other: RowMoments, features: Vector) -> Matrix:
        A, B = self.lost.known * features, (~np.isnan(self.lost.before()[self.others])).astype(np.float64)
        whole = np.sqrt((one.square * A) @ B.T) * np.sqrt(A @ (other.square * B).T)
        return np.asarray((one.mean * A) @ (other.mean * B).T / nonzero_or_one(whole))

    def at_level(self, level: float) -> HoldoutResult:
        """The same with variances times a level."""
        return self._replace(scored=self.scored.at_level(level), compared=self.compared.at_level(level))

    def best_level(self, features: Vector | None = None) -> float:
        """What variances are best multiplied by, for cosines over the features that both rows had.

        Features count alike in these, unless it is given how much. Pairs count by the number of their features: the
        more there are, the closer to similarities over all of them.
        """
        features = np.ones(self.lost.X.shape[1]) if features is None else features
        before = self.lost.before()[self.others]
        exact = [RowMoments.of(rows, np.zeros_like(rows)) for rows in (self.lost.truth, np.nan_to_num(before))]
        counted = (self.lost.scored[:, None] != self.others) & ~np.isnan(before).all(axis=1)
        A, B = self.lost.known * features, (~np.isnan(before)).astype(np.float64)
        truth = self._cosines(exact[0], exact[1], features)
        (m, v), (k, w) = self.scored.and_variance, self.compared.and_variance
        products = (m * A) @ (k * B).T
        own, more, other, rest = (m * m * A) @ B.T, (v * A) @ B.T, A @ (k * k * B).T, A @ (w * B).T
        counts = (self.lost.known @ B.T) * counted
        errors = []
        for level in LEVELS:
            found = products / nonzero_or_one(np.sqrt(own + level * more) * np.sqrt(other + level * rest))
            errors.append(float(np.sum(counts * (found - truth) ** 2)))
        return LEVELS[int(np.argmin(errors))]

    @property
    def finite(self) -> bool:
        """Whether no number left its range, as may happen with values of very different size."""
        return all(bool(np.isfinite(part).all()) for part in (*self.scored, *self.compared))


HoldoutCallback = Callable[[HoldoutResult], None]


@dataclass(frozen=True)
class ScoredPairs:
    """Scored rows with others, and which features count."""

    count: Matrix  # (scored, d), how much a feature counts: 0.0 where it is unknown
    others: Matrix  # (others, d), completed
    length: Matrix  # (scored, others), of the others over what counts
    truth: Matrix  # (scored, others), cosines
    pairs: NDArray[np.bool_]

    @classmethod
    def of(cls, lost: HiddenValues, others: NDArray[np.int64], completed: Matrix, features: Matrix) -> ScoredPairs:
        """Compare scored rows with other rows, completed, over features that count as much as is given."""
        count = lost.known * features
        length = nonzero_or_one(np.sqrt(count @ (completed * completed).T))
        truth = unit_rows(lost.truth * np.sqrt(count)) * np.sqrt(count) @ completed.T / length
        return cls(count, completed, length, truth, lost.scored[:, None] != others)

    def products(self, mean: Matrix) -> Matrix:
        """Cosines with other rows, but for the length of the scored row."""
        return np.asarray((mean * self.count) @ self.others.T / self.length)

    def sums(self, square: Matrix) -> Vector:
        """Squared lengths of the scored rows."""
        return np.asarray(np.sum(square * self.count, axis=1))

    def gaps(self, products: Matrix, sums: Vector) -> Matrix:
        """Errors of cosines; 0 for pairs that do not count."""
        return np.where(self.pairs, products / np.sqrt(nonzero_or_one(sums))[:, None] - self.truth, 0.0)

    def best_weight(self, first: RowMoments, second: RowMoments) -> float:
        """The weight of the first of two completions, the second has the rest."""
        A, B = (self.products(one.mean) for one in (first, second))
        a, b = (self.sums(one.square) for one in (first, second))
        errors = [float(np.sum(self.gaps(w * A + (1 - w) * B, w * a + (1 - w) * b) ** 2)) for w in WEIGHTS]
        return float(WEIGHTS[int(np.argmin(errors))])


def drawn_others(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of rows to compare scored ones with."""
    return np.asarray(rng.permutation(n)[:OTHERS], dtype=np.int64)
