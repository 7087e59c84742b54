"""For every row of an incomplete table the rows that agree with it most remarkably on what both have.

Differences are in standard deviations of the features. All pairs are compared, some rows at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Covariance, Dense
from simcomplete._posterior.candidates.moments import WIDE, WideStatistics
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.progress import track
from simcomplete._types import Mask, Matrix

PARTNERS = 16  # rows that are kept for each row
LARGEST_VALUE = 100.0  # in standard deviations, where all pairs are compared: beyond, squares would lose what differs
AGREED = 0.001  # squared difference below which agreement counts no more in the order of partners
STRANGERS = 2.0  # mean squared difference of two independent rows, in variances
WIDE_ROWS = 1000  # that the covariance of wide rows is made from


class Partners(NamedTuple):
    """Partners of some rows, most remarkable first.

    Attributes
    ----------
    ids : array of int, shape (rows, k)
        Positions; -1 where a row has fewer.
    distances : array of shape (rows, k)
        Mean squared differences over the features in common; inf where there is no partner.
    common : array of int, shape (rows, k)
        How many features a row has in common with each.
    """

    ids: NDArray[np.int64]
    distances: Matrix
    common: NDArray[np.int64]

    def ordered(self) -> Partners:
        """The same, most remarkable first; of equally remarkable ones the lower position."""
        order = np.lexsort((self.ids, remarkable(self.distances, self.common)), axis=-1)
        return self._in_order(order)

    def some(self, rows: NDArray[Any]) -> Partners:
        """Those of some rows."""
        return Partners(self.ids[rows], self.distances[rows], self.common[rows])

    def only(self, which: Mask) -> Partners:
        """Some of the partners of each row, moved to the front."""
        order = np.argsort(~(which & (self.ids >= 0)), axis=1, kind="stable")
        there = which & (self.ids >= 0)
        ids, apart = np.where(there, self.ids, -1), np.where(there, self.distances, np.inf)
        return Partners(ids, apart, np.where(there, self.common, 0))._in_order(order)

    def _in_order(self, order: NDArray[np.int64]) -> Partners:
        ids, common = (np.take_along_axis(part, order, axis=1) for part in (self.ids, self.common))
        return Partners(ids, np.take_along_axis(self.distances, order, axis=1), common)


def remarkable(distances: Matrix, common: NDArray[np.int64]) -> Matrix:
    """How remarkable it is that rows are so near: the smaller, the more.

    k independent differences are all below a fraction t of what is usual with a probability like t^k, so that a few
    values in common that agree are less than many.

    Examples
    --------
    >>> remarkable(np.array([0.02, 0.0]), np.array([20, 3])).round(1)
    array([-91.1, -22.8])
    """
    near = np.log((np.minimum(distances, STRANGERS) + AGREED) / (STRANGERS + AGREED))
    return np.where(np.isfinite(distances), common * near, np.inf)


@dataclass(frozen=True)
class ScaledTable:
    """Rows in standard deviations around the means of their features, 0 where missing, and the mask."""

    values: Matrix
    observed: Mask

    @classmethod
    def of(cls, X: Matrix) -> ScaledTable:
        """Take rows with NaN where missing; features that are constant stay 0."""
        observed = ~np.isnan(X)
        count = np.maximum(observed.sum(axis=0), 1)
        top = np.nanmax(np.where(observed, np.abs(X), 0.0), axis=0, initial=0.0)
        Z = np.where(observed, X / np.where(top > 0, top, 1.0), 0.0)  # so that no square leaves the range of numbers
        Z = np.where(observed, Z - Z.sum(axis=0) / count, 0.0)
        deviation = np.sqrt(np.sum(Z * Z, axis=0) / count)
        varies = deviation > 1e-12
        return cls(np.where(varies, Z / np.where(varies, deviation, 1.0), 0.0), observed)

    @property
    def n(self) -> int:
        """How many rows."""
        return len(self.values)

    @cached_property
    def covariance(self) -> Covariance:
        """Of the features, from the rows that have both; beyond `WIDE` of them from rows with 0 where missing."""
        d = self.values.shape[1]
        if d > WIDE:
            some = np.linspace(0, self.n - 1, min(self.n, WIDE_ROWS)).astype(np.int64)
            return WideStatistics(self.values[some]).covariance
        M = self.observed.astype(np.float64)
        count = M.T @ M
        # Pairs of features that few rows have are drawn to 0: as if four more rows had been there.
        C = self.values.T @ self.values / (count + 4.0 * ~np.eye(d, dtype=bool) + (count == 0))
        w, V = np.linalg.eigh((C + C.T) / 2)
        return Dense((V * np.maximum(w, 1e-6)) @ V.T)

    def partners(self, least: int, progress: bool | None = None, most: int = PARTNERS) -> Partners:
        """The partners of all rows that have at least so many features in common with them."""
        k = max(1, min(most, self.n - 1))
        Z, M = np.clip(self.values, -LARGEST_VALUE, LARGEST_VALUE), self.observed.astype(np.float64)
        left, right = np.hstack([Z * Z, M, -2 * Z]), np.hstack([M, Z * Z, Z])
        ids, far, common = np.empty((self.n, k), np.int64), np.empty((self.n, k)), np.empty((self.n, k), np.int64)
        blocks = row_blocks(self.n, 8 * (5 * self.n + 4 * k * Z.shape[1]))
        for part in track(blocks, "pairs", progress) if len(blocks) > 1 else blocks:
            counts = M[part] @ M.T
            apart = np.maximum(left[part] @ right.T, 0.0) / np.maximum(counts, 1.0)
            apart[counts < least] = np.inf
            apart[np.arange(len(apart)), np.arange(part.start, part.stop)] = np.inf
            order = np.argpartition(remarkable(apart, counts.astype(np.int64)), k - 1, axis=1)[:, :k]
            found = np.where(np.isfinite(np.take_along_axis(apart, order, axis=1)), order, -1)
            here = Partners(found, *self.compare(self.values[part], self.observed[part], found)).ordered()
            ids[part], far[part], common[part] = here
        return Partners(ids, far, common)

    def compare(self, values: Matrix, observed: Mask, ids: NDArray[np.int64]) -> tuple[Matrix, NDArray[np.int64]]:
        """Mean squared differences of rows and some rows of the table each, and how many features they share."""
        both = self.observed[ids] & observed[:, None, :]
        count = both.sum(axis=2)
        gap = np.where(both, self.values[ids] - values[:, None, :], 0.0)
        distance = np.sum(gap * gap, axis=2) / np.maximum(count, 1)
        absent = (ids < 0) | (count == 0)
        return np.where(absent, np.inf, distance), np.where(absent, 0, count)
