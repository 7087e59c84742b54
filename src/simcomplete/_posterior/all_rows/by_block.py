"""All rows of a table outside memory, read by block in every pass: the form that `GivenRows` has in memory.

What is chosen and learnt is so on at most 3000 rows, which are read; the model of all rows is fitted by passes, one for
each iteration, over sums per feature. Vectors are made when they are asked for. Orders, draws and sums are those of the
same rows in memory, so that the answer is the same but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.iterate import Limits, Run
from simcomplete._posterior.all_rows.block_work import (
    EnergySums,
    InUnits,
    LengthsOver,
    MomentsOf,
    PerRow,
    SpreadOf,
    Totals,
    VectorsOf,
    as_float64,
    largest_of,
    totals_of,
)
from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.em import EmIterate, FeatureSums, fit
from simcomplete._posterior.all_rows.hidden_values import masks_and_values
from simcomplete._posterior.all_rows.packing import GivenRows, IncompleteRows, Scaling, key_bytes
from simcomplete._posterior.all_rows.row_order import order_by_key
from simcomplete._posterior.all_rows.select import RowsSetting
from simcomplete._posterior.centred import centred_rows
from simcomplete._posterior.shared.rows import middle_length, ordered_bytes
from simcomplete._rows.budget import block_bytes
from simcomplete._rows.derived import MadeRows
from simcomplete._rows.table import RowTable
from simcomplete._types import Mask, Matrix, Vector

ARRAYS = 10  # of the size of a block that work on it takes


@dataclass(frozen=True)
class Prepared:
    """What makes incomplete rows of a model's space of rows of a table."""

    seen: Mask
    scaling: Scaling
    centre: Vector | None = None

    def __call__(self, X: Matrix) -> IncompleteRows:
        """Choose features, divide by sizes, take a centre off."""
        X = np.ascontiguousarray(X[:, self.seen])
        rows = IncompleteRows.of(X / self.scaling.sizes(X)[:, None])
        return rows if self.centre is None else rows.centred(self.centre)


@dataclass(frozen=True)
class OnPrepared:
    """Work on prepared rows, for where there are rows of a table."""

    prepared: Prepared
    work: Callable[[IncompleteRows], Any]

    def __call__(self, X: Matrix, start: int = 0) -> Any:
        """Do it."""
        return self.work(self.prepared(X))


@dataclass(frozen=True)
class BlockRows:
    """Incomplete rows to fit a factor model to, prepared anew in every pass."""

    table: RowTable
    prepared: Prepared

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.table.n, int(self.prepared.seen.sum())

    @property
    def values_held(self) -> int:
        """Those of a block, and of the sketch that the start comes from."""
        return block_bytes() // 8 + 60 * self.table.n // 4

    def _fold(self, work: Callable[[IncompleteRows], Any], merge: Callable[[Any, Any], Any]) -> Any:
        return _fold(self.table, OnPrepared(self.prepared, work), merge)

    def totals(self) -> tuple[Matrix, Matrix, float]:
        """Observed values per feature, their sums, and the largest size of all."""
        return tuple(self._fold(_totals, Totals.plus))

    def centred(self, centre: Matrix) -> BlockRows:
        """The rows less a centre where they are observed."""
        return replace(self, prepared=replace(self.prepared, centre=centre))

    def squares(self) -> Matrix:
        """Sums of squares per feature."""
        return np.asarray(self._fold(IncompleteRows.squares, np.add))

    def over(self, share: float) -> Any:
        """Values over a number, as something to multiply with from both sides."""
        return MadeRows(self.table, OnPrepared(self.prepared, _Over(share)), self.shape[1])

    def sums_by(self, model: Any) -> Any:
        """What a model's M step needs of all rows."""
        return self._fold(model.sums, _added)


@dataclass(frozen=True)
class _Over:
    share: float

    def __call__(self, rows: IncompleteRows) -> Matrix:
        return rows.over(self.share)


def _fold(table: RowTable, work: Any, merge: Any) -> Any:
    return table.fold(work, merge, bytes_per_row=8 * ARRAYS * table.d, label="rows", progress=False)


def _totals(rows: IncompleteRows) -> Totals:
    return Totals(*rows.totals())


def _added(one: FeatureSums, other: FeatureSums) -> FeatureSums:
    return FeatureSums(one.moments + other.moments, one.cross + other.cross, one.bound + other.bound)


class RowsByBlock(GivenRows):
    """Rows of a table that are read by block; NaN where missing, in units of a typical length."""

    def __init__(self, table: RowTable) -> None:
        self.table, self.shape = table, table.shape
        self._counts = _fold(table, totals_of, Totals.plus)
        seen = self._counts.counts > 0
        self.seen: Mask = seen | (not seen.any())

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The order by bytes."""
        d = self.shape[1]
        return order_by_key(self.table, key_bytes, (d + 7) // 8 + 8 * d)

    def take(self, which: NDArray[np.int64]) -> Matrix:
        """Some rows, by their places in the order by bytes."""
        return self.take_given(self.order[which])

    def take_by_value(self, which: NDArray[np.int64]) -> Matrix:
        """Some rows, by their places in the order by value."""
        return self.take_given(order_by_key(self.table, _value_bytes, 16 * self.shape[1])[which])

    def take_given(self, which: NDArray[np.int64]) -> Matrix:
        """Some rows, by their places as they were given."""
        return np.ascontiguousarray(self.table.take(which)[:, self.seen])

    def fit(self, setting: RowsSetting, averaged: bool, limits: Limits) -> tuple[RowModel, Run[EmIterate]]:
        """Fit a setting to all rows, in passes."""
        scaling = Scaling.by_turns(
            setting.space,
            self._counts.largest,
            self._counts.counts[self.seen],
            lambda energy: _fold(self.table, EnergySums(self.seen, energy), np.add),
        )
        rows = BlockRows(self.table, Prepared(self.seen, scaling))
        factors, run = fit(rows, setting.rank, pooled=setting.model == "ppca", averaged=averaged, limits=limits)
        return RowModel(factors, scaling), run

    def completed(self, model: RowModel, tuning: tuple[float, float] | None) -> tuple[RowModel, RowTable]:
        """The model at a strength and a power, and vectors of all rows, made when they are read."""
        if tuning is not None:
            V, misfit = np.concatenate(_fold(self.table, SpreadOf(model, self.seen), _joined)).T
            model = model.at_level_of(*tuning, V, misfit)
        return model, MadeRows(self.table, VectorsOf(model, self.seen))

    def vectors_and_variances(self, model: Any) -> tuple[RowTable, RowTable]:
        """Vectors of all rows by a model of means and squares, and variances in units of their squared lengths."""
        return MadeRows(self.table, MomentsOf(model, False)), MadeRows(self.table, MomentsOf(model, True))

    def per_row(self, work: Callable[[Matrix], Vector]) -> Vector:
        """One number for every row."""
        return np.concatenate(_fold(self.table, PerRow(work, self.seen), _joined))


def _value_bytes(X: Matrix) -> NDArray[np.uint8]:
    return ordered_bytes(masks_and_values(X))


def _joined(one: list[Any], other: list[Any]) -> list[Any]:
    return one + other


def table_in_units(rows: RowTable, centred: bool) -> tuple[RowsByBlock, float]:
    """Rows of a table divided by their typical length, and that length; see `typical_length`."""
    table = MadeRows(rows, centred_rows) if centred else MadeRows(rows, as_float64)
    top = _fold(table, largest_of, max)
    lengths = np.concatenate(_fold(table, LengthsOver(top), _joined)) if top > 0 else np.zeros(1)
    scale = middle_length(top, lengths)
    return RowsByBlock(MadeRows(table, InUnits(scale))), scale
