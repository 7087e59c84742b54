"""Rows that are not in memory, opened: paths of `.npy` and `.zarr`, dask arrays, anything with slices of rows.

A `.npy` is read through the file, not through a map of it: a mapped file that is cut short under its reader ends the
program without a word, and pages of a map count as memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import is_array, is_dask
from simcomplete.errors import FileFormatError, InputError, optional

HEADERS = {(1, 0): npy.read_array_header_1_0, (2, 0): npy.read_array_header_2_0}


class NpyFile:
    """Rows of a two-dimensional `.npy`; the header is read again with every block, so a change is noticed.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.arange(6.0).reshape(3, 2))
    >>> NpyFile(path)[1:3]
    array([[2., 3.],
           [4., 5.]])
    """

    def __init__(self, path: Path) -> None:
        self.path = path.absolute()
        with self.path.open("rb") as stream:
            self.shape, self.dtype, _ = header(stream, self.path)

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        with self.path.open("rb") as stream:
            shape, dtype, offset = header(stream, self.path)
            if shape != self.shape or dtype != self.dtype:
                raise InputError(
                    f"{self.path} held {self.dtype} {self.shape} and now holds {dtype} {shape}; it must not change "
                    "while it is read: make a copy, or wait until it is written"
                )
            width = shape[1]
            stream.seek(offset + start * width * dtype.itemsize)
            values = np.fromfile(stream, dtype, (stop - start) * width)
        if len(values) != (stop - start) * width:
            raise InputError(
                f"{self.path} ends before row {stop} of the {shape[0]} that it promises; is it still being written, "
                "or was it cut short?"
            )
        return values.reshape(stop - start, width)


def header(stream: IO[bytes], path: Path) -> tuple[tuple[int, ...], np.dtype[Any], int]:
    """Shape, type and where the values begin."""
    try:
        version = npy.read_magic(stream)
        shape, fortran, dtype = HEADERS[version](stream)
    except (ValueError, EOFError, KeyError) as error:
        raise FileFormatError(f"{path} is not a readable .npy array: {error}") from error
    if fortran and len(shape) > 1:
        raise InputError(f"{path} is stored by columns; rows are read: save np.ascontiguousarray(X) instead")
    return shape, dtype, stream.tell()


def is_out_of_core(x: object) -> bool:
    """Tell whether the rows of `x` are to be read block by block.

    A path, a dask array, a memory map that would have to be cast (floats of one go on as the arrays they are), or what
    is no array at all but has `shape`, `dtype` and slices.
    """
    if isinstance(x, (str, Path, RowTable)) or is_dask(x):
        return True
    if isinstance(x, np.memmap):
        return x.dtype not in (np.float32, np.float64)
    known = is_array(x) or hasattr(x, "columns") or hasattr(x, "tocsr")
    return not known and all(hasattr(x, name) for name in ("shape", "dtype", "__getitem__"))


def open_rows(x: Any, name: str, complete: bool) -> Any:
    """Open rows that are outside memory; nothing is read yet."""
    if isinstance(x, RowTable):
        return x
    if isinstance(x, (str, Path)):
        x = _from_path(Path(x), name)
    if is_dask(x):
        from simcomplete._rows.dask import DaskRows  # which needs dask

        return DaskRows(x, name, complete=complete)
    return SourceRows(x, name, complete=complete)


def _from_path(path: Path, name: str) -> Any:
    if not path.exists():
        raise InputError(f"{name}: there is no {path}; give an array, or the path of a .npy or .zarr")
    if path.suffix == ".npy":
        return NpyFile(path)
    if path.suffix == ".zarr":
        return open_zarr(path)
    raise InputError(f"{name}: {path} is neither .npy nor .zarr; read it first, with sc.datasets.read_table")


def open_zarr(path: Path) -> Any:
    """Open a zarr array; as a dask array where a cluster is at hand."""
    zarr = optional("zarr", extra="dask", purpose=f"reading {path}")
    try:
        found = zarr.open_array(str(path), mode="r")
    except Exception as error:  # zarr has many kinds of them
        raise FileFormatError(f"{path} is not a readable zarr array: {error}") from error
    from simcomplete._rows.dask import client

    return found if client() is None else optional("dask.array", extra="dask", purpose="a cluster").from_zarr(found)
