"""NumPy files (.npy, .npz). Pickled arrays, which could run code, are refused.

The length of a header, and the shape in it, are compared with the size of the file and with the free memory first:
NumPy would read the one and allocate the other, whatever they are.
"""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import readable, require
from simcomplete._rows.npy import NpyHeader, read_header
from simcomplete.datasets._formats.source import ALWAYS_ALLOWED_BYTES, MAX_EXPANSION
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, InputError, SimcompleteError

# A file above this many bytes is mapped, so that only the blocks in use are loaded.
MAP_ABOVE_BYTES = 64 * 2**20


def read_npy(path: Path, options: Options) -> Table:
    """Read a .npy file; a large one is mapped, not loaded."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(2) == b"PK":
            raise FileFormatError(f"{path}: is an .npz archive; rename it so that it ends in .npz")
        file.seek(0)
        header = _checked_header(path, file, size)
    mapped = size > MAP_ABOVE_BYTES
    if not mapped:
        _require_room(path, header)
    elif header.dtype not in (np.float32, np.float64) and header.shape:
        values = options.rows(header.shape[0]) * math.prod(header.shape[1:])
        require(8 * values, f"{path} with shape {header.shape} as floats", "save it as float32, or give limit=")
    array = np.load(path, mmap_mode="r" if mapped else None, allow_pickle=False)
    return as_table(path, array[: options.limit] if array.ndim else array)


def read_npz(path: Path, options: Options) -> Table:
    """Read one array of an .npz archive, with the classes `y` and the names that are stored with it."""
    if not zipfile.is_zipfile(path):
        raise FileFormatError(f"{path}: is not an .npz archive, or is truncated; write it again with numpy.savez")
    try:
        with zipfile.ZipFile(path) as archive:
            keys = [name.removesuffix(".npy") for name in archive.namelist()]
            key = _choose(path, keys, options.key)
            array = _member(path, archive, key)
            n = len(array) if array.ndim else 0
            # Classes and names belong to X, not to another array that `key` asks for.
            others = {other: _header(path, archive, other) for other in keys if key == "X" and other != key}
            fitting = {other: header.dtype.kind for other, header in others.items() if header.shape == (n,)}
            y = _member(path, archive, "y") if fitting.get("y", "O") in "iufbU" else None
            name = next((other for other, kind in fitting.items() if kind == "U" and other != "y"), None)
            labels = None if name is None else _member(path, archive, name).tolist()
    except SimcompleteError:
        raise
    except Exception as error:  # of zipfile and of four kinds of compression: there is no common kind
        raise FileFormatError(
            f"{path}: is truncated or damaged ({type(error).__name__}: {str(error)[:100]}); write the .npz file again"
        ) from error
    return as_table(path, array, labels, y=y)


def _open(archive: zipfile.ZipFile, key: str) -> IO[bytes]:
    return archive.open(key if key in archive.namelist() else f"{key}.npy")


def _header(path: Path, archive: zipfile.ZipFile, key: str) -> NpyHeader:
    with _open(archive, key) as file:
        return read_header(file, path / key, any_type=True)


def _member(path: Path, archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    """Read one array, once its size is known to be one that the archive can hold and that fits into memory."""
    with _open(archive, key) as file:
        member = archive.getinfo(file.name)
        most = max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * member.compress_size)
        if member.file_size > most:
            raise FileFormatError(
                f"{path}: {readable(member.compress_size)} of {key!r} unpack to {readable(member.file_size)}, more "
                f"than {MAX_EXPANSION} times as much, which tables of numbers rarely do; save the array as .npy if you "
                "trust it"
            )
        header = _checked_header(path, file, member.file_size)
    _require_room(path, header)
    with _open(archive, key) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _checked_header(path: Path, file: IO[bytes], size: int) -> NpyHeader:
    """Raise where the header claims more bytes than the file has."""
    header = read_header(file, path)
    available = size - header.offset
    if header.n_bytes > available:
        raise FileFormatError(
            f"{path}: is truncated or damaged (shape {header.shape} of {header.dtype} needs {header.n_bytes} bytes, "
            f"{available} are there); write the {path.suffix} file again"
        )
    return header


def _require_room(path: Path, header: NpyHeader) -> None:
    """Raise where the values, as they are stored and as floats, do not fit into memory."""
    floats = 4 if header.dtype in (np.float16, np.float32) else 8
    needed = math.prod(header.shape) * (header.dtype.itemsize + floats)
    require(needed, f"{path} with shape {header.shape}", "save it as .npy, which is read in blocks")


def _choose(path: Path, keys: list[str], key: str | None) -> str:
    listed = ", ".join(keys) or "none"
    if key is not None:
        if key not in keys:
            raise InputError(f"{path}: there is no array {key!r}; the file has: {listed}")
        return key
    if "X" in keys:
        return "X"
    if len(keys) != 1:
        raise InputError(f"{path}: key= must say which array to read; the file has: {listed}")
    return keys[0]
