"""Rows that are computed from other rows when they are read, such as a factor that needs no copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.passes import Part, Target, Work
from simcomplete._rows.table import HeldRows, RowTable, as_row_table
from simcomplete._rows.xp import Array, Namespace, astype, like, to_numpy, unit_array

MADE_BYTES = 80  # largest number of temporaries per value while rows are made


class RowsOfSource(RowTable):
    """Rows that are made from those of another table, in its library and on its device."""

    source: RowTable

    @property
    def xp(self) -> Namespace:
        """The library of the source."""
        return self.source.xp

    def like(self, values: NDArray[Any], dtype: Any = None) -> Array:
        """Bring a NumPy array to the library and device of the source."""
        return self.source.like(values, dtype)


class UnitRows(RowsOfSource):
    """Rows of a table divided by their length, in its library, on its device and in its type; zero rows stay.

    Parameters
    ----------
    source : array or RowTable, shape (n, d)
        Referred to, not copied: it must not change while this is in use.
    below : array of shape (m, d), optional
        Rows that follow them, unchanged.

    Examples
    --------
    >>> rows = UnitRows(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[0.5, 0.5]]))
    >>> rows.shape
    (3, 2)
    >>> rows[0:3]
    array([[0.6, 0.8],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    def __init__(self, source: Array | RowTable, below: Array = None) -> None:
        self.source = as_row_table(source)
        self.below = None if below is None else HeldRows(below)
        m = 0 if self.below is None else self.below.n
        super().__init__((self.source.n + m, self.source.d), self.source.dtype, self.source.device)

    @property
    def held_part(self) -> tuple[Array | None, int]:
        """The rows that follow those of the source."""
        return None if self.below is None else self.below.array, self.source.n

    def read(self, start: int, stop: int) -> Any:
        """Return rows from `start` up to `stop`."""
        n = self.source.n
        parts = [self._unit(self.source[start : min(stop, n), :])] if start < n else []
        if stop > n and self.below is not None:
            parts.append(self.below.read(max(start - n, 0), stop - n))
        return parts[0] if len(parts) == 1 else self.xp.concat(parts, axis=0)

    def take(self, positions: Any) -> Any:
        """Return some rows, in the order asked for."""
        n = self.source.n
        inside = positions < n
        if self.below is None or inside.all():
            return self._unit(self.source.take(positions))
        if not inside.any():
            return self.below.take(positions - n)
        both = self.xp.concat([self.take(positions[inside]), self.take(positions[~inside])], axis=0)
        order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
        return HeldRows(both).take(np.argsort(order))

    def fold(
        self,
        work: Work[Part],
        merge: Callable[[Part, Part], Part],
        *,
        bytes_per_row: int,
        label: str,
        progress: bool | None = None,
    ) -> Part:
        """Work on unit rows where the source's rows are."""
        there = OnUnitRows(work, self.dtype)
        total = self.source.fold(there, merge, bytes_per_row=bytes_per_row, label=label, progress=progress)
        return total if self.below is None else merge(total, work(self.below.array, self.source.n))

    def _unit(self, rows: Array) -> Array:
        return astype(unit_array(rows), self.dtype)


class ScaledRows(RowsOfSource):
    """Rows of another table, each times its own number.

    Examples
    --------
    >>> rows = ScaledRows(HeldRows(np.array([[1.0, 2.0], [3.0, 4.0]])), np.array([2.0, 0.5]))
    >>> rows[0:2]
    array([[2. , 4. ],
           [1.5, 2. ]])
    """

    def __init__(self, source: RowTable, scale: Array) -> None:
        super().__init__(source.shape, source.dtype, source.device)
        self.source, self.scale = source, scale

    def read(self, start: int, stop: int) -> Any:
        """Return rows from `start` up to `stop`."""
        return self.source.read(start, stop) * self.scale[start:stop][:, None]

    def take(self, positions: Any) -> Any:
        """Return some rows, in the order asked for."""
        return self.source.take(positions) * self.scale[like(positions, self.scale)][:, None]


class ChangedRows(RowsOfSource):
    """Rows of another table, changed block by block when they are read, in the table's type.

    Parameters
    ----------
    source : RowTable
        Referred to, not copied.
    change : callable
        Transforms a block of rows of any array library, each row by itself, without changing its shape. It is sent to
        where the rows are, so it must be small and, for clusters, possible to serialise.

    Examples
    --------
    >>> rows = ChangedRows(HeldRows(np.array([[1.0, 2.0], [3.0, 4.0]])), lambda X: 10 * X)
    >>> rows[1:2]
    array([[30., 40.]])
    """

    def __init__(self, source: RowTable, change: Callable[[Array], Array]) -> None:
        super().__init__(source.shape, source.dtype, source.device, source.labels)
        self.source, self.change = source, change

    def read(self, start: int, stop: int) -> Any:
        """Return rows from `start` up to `stop`."""
        return astype(self.change(self.source.read(start, stop)), self.dtype)

    def take(self, positions: Any) -> Any:
        """Return some rows, in the order asked for."""
        return astype(self.change(self.source.take(positions)), self.dtype)

    def fold(self, work: Work[Part], merge: Callable[[Part, Part], Part], **settings: Any) -> Part:
        """Work on changed rows where the source's rows are."""
        return self.source.fold(OnChangedRows(work, self.change, self.dtype), merge, **settings)

    def map(self, work: Work[Array], below: Array, *, target: Target = None, **settings: Any) -> Any:
        """Apply `work` to every changed row, where the source's rows are."""
        return self.source.map(OnChangedRows(work, self.change, self.dtype), below, target=target, **settings)


class MadeRows(ChangedRows):
    """Rows computed from those of a table, in float64, possibly with another number of columns."""

    def __init__(self, source: RowTable, change: Callable[[Array], Array], width: int | None = None) -> None:
        super().__init__(source, change)
        self.shape = (source.n, source.d if width is None else width)
        self.dtype = np.dtype(np.float64)

    def fold(self, work: Work[Part], merge: Callable[[Part, Part], Part], **settings: Any) -> Part:
        """Apply `work` to blocks where the source's rows are, with room for computing them."""
        settings["bytes_per_row"] = max(settings["bytes_per_row"], MADE_BYTES * self.source.d)
        return self.source.fold(OnChangedRows(work, self.change, self.dtype), merge, **settings)


class EditedRows(RowTable):
    """Rows of another table without some of them, and others in memory below; nothing of the table is copied.

    Parameters
    ----------
    source : RowTable
        Referred to, not copied.
    kept : array of int
        Positions of the rows that are kept, ascending.
    below : array of shape (m, d)
        Rows that follow them.

    Examples
    --------
    >>> rows = EditedRows(HeldRows(np.array([[1.0], [2.0], [3.0]])), np.array([0, 2]), np.array([[4.0]]))
    >>> rows[0:3].ravel(), rows.take(np.array([2, 1])).ravel()
    (array([1., 3., 4.]), array([4., 3.]))
    """

    def __init__(self, source: RowTable, kept: NDArray[np.int64], below: NDArray[Any]) -> None:
        super().__init__((len(kept) + len(below), source.d), np.dtype(np.float64))
        self.source, self.kept, self.below = source, kept, np.asarray(below, dtype=np.float64)

    @classmethod
    def of(cls, table: RowTable) -> EditedRows:
        """Wrap a table so that rows can be removed and others added."""
        nothing = np.zeros((0, table.d))
        return table if isinstance(table, cls) else cls(table, np.arange(table.n), nothing)

    def plus(self, X: NDArray[Any]) -> EditedRows:
        """Return the table with more rows below."""
        return EditedRows(self.source, self.kept, np.concatenate([self.below, X]))

    def without(self, gone: NDArray[np.int64]) -> EditedRows:
        """Return the table without the rows at some positions."""
        first, n = gone[gone < len(self.kept)], len(self.kept)
        return EditedRows(self.source, np.delete(self.kept, first), np.delete(self.below, gone[gone >= n] - n, axis=0))

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows from `start` up to `stop`."""
        return self.take(np.arange(start, stop))

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return some rows, in the order asked for."""
        out, n = np.empty((len(positions), self.d)), len(self.kept)
        above = positions < n
        if above.any():
            out[above] = to_numpy(self.source.take(self.kept[positions[above]]))
        out[~above] = self.below[positions[~above] - n]
        return out


def scaled(rows: Array | RowTable, scale: Array) -> Any:
    """Multiply each row by its number: an array if the rows are in memory, else a table computed when read."""
    table = as_row_table(rows)
    return ScaledRows(table, scale) if table.held is None else table.held * scale[:, None]


@dataclass(frozen=True)
class OnUnitRows(Generic[Part]):
    """Applies work to unit rows, given a block of raw rows."""

    work: Work[Part]
    dtype: Any

    def __call__(self, X: Array, start: int) -> Part:
        """Do it."""
        return self.work(astype(unit_array(X), self.dtype), start)


@dataclass(frozen=True)
class OnChangedRows(Generic[Part]):
    """Applies work to changed rows, given a block of original rows."""

    work: Work[Part]
    change: Callable[[Array], Array]
    dtype: Any

    def __call__(self, X: Array, start: int) -> Part:
        """Do it."""
        return self.work(astype(self.change(X), self.dtype), start)
