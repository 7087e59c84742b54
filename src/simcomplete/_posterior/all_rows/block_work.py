"""What passes over rows outside memory do with a block, and can be sent to where the rows are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np

from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.packing import energy_sums
from simcomplete._posterior.shared.rows import in_units_of, nonzero_or_one
from simcomplete._types import Mask, Matrix, Vector


class Totals(NamedTuple):
    """Sums over rows: observed values per feature, their sums, and the largest size of all."""

    counts: Vector
    sums: Vector
    largest: float

    def plus(self, other: Totals) -> Totals:
        """Of both."""
        return Totals(self.counts + other.counts, self.sums + other.sums, max(self.largest, other.largest))


def totals_of(X: Matrix, start: int) -> Totals:
    known = ~np.isnan(X)
    values = np.where(known, X, 0.0)
    return Totals(known.sum(axis=0).astype(np.float64), values.sum(axis=0), float(np.max(np.abs(values), initial=0.0)))


@dataclass(frozen=True)
class EnergySums:
    """What a pass does with a block for a turn of `Scaling`."""

    seen: Mask
    energy: Vector

    def __call__(self, X: Matrix, start: int) -> Vector:
        """Sum up."""
        X = X[:, self.seen]
        size = np.abs(np.nan_to_num(X))
        squares = (size / nonzero_or_one(size.max(axis=1, initial=0.0))[:, None]) ** 2
        return energy_sums(squares, (~np.isnan(X)).astype(np.float64), self.energy)


@dataclass(frozen=True)
class SpreadOf:
    """What the variances of each row add up to, and its misfit."""

    model: RowModel
    seen: Mask

    def __call__(self, X: Matrix, start: int) -> list[Matrix]:
        """Of a block."""
        done = replace(self.model, local=None).fill(np.ascontiguousarray(X[:, self.seen]))
        return [np.column_stack([done.variance.sum(axis=1), done.misfit])]


@dataclass(frozen=True)
class VectorsOf:
    """Vectors of rows by one model."""

    model: RowModel
    seen: Mask

    def __call__(self, X: Matrix) -> Matrix:
        """Make them."""
        U = np.zeros(X.shape)
        U[:, self.seen] = self.model.vectors(self.model.fill(np.ascontiguousarray(X[:, self.seen])))
        return U


@dataclass(frozen=True)
class MomentsOf:
    """Vectors of rows by a model of means and squares, or variances."""

    model: Any
    variances: bool

    def __call__(self, X: Matrix) -> Matrix:
        """Make them."""
        made = self.model.moments(np.ascontiguousarray(X))
        if not self.variances:
            return np.asarray(made.vectors)
        return np.asarray(made.and_variance[1] / nonzero_or_one(made.square.sum(axis=1))[:, None])


@dataclass(frozen=True)
class PerRow:
    """What makes a number of every row."""

    work: Callable[[Matrix], Vector]
    seen: Mask

    def __call__(self, X: Matrix, start: int) -> list[Vector]:
        """Of a block."""
        return [self.work(np.ascontiguousarray(X[:, self.seen]))]


def as_float64(X: Any) -> Matrix:
    return np.asarray(X, dtype=np.float64)


def largest_of(X: Matrix, start: int) -> float:
    return float(np.max(np.abs(np.nan_to_num(X)), initial=0.0))


@dataclass(frozen=True)
class LengthsOver:
    """Lengths of rows in units of the largest value."""

    top: float

    def __call__(self, X: Matrix, start: int) -> list[Vector]:
        """Of a block."""
        with np.errstate(over="ignore"):
            return [np.sqrt(np.sum((np.nan_to_num(X) / self.top) ** 2, axis=1))]


@dataclass(frozen=True)
class InUnits:
    """Rows divided by a length."""

    scale: float

    def __call__(self, X: Matrix) -> Matrix:
        """Divide."""
        return in_units_of(self.scale, X)
