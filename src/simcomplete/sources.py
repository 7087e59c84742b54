"""Rows that are read a block at a time: files, zarr arrays, anything with a shape, a type and row slices.

To the rest of the library they look like NumPy arrays that can only be sliced by rows. What is read is checked then
and there, so a source is gone through as often as the mathematics needs and no more.
"""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError
from simcomplete.memory import require

Rows = NDArray[Any]


def is_source(x: object) -> bool:
    """Tell whether `x` is no array but can be read like one: it has `shape`, `dtype` and slices."""
    return all(hasattr(x, name) for name in ("shape", "dtype", "__getitem__")) and not isinstance(x, np.ndarray)


class LazyRows:
    """A table of rows that are made when they are asked for; subclasses say how, in `read`.

    Slices of rows, positions (`take`) and, where it fits into memory, the whole (`np.asarray`) can be had.
    """

    ndim = 2
    device = "cpu"

    def __init__(self, shape: tuple[int, int], dtype: Any) -> None:
        self.shape = shape
        self.dtype = np.dtype(dtype)

    def read(self, start: int, stop: int) -> Rows:
        """Return rows from `start` up to `stop`."""
        raise NotImplementedError

    def take(self, positions: NDArray[np.int64]) -> Rows:
        """Return some rows, in the order asked for."""
        out = np.empty((len(positions), self.shape[1]), self.dtype)
        order = np.argsort(positions, kind="stable")
        runs = np.flatnonzero(np.diff(positions[order]) > 1) + 1  # rows that lie together are read together
        for some in np.split(order, runs):
            if len(some):
                first = int(positions[some[0]])
                out[some] = self.read(first, int(positions[some[-1]]) + 1)[positions[some] - first]
        return out

    def __getitem__(self, key: Any) -> Any:
        rows, columns = key if isinstance(key, tuple) else (key, slice(None))
        if isinstance(rows, slice):
            start, stop, step = rows.indices(self.shape[0])
            return self.read(start, max(start, stop))[::step, columns] if step > 0 else self.whole()[key]
        if isinstance(rows, (int, np.integer)):
            return self.take(np.array([rows]) % self.shape[0])[0, columns]
        positions = np.asarray(rows)
        positions = np.flatnonzero(positions) if positions.dtype == bool else positions % self.shape[0]
        return self.take(positions)[:, columns]

    def whole(self) -> Rows:
        """Return all rows at once, refused beforehand when they would not fit."""
        n, d = self.shape
        need = f"all {n} x {d} values in memory"
        require(n * d * self.dtype.itemsize, need, "use a method that goes by block: smcnn, smcnmf, smc_nr, posterior")
        return self.read(0, n)

    def __len__(self) -> int:
        return self.shape[0]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Rows:
        return np.asarray(self.whole(), dtype=dtype)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return array_api_compat.numpy


class RowSource(LazyRows):
    """Rows of something outside memory, checked as they are read.

    Parameters
    ----------
    base : object
        With `shape` (n, d), `dtype` and row slices that NumPy understands.
    name : str
        What to call it in messages.
    complete : bool
        Refuse missing values when they turn up.

    Examples
    --------
    >>> rows = RowSource(np.arange(6).reshape(3, 2), "X")
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

    def read(self, start: int, stop: int) -> Rows:
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


def checked(rows: Rows, shape: tuple[int, int], name: str, start: int, complete: bool) -> Rows:
    """Return rows that were read, or say what is wrong with them."""
    if rows.shape != shape:
        raise InputError(
            f"{name}: rows from {start} on should be {shape} and came as {rows.shape}; is the source whole?"
        )
    if rows.dtype.kind != "f" or np.isfinite(rows.sum(dtype=np.float64)):
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
