"""Files of NumPy (`.npy`): headers that are checked before use, and rows that are read without a memory map.

A header is text that anyone can write. Its length is checked before it is read, and its shape and type before memory is
allocated. Rows are read from the file and not through a memory map: if a mapped file is truncated while it is read, the
process is killed, and pages of a map count as memory.
"""

from __future__ import annotations

import io
import math
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray

from simcomplete.errors import FileFormatError, InputError

# By version: the bytes of the number that has the length of the header, and NumPy's function that reads the header.
LENGTH_BYTES = {(1, 0): 2, (2, 0): 4, (3, 0): 4}
PREFIX_BYTES = len(npy.MAGIC_PREFIX) + 2
# NumPy refuses longer headers too, but only after reading them.
MAX_HEADER_BYTES = 10_000


class NpyHeader(NamedTuple):
    """The contents of a header, and the position of the first value."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    fortran: bool
    offset: int

    @property
    def n_bytes(self) -> int:
        """Bytes of the values."""
        return math.prod(self.shape) * self.dtype.itemsize


def read_header(stream: IO[bytes], path: Path, *, any_type: bool = False) -> NpyHeader:
    """Read and check the header of a `.npy` file; the stream is left at the first value.

    Arrays of Python objects are refused, unless `any_type` says that only the header is needed.

    Examples
    --------
    >>> file = io.BytesIO()
    >>> np.save(file, np.ones((2, 3)))
    >>> _ = file.seek(0)
    >>> read_header(file, Path("ones.npy"))
    NpyHeader(shape=(2, 3), dtype=dtype('float64'), fortran=False, offset=128)
    """
    start = stream.read(PREFIX_BYTES)
    version = tuple(start[-2:])
    if len(start) < PREFIX_BYTES or not start.startswith(npy.MAGIC_PREFIX) or version not in LENGTH_BYTES:
        raise FileFormatError(f"{path}: is not a NumPy file, or is truncated; write the .npy file again")
    size = stream.read(LENGTH_BYTES[version])
    length = int.from_bytes(size, "little")
    if length > MAX_HEADER_BYTES:
        raise FileFormatError(
            f"{path}: its header claims to have {length} bytes, and one of numbers has fewer than {MAX_HEADER_BYTES}; "
            "write the .npy file again"
        )
    text = stream.read(length)
    # Version 3 is read as version 2: it differs only in the encoding of field names, which a table does not have.
    head = npy.MAGIC_PREFIX + bytes((1, 0)) + length.to_bytes(2, "little") + text
    try:
        whole = io.BytesIO(head)
        npy.read_magic(whole)
        shape, fortran, dtype = npy.read_array_header_1_0(whole)
    except Exception as error:  # NumPy calls Python's parser, which raises many kinds of errors
        raise FileFormatError(
            f"{path}: is truncated or damaged, or its header is not one of NumPy ({_reason(error)}); "
            "write the .npy file again"
        ) from error
    if any(isinstance(n, bool) or n < 0 for n in shape):
        raise FileFormatError(f"{path}: is damaged: its header has the shape {shape}; write the .npy file again")
    if dtype.hasobject and not any_type:
        raise FileFormatError(f"{path}: holds Python objects, which are never loaded; save it as float64")
    return NpyHeader(tuple(int(n) for n in shape), dtype, fortran, PREFIX_BYTES + len(size) + length)


def _reason(error: Exception) -> str:
    lines = str(error).splitlines()
    return f"{type(error).__name__}: {lines[0][:80]}" if lines else type(error).__name__


class NpyFile:
    """Rows of a two-dimensional `.npy`; header and size are checked again for every block, so a change is noticed.

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
            self.header = self._checked(stream)
        self.shape, self.dtype = self.header.shape, self.header.dtype

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        with self._opened() as stream:
            found = self._checked(stream)
            if found != self.header:
                raise InputError(
                    f"{self.path} held {self.dtype} {self.shape} and now holds {found.dtype} {found.shape}; it must "
                    "not change while it is read: make a copy, or wait until it is written"
                )
            stream.seek(found.offset + start * self.shape[1] * self.dtype.itemsize)
            values = np.fromfile(stream, self.dtype, (stop - start) * self.shape[1])
        if len(values) != (stop - start) * self.shape[1]:
            raise self._cut_short()
        return values.reshape(stop - start, self.shape[1])

    def _opened(self) -> IO[bytes]:
        try:
            return self.path.open("rb")
        except FileNotFoundError as error:
            raise FileFormatError(
                f"{self.path} was removed or renamed while it is in use; put it back, or read it again from the start"
            ) from error

    def _checked(self, stream: IO[bytes]) -> NpyHeader:
        """Read the header, and compare it with the size of the file."""
        found = read_header(stream, self.path)
        if found.fortran and len(found.shape) > 1:
            raise InputError(f"{self.path} is stored by columns; rows are read: save np.ascontiguousarray(X) instead")
        if os.fstat(stream.fileno()).st_size < found.offset + found.n_bytes:
            raise self._cut_short(found)
        return found

    def _cut_short(self, found: NpyHeader | None = None) -> FileFormatError:
        shape = (found or self.header).shape
        return FileFormatError(
            f"{self.path} ends before row {shape[0] if shape else 1} of the shape {shape} that it promises; is it "
            "still being written, or was it cut short?"
        )
