"""A `.npy` file read by rows through the file, not through a map of it.

A mapped file that is cut short under its reader ends the program without a word, and pages of a map count as memory.
"""

from __future__ import annotations

from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy

from simcomplete._rows.table import Rows
from simcomplete.errors import FileFormatError, InputError

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

    def __getitem__(self, rows: slice) -> Rows:
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
