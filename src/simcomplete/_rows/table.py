"""Rows that are made when they are asked for: to the rest of the library a NumPy array that is sliced by rows alone."""

from __future__ import annotations

from typing import Any

import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.memory import require

Rows = NDArray[Any]


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
