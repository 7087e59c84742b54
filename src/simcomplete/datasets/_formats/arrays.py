"""NumPy files (.npy, .npz). Pickled arrays, which could run code, are refused.

The shape in the header is compared with the size of the file first, because NumPy would allocate any shape.
"""

from __future__ import annotations

import math
import zipfile
import zlib
from pathlib import Path
from typing import IO, Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, InputError

# A file above this many bytes is mapped, so that only the blocks in use are loaded.
MAP_ABOVE_BYTES = 64 * 2**20

Header = tuple[tuple[int, ...], np.dtype[Any]]


def read_npy(path: Path, options: Options) -> Table:
    """Read a .npy file; a large one is mapped, not loaded."""
    size = path.stat().st_size
    mode: Literal["r"] | None = "r" if size > MAP_ABOVE_BYTES else None
    try:
        with path.open("rb") as file:
            if file.read(2) == b"PK":
                raise FileFormatError(f"{path}: is an .npz archive; rename it so that it ends in .npz")
            file.seek(0)
            _check_header(path, file, size, mapped=mode is not None)
        array = np.load(path, mmap_mode=mode, allow_pickle=False)
    except FileFormatError:
        raise
    except (ValueError, EOFError, OSError) as error:
        raise _damaged(path, ".npy", error) from error
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
            others = {other: _header(archive, other) for other in keys if key == "X" and other != key}
            fitting = {other: dtype.kind for other, (shape, dtype) in others.items() if shape == (n,)}
            y = _member(path, archive, "y") if fitting.get("y", "O") in "iufbU" else None
            name = next((other for other, kind in fitting.items() if kind == "U" and other != "y"), None)
            labels = None if name is None else _member(path, archive, name).tolist()
    except (FileFormatError, InputError):
        raise
    except (ValueError, EOFError, OSError, KeyError, RuntimeError, zlib.error, zipfile.BadZipFile) as error:
        raise _damaged(path, ".npz", error) from error
    return as_table(path, array, labels, y=y)


def _open(archive: zipfile.ZipFile, key: str) -> IO[bytes]:
    return archive.open(key if key in archive.namelist() else f"{key}.npy")


def _header(archive: zipfile.ZipFile, key: str) -> Header:
    with _open(archive, key) as file:
        return _read_header(file)


def _member(path: Path, archive: zipfile.ZipFile, key: str) -> NDArray[Any]:
    with _open(archive, key) as file:
        size = archive.getinfo(file.name).file_size
        _check_header(path, file, size)
    with _open(archive, key) as file:
        return np.lib.format.read_array(file, allow_pickle=False)


def _read_header(file: IO[bytes]) -> Header:
    version = np.lib.format.read_magic(file)
    read = np.lib.format.read_array_header_1_0 if version == (1, 0) else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(file)
    return shape, dtype


def _check_header(path: Path, file: IO[bytes], size: int, *, mapped: bool = False) -> None:
    """Raise where the header claims more bytes than the file has, or than fit into memory."""
    shape, dtype = _read_header(file)
    if dtype.hasobject:
        raise ValueError("pickled objects")
    needed, available = math.prod(shape) * dtype.itemsize, size - file.tell()
    if min(shape, default=0) < 0 or needed > available:
        raise ValueError(f"shape {shape} of {dtype} needs {needed} bytes, {available} are there")
    if not mapped:
        require(2 * needed, f"{path} with shape {shape}", "save it as .npy, which is read in blocks")


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


def _damaged(path: Path, ending: str, error: Exception) -> FileFormatError:
    text = str(error).splitlines()[0] if str(error) else type(error).__name__
    if "pickle" in text or "magic string" in text:
        reason = "is not a NumPy file, or holds Python objects, which are never loaded; save it as float64"
    else:
        reason = f"is truncated or damaged ({text})"
    return FileFormatError(f"{path}: {reason}; write the {ending} file again")
