"""Correlations of rows: the cosine of rows less their own mean, taken over what was observed of each.

Whatever model completes the rows then sees rows whose values add up to 0. What it says of incomplete ones need not:
the part of a vector along constant rows, of which no centred row has any, is taken off (`without_constant`).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simcomplete._posterior.shared.rows import PosteriorModel, RowValues, Vectors, nonzero_or_one
from simcomplete._rows.derived import ChangedRows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, astype, memory_map_under, namespace
from simcomplete._types import Matrix

NOISE = 8.0  # times sqrt(d) and the precision: what rounding leaves of a constant row
SMALL_ROW, LIFT = 1e-200, 2.0**200  # rows whose largest value is smaller are multiplied by it for the while
FEW_DIGITS, STAYS = 2.0**-1000, 2.0**-70  # smaller numbers lack digits; what they are divided by once more


def centred_rows(X: Array) -> Array:
    """Rows less the mean of their observed values, in float64; NaN stays, constant rows become exactly 0.

    Examples
    --------
    >>> centred_rows(np.array([[1.0, np.nan, 3.0], [0.1, 0.1, 0.1]]))
    array([[-1., nan,  1.],
           [ 0.,  0.,  0.]])
    """
    xp = namespace(X)
    noise = NOISE * X.shape[1] ** 0.5 * float(xp.finfo(X.dtype).eps)
    x = astype(X, xp.float64)
    seen = ~xp.isnan(x)
    zero = xp.zeros_like(x)
    count = xp.sum(astype(seen, xp.float64), axis=1, keepdims=True)
    count = xp.where(count > 0, count, xp.ones_like(count))
    top = xp.max(xp.where(seen, xp.abs(x), zero), axis=1, keepdims=True)
    # Numbers next to the smallest have fewer digits, which a mean would lose.
    lift = xp.where(top < SMALL_ROW, xp.ones_like(top) * LIFT, xp.ones_like(top))
    x = x * lift
    for _ in range(2):  # the second time for the digits that the first mean lacks
        x = x - xp.sum(xp.where(seen, x / count, zero), axis=1, keepdims=True)
    size = xp.max(xp.where(seen, xp.abs(x), zero), axis=1, keepdims=True)
    flat = size <= noise * top * lift
    # What is left of the smallest numbers stays a little larger, where it keeps its digits.
    lift = xp.where(size < lift * FEW_DIGITS, lift * STAYS, lift)
    return xp.where(seen & flat, zero, x / lift)


def centred_table(rows: RowTable) -> RowTable:
    """Centred rows of a table: a copy of rows in memory, others when they are read."""
    held = rows.held
    if held is None or memory_map_under(held) is not None:
        return ChangedRows(rows, centred_rows)
    return HeldRows(astype(centred_rows(held), rows.dtype), rows.labels)


def without_constant(U: Matrix) -> Matrix:
    """Vectors without their part along constant rows."""
    return np.asarray(U - U.mean(axis=1, keepdims=True))


@dataclass(frozen=True)
class CentredModel:
    """A model of centred rows, for rows as they come."""

    model: PosteriorModel = field(repr=False)

    @property
    def unit(self) -> Any:
        """Vectors of the fitted rows."""
        unit = self.model.unit
        return unit if isinstance(unit, RowTable) else without_constant(unit)

    @property
    def choice(self) -> Any:
        """What was chosen."""
        return self.model.choice

    def values(self, X: Matrix) -> RowValues:
        """Expected values of any rows, with the mean that was taken off them, and their deviations."""
        known = ~np.isnan(X)
        mean = np.sum(np.where(known, X, 0.0), axis=1) / np.maximum(known.sum(axis=1), 1)
        found = self.model.values(np.asarray(centred_rows(X)))
        return RowValues(np.where(known, X, found.mean + mean[:, None]), found.std)

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing."""
        return without_constant_part(self.model.vectors(np.asarray(centred_rows(X))))


def without_constant_part(found: Vectors) -> Vectors:
    """Vectors without their part along constant rows, with the length that they have left."""
    u = without_constant(found.u)
    before, after = (np.sqrt(np.sum(v * v, axis=1)) for v in (found.u, u))
    share = np.where(before > 0, np.minimum(after / nonzero_or_one(before), 1.0), 1.0)
    exact = found.length >= 1.0
    u, length = np.where(exact[:, None], found.u, u), np.where(exact, found.length, found.length * share)
    return replace(found, u=u, length=length)
