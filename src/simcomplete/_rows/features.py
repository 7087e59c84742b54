"""Statistics of features over their observed values, for rows in memory or not.

Sums are computed in one pass, in float64 and in units of each feature's size, so that values such as 1e300 and 1e-300
neither overflow nor underflow. Medians and quartiles are exact: see `quartiles`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import available_bytes, memory_limit, require, row_blocks
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, astype, like, namespace, to_numpy

QUARTERS = (0.25, 0.5, 0.75)
Vector64 = NDArray[np.float64]


class ColumnSums(NamedTuple):
    """The count, range, mean and sum of squared deviations of every feature, the last two in a unit of its own."""

    seen: Vector64
    low: Vector64
    high: Vector64
    unit: Vector64
    mean: Vector64
    squares: Vector64

    @property
    def size(self) -> Vector64:
        """The largest magnitude; 0 where nothing was observed."""
        return np.asarray(np.where(self.seen > 0, np.maximum(np.abs(self.low), np.abs(self.high)), 0.0))

    @property
    def span(self) -> Vector64:
        """The difference of the highest and lowest value."""
        with np.errstate(over="ignore", invalid="ignore"):  # may be infinite, or nothing observed
            return self.high - self.low

    @property
    def middle(self) -> Vector64:
        """The mean."""
        return self.mean * self.unit

    @property
    def sd(self) -> Vector64:
        """The standard deviation of the values (not corrected for sampling)."""
        return np.asarray(np.sqrt(self.squares / np.maximum(self.seen, 1.0)) * self.unit)


def feature_sums(X: Array, start: int = 0) -> ColumnSums:
    """Sums over a block of rows."""
    xp = namespace(X)
    x = astype(X, xp.float64)
    seen = ~xp.isnan(x)
    none = xp.full_like(x[:1, :], math.inf)
    low = to_numpy(xp.min(xp.where(seen, x, none), axis=0))
    high = to_numpy(xp.max(xp.where(seen, x, -none), axis=0))
    count = to_numpy(xp.sum(astype(seen, xp.float64), axis=0))
    size = np.where(count > 0, np.maximum(np.abs(low), np.abs(high)), 1.0)
    unit = np.ldexp(1.0, np.frexp(np.where(size > 0, size, 1.0))[1] - 1)
    z = xp.where(seen, x / like(unit, X, xp.float64), xp.zeros_like(x))
    mean = to_numpy(xp.sum(z, axis=0)) / np.maximum(count, 1.0)
    gap = xp.where(seen, z - like(mean, X, xp.float64), xp.zeros_like(x))
    return ColumnSums(count, low, high, unit, mean, to_numpy(xp.sum(gap * gap, axis=0)))


def merge_sums(a: ColumnSums, b: ColumnSums) -> ColumnSums:
    """Merge the sums over two blocks by the update of Chan, Golub and LeVeque, in the larger of the two units."""
    unit = np.maximum(np.where(a.seen > 0, a.unit, 0.0), np.where(b.seen > 0, b.unit, 0.0))
    unit = np.where(unit > 0, unit, 1.0)
    count = a.seen + b.seen
    n = np.maximum(count, 1.0)
    of_a, of_b = (np.where(part.seen > 0, part.unit / unit, 0.0) for part in (a, b))
    gap = b.mean * of_b - a.mean * of_a
    return ColumnSums(
        count,
        np.minimum(a.low, b.low),
        np.maximum(a.high, b.high),
        unit,
        a.mean * of_a + gap * (b.seen / n),
        a.squares * of_a**2 + b.squares * of_b**2 + gap**2 * (a.seen * b.seen / n),
    )


def quartiles(rows: RowTable, progress: bool | None = False) -> Vector64:
    """Return exact quartiles of the observed values of every feature, (3, d), interpolated as by NumPy.

    Columns are sorted in memory, as many at a time as fit. Rows outside memory are read once for every such group of
    columns: once for data of up to some gigabytes, more often for larger data.
    """
    width = 3 * 8 * rows.n  # a column, its parts, and its sorted copy
    require(width, f"the {rows.n} values of one feature, to find their median", "use center='mean' and scale='sd'")
    budget = memory_limit() or max(available_bytes() // 4, width)
    found = np.full((len(QUARTERS), rows.d), np.nan)
    for columns in row_blocks(rows.d, width, budget):
        parts = rows.fold(
            SomeColumns(columns), list.__add__, bytes_per_row=2 * 8 * rows.d, label="medians", progress=progress
        )
        found[:, columns] = column_quantiles(np.concatenate(parts), QUARTERS)
    return found


@dataclass(frozen=True)
class SomeColumns:
    """Takes some columns of every block, in NumPy and float64."""

    which: slice

    def __call__(self, X: Array, start: int) -> list[Vector64]:
        """Take them."""
        return [np.array(to_numpy(X[:, self.which]), dtype=np.float64)]


def column_quantiles(values: Vector64, shares: tuple[float, ...]) -> Vector64:
    """Return quantiles of every column, ignoring NaN; NaN for a column of NaN. `values` is sorted in place.

    Examples
    --------
    >>> column_quantiles(np.array([[4.0, 1.0], [np.nan, 2.0], [2.0, 3.0]]), (0.5,))
    array([[3., 2.]])
    """
    values.sort(axis=0)  # NaN is sorted last
    last = np.sum(~np.isnan(values), axis=0) - 1
    every = np.arange(values.shape[1])
    found = []
    for share in shares:
        at = share * np.maximum(last, 0)
        below = np.floor(at).astype(np.int64)
        above = np.minimum(below + 1, np.maximum(last, 0))
        part = at - below
        found.append(values[below, every] * (1 - part) + values[above, every] * part)
    return np.array(found)
