"""Rows outside memory, which are checked as they are read, so that no separate pass is needed."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import memory_map_under
from simcomplete.errors import InputError

BY_BLOCK_ROWS = 20_000  # without separate queries, at least so many rows outside memory are read block by block


def read_by_block(rows: RowTable) -> bool:
    """Return whether rows are outside memory and so many that they are read block by block."""
    outside = memory_map_under(rows.held) is not None if isinstance(rows, HeldRows) else rows.held is None
    return outside and rows.n >= max(BY_BLOCK_ROWS, rows.d)


class SourceRows(RowTable):
    """Rows outside memory, checked as they are read.

    Parameters
    ----------
    base : object
        With `shape` (n, d), `dtype` and row slices that NumPy understands.
    name : str
        What to call it in messages.
    complete : bool
        Refuse missing values.

    Examples
    --------
    >>> rows = SourceRows(np.arange(6).reshape(3, 2), "X")
    >>> rows[1:3]
    array([[2., 3.],
           [4., 5.]])
    >>> rows.take(np.array([2, 0]))
    array([[4., 5.],
           [0., 1.]])
    """

    def __init__(self, base: Any, name: str, *, complete: bool = False) -> None:
        shape = tuple(int(size) for size in base.shape)
        if len(shape) != 2:
            raise InputError(f"{name} has shape {shape}; 2 dimensions are needed, rows are samples")
        kind = np.dtype(base.dtype)
        if kind.kind not in "fiub":
            raise InputError(f"{name} is of type {kind}; numbers are needed, NaN where a value is missing")
        super().__init__((shape[0], shape[1]), np.float32 if kind in (np.float16, np.float32) else np.float64)
        self.base, self.name, self.complete = base, name, complete

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Read rows and check them."""
        if tuple(self.base.shape) != self.shape:
            raise InputError(
                f"{self.name} had shape {self.shape} and now has {tuple(self.base.shape)}; it must not change while it "
                "is read: make a copy, or wait until it is written"
            )
        rows = np.asarray(self.base[start:stop])
        return checked(rows, (stop - start, self.shape[1]), self.name, start, self.complete).astype(
            self.dtype, copy=False
        )


def checked(rows: NDArray[Any], shape: tuple[int, int], name: str, start: int, complete: bool) -> NDArray[Any]:
    """Return rows that were read, or raise an error that says what is wrong with them."""
    if rows.shape != shape:
        raise InputError(
            f"{name}: rows from {start} on should be {shape} and came as {rows.shape}; is the source whole?"
        )
    with np.errstate(all="ignore"):  # infinities of both signs, and sums that overflow: then every value is looked at
        if rows.dtype.kind != "f" or np.isfinite(rows.sum(dtype=np.result_type(rows, np.float32))):
            return rows
    bad = ~np.isfinite(rows) if complete else np.isinf(rows)
    if bad.any():
        i, j = np.argwhere(bad)[0]
        need = "candidates must be complete: give rows with missing values as queries"
        need = (
            need if np.isnan(rows[i, j]) else "finite numbers are needed: use NaN where a value is missing, or clip it"
        )
        raise InputError(f"{name}[{start + int(i)}, {int(j)}] is {rows[i, j]}; {need}")
    return rows
