"""Write a table to a file block by block, whole or not at all, so that a factor need not be held in memory.

Rows are written with file operations and not through a memory map, so that a full disk is an error, not a crash.
"""

from __future__ import annotations

import math
import os
import shutil
from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, Self

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.atomic import as_path, check_room, replacing
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.dask import DaskRows, computed
from simcomplete._rows.npy import NpyFile
from simcomplete._rows.progress import track
from simcomplete._rows.source import SourceRows
from simcomplete._rows.xp import to_numpy
from simcomplete._rows.zarr_files import opened_zarr
from simcomplete.errors import InputError, optional

CHUNK = 2**24  # bytes in a chunk of a zarr array, before compression


class Output:
    """A `.npy` or `.zarr` that appears at `path` once everything is written.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "table.npy"
    >>> with Output(path) as out:
    ...     table = out.table((3, 2), np.float64)
    ...     table[slice(0, 2), :] = np.ones((2, 2))
    ...     table[slice(2, 3), :] = np.zeros((1, 2))
    >>> np.load(path).sum()
    np.float64(4.0)
    """

    def __init__(self, path: str | Path) -> None:
        self.path = as_path(path, "out")
        if self.path.suffix not in (".npy", ".zarr"):
            raise InputError(f"out={str(path)!r} must end in .npy or .zarr; that is what can be written")
        if self.path.exists():
            raise InputError(f"out={str(path)!r} exists already; choose another name, or remove it first")
        self._stack = ExitStack()
        self._stream: IO[bytes] | None = None
        self._rows: _RowWriter | None = None
        self._needed: int | None = None

    def __enter__(self) -> Self:
        self.draft = self._stack.enter_context(replacing(self.path, needed=lambda: self._needed, new=True))
        return self

    def __exit__(self, *error: Any) -> bool | None:
        return self._stack.__exit__(*error)

    @property
    def written(self) -> bool:
        """Whether all rows of a table were written."""
        return self._rows is not None and self._rows.at == self._rows.shape[0]

    def table(self, shape: tuple[int, int], dtype: Any) -> _RowWriter:
        """Make the table; its rows are written by assignment to slices, in order. A second table replaces the first."""
        self._clear()
        self._needed = math.prod(shape) * np.dtype(dtype).itemsize
        if self.path.suffix == ".zarr":
            rows = max(1, min(shape[0], CHUNK // (8 * shape[1])))
            made = new_zarr(self.draft, shape, dtype, chunks=(rows, shape[1]))
            self._rows = _RowWriter(_ChunkWriter(made), np.dtype(dtype), shape)
            return self._rows
        check_room(self.path, self._needed)
        self._stream = stream = self._stack.enter_context(self.draft.open("wb"))
        write_npy_header(stream, shape, dtype)
        self._rows = _RowWriter(lambda _, rows: stream.write(rows.data), np.dtype(dtype), shape)
        return self._rows

    def _clear(self) -> None:
        """Remove what a method that failed has begun to write."""
        if self._stream is not None:
            self._stream.close()
        if self.draft.is_dir():
            shutil.rmtree(self.draft)
        self.draft.unlink(missing_ok=True)

    def copy(self, table: Any, progress: bool | None = None) -> None:
        """Write a whole table, block by block; workers write a dask array to a .zarr."""
        if isinstance(table, DaskRows) and self.path.suffix == ".zarr":
            self._clear()
            base = table.base.rechunk({0: "auto", 1: -1})
            made = new_zarr(self.draft, base.shape, base.dtype, chunks=base.chunksize)
            # Every task writes whole chunks of the array, so that none needs a lock.
            computed(base.rechunk(base.chunksize).store(made, lock=False, compute=False), progress)
            return
        target = self.table((int(table.shape[0]), int(table.shape[1])), to_numpy(table[:1, :]).dtype)
        for rows in track(row_blocks(int(table.shape[0]), 24 * int(table.shape[1])), "writing", progress):
            target[rows, :] = to_numpy(table[rows, :])

    def read(self, where: Path) -> Any:
        """Open the written table, under its temporary or final name, without reading it."""
        if self._stream is not None and not self._stream.closed:
            self._stream.flush()
            os.fsync(self._stream.fileno())
        return SourceRows(NpyFile(where) if self.path.suffix == ".npy" else opened_zarr(where), f"out={str(where)!r}")


def new_zarr(path: Path, shape: tuple[int, ...], dtype: Any, chunks: tuple[int, ...]) -> Any:
    """Make a zarr array of which every chunk is written, so that a missing chunk means lost data."""
    zarr = optional("zarr", extra="dask", purpose="writing a .zarr")
    every = {"write_empty_chunks": True}
    return zarr.create_array(str(path), shape=shape, dtype=np.dtype(dtype), chunks=chunks, config=every)


def write_npy_header(stream: Any, shape: tuple[int, ...], dtype: Any) -> None:
    """Write the header of a `.npy`; the values follow, row by row."""
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_2_0(stream, header)


class _RowWriter:
    """A writer of rows in order."""

    def __init__(
        self, write: Callable[[slice, NDArray[Any]], Any], dtype: np.dtype[Any], shape: tuple[int, int]
    ) -> None:
        self.write, self.dtype, self.shape, self.at = write, dtype, shape, 0

    def __setitem__(self, key: Any, rows: NDArray[Any]) -> None:
        where = key[0] if isinstance(key, tuple) else key
        start, stop, _ = where.indices(self.shape[0])
        if start != self.at or len(rows) != stop - start:
            raise InputError(f"rows {start} to {stop} of a file were to be written after row {self.at}")
        self.write(slice(start, stop), np.ascontiguousarray(to_numpy(rows), dtype=self.dtype))
        self.at = stop


class _ChunkWriter:
    """Collects rows until a chunk is complete, because a chunk written in parts is compressed again each time."""

    def __init__(self, made: Any) -> None:
        self.made, self.done, self.full = made, 0, 0
        self.buffer = np.empty((made.chunks[0], made.shape[1]), made.dtype)

    def __call__(self, _: slice, rows: NDArray[Any]) -> None:
        while len(rows):
            some = rows[: len(self.buffer) - self.full]
            self.buffer[self.full : self.full + len(some)] = some
            self.full += len(some)
            rows = rows[len(some) :]
            if self.full == len(self.buffer) or self.done + self.full == self.made.shape[0]:
                self.made[self.done : self.done + self.full] = self.buffer[: self.full]
                self.done, self.full = self.done + self.full, 0
