"""What tells two incomplete rows that are the same from two strangers."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Conditioner, Covariance
from simcomplete._posterior.same_rows.density import StrangerDensity
from simcomplete._posterior.same_rows.near_pairs import Partners, ScaledTable, remarkable
from simcomplete._types import Mask, Matrix

SMALL = 1e-4  # added to squared distances before their logarithm
SHRINKAGE = 0.1  # of the covariance that distances are measured by
LARGEST_SIDE = 1e100  # whose square is a number


class RowPair(NamedTuple):
    """Rows, a partner of each, and its rivals: those who come after it in the order of partners.

    Attributes
    ----------
    values, observed : array of shape (rows, d)
        The rows.
    partner, partner_observed : array of shape (rows, d)
        The partner of each.
    rivals : Partners
        Less remarkable ones, those that are equal to the row as the partner is left out; they come first.
    """

    values: Matrix
    observed: Mask
    partner: Matrix
    partner_observed: Mask
    rivals: Partners

    @classmethod
    def of(cls, values: Matrix, observed: Mask, partner: Matrix, partner_observed: Mask, others: Partners) -> RowPair:
        """Put rows, their partners, and all whom the rows may know, together."""
        pair = cls(values, observed, partner, partner_observed, others)
        first, order = pair.distance, remarkable(others.distances, others.common)
        behind = order > remarkable(first, pair.common)[:, None]
        equal = (others.distances == 0) & (first == 0)[:, None]
        return pair._replace(rivals=others.only(behind & ~equal))

    @property
    def both(self) -> Mask:
        """What row and partner have in common."""
        return np.asarray(self.observed & self.partner_observed)

    @property
    def common(self) -> NDArray[np.int64]:
        """How many features that are."""
        return np.asarray(self.both.sum(axis=1))

    @property
    def distance(self) -> Matrix:
        """Mean squared difference over what is in common, in variances."""
        gap = np.where(self.both, self.partner - self.values, 0.0)
        return np.asarray(np.sum(gap * gap, axis=1) / np.maximum(self.common, 1))

    def some(self, which: NDArray[np.bool_]) -> RowPair:
        """Some of the rows."""
        rows = self.values[which], self.observed[which], self.partner[which], self.partner_observed[which]
        return RowPair(*rows, self.rivals.some(which))

    def strangers(self, density: StrangerDensity) -> Matrix:
        """Logarithm of the number of strangers to expect as near as the partner."""
        return density.strangers(self.distance, self.both, self.rivals)

    def features(self, table: ScaledTable, density: StrangerDensity) -> Matrix:
        """Seven numbers: distances plain and by the covariance, also beside those of the first rival, and strangers."""
        covariance = table.covariance.shrunk(SHRINKAGE)
        rival, alone = self.rivals.ids[:, 0], self.rivals.ids[:, 0] < 0
        second = np.where(alone, self.distance, self.rivals.distances[:, 0])
        m, m0 = _weighed(covariance, self.both, np.stack([self.values - self.partner, self.values]))
        (other,) = _weighed(
            covariance, self.observed & table.observed[rival], (self.values - table.values[rival])[None]
        )
        L = np.log(self.distance + SMALL)
        return np.column_stack(
            [
                L,
                L - np.log(second + SMALL),
                self.strangers(density),
                m,
                m - np.where(alone, m, other),
                m0,
                np.log(np.maximum(self.common, 1)),
            ]
        )


def pairs_at(
    table: ScaledTable, rows: NDArray[np.int64], partners: Partners, place: int, values: Matrix | None = None
) -> RowPair:
    """Rows of the table, or other values in their place, with the partner at some place in the list of each."""
    other = partners.ids[:, place]
    others = partners.only(np.broadcast_to(np.arange(partners.ids.shape[1]) > place, partners.ids.shape))
    own = table.values[rows] if values is None else values
    return RowPair.of(own, table.observed[rows], table.values[other], table.observed[other], others)


def _weighed(covariance: Covariance, observed: Mask, sides: Matrix) -> Matrix:
    """log of r_o' C_oo^-1 r_o / |o| for several right-hand sides r."""
    sides = np.clip(np.where(observed, sides, 0.0), -LARGEST_SIDE, LARGEST_SIDE)
    weighed = Conditioner(covariance, observed).weigh(sides)
    count = np.maximum(observed.sum(axis=1), 1)
    return np.asarray(np.log(np.maximum(np.sum(sides * weighed, axis=2) / count, 0.0) + SMALL))
