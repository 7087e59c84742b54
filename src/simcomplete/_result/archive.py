"""A folder of `.npy` arrays and one JSON file: written block by block, whole or not at all; read without pickle.

The JSON names every array with its shape, type and SHA-256, and carries a SHA-256 of itself, so that a file that
was cut short, exchanged or edited is refused. Checksums are computed while an array is written. On reading, sizes and
headers are checked first, then every file is read once from beginning to end for its checksum: that takes time in
proportion to the size, and one mebibyte of memory. Tables above `READ_BELOW_BYTES` are then left in their files and
read block by block when they are used.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.atomic import being_replaced, replacing
from simcomplete._rows.budget import require, row_blocks
from simcomplete._rows.json_files import read_json
from simcomplete._rows.npy import read_header
from simcomplete._rows.sink import write_npy_header
from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import FileFormatError, InputError, SimcompleteError

READ_BELOW_BYTES = 2**22  # a table up to here is read into memory at once
ATTEMPTS = 100  # at reading a folder that is replaced meanwhile


class ArchiveKind(NamedTuple):
    """A kind of saved folder: its name in messages, its index file, its newest version, and its array names."""

    noun: str
    file: str
    version: int
    arrays: re.Pattern[str]

    @property
    def format(self) -> str:
        """The format name in the index file."""
        return f"simcomplete-{self.noun}"

    @property
    def again(self) -> str:
        """Advice for a folder that cannot be read."""
        return f"save the {self.noun} again"

    def owns(self, file: str) -> bool:
        """Whether `save` writes files of this name; no such name points outside the folder."""
        return file == self.file or (file.endswith(".npy") and self.arrays.fullmatch(file[:-4]) is not None)


PARTS = r"[a-z][a-z0-9_]*(\.[a-z0-9_]+)*"  # names of a model's arrays: its attributes, joined by dots
COMPLETION = ArchiveKind(
    "completion",
    "completion.json",
    3,  # 1: written by simcomplete 0.1; 2: without a model
    re.compile(
        "factor|factor_below|signs|diagonal|dense|order|candidates|spread|quantiles|rank_shares|rank_quantiles|"
        rf"residuals|simulated|match_ids|match_probabilities|pair_[a-z]+|model\.{PARTS}"
    ),
)
MODEL = ArchiveKind("model", "model.json", 1, re.compile(PARTS))

# A short array, or a table of rows.
Stored = NDArray[Any] | RowTable


class Archive(NamedTuple):
    """The contents of a folder: arrays by name, metadata as plain values, and the version of the format."""

    arrays: dict[str, Any]
    metadata: dict[str, Any]
    version: int


def write_archive(
    path: Path,
    arrays: Mapping[str, Stored],
    metadata: Mapping[str, Any],
    *,
    overwrite: bool = False,
    kind: ArchiveKind = COMPLETION,
) -> None:
    """Write arrays and row tables, block by block, and metadata as one folder.

    Examples
    --------
    >>> import tempfile
    >>> folder = Path(tempfile.mkdtemp()) / "saved"
    >>> write_archive(folder, {"factor": np.eye(2)}, {"method": "smcnn"})
    >>> read_archive(folder).arrays["factor"]
    array([[1., 0.],
           [0., 1.]])
    """
    check_target(path, overwrite, kind)
    needed = sum(array.nbytes for array in arrays.values())
    with replacing(path, needed=needed, new=not overwrite) as draft:
        draft.mkdir()
        entries = {name: _write_array(draft / f"{name}.npy", array) for name, array in arrays.items()}
        index: dict[str, Any] = {"format": kind.format, "version": kind.version, "arrays": entries}
        index["facts"] = dict(metadata)
        index["sha256"] = digest_of(index)
        with (draft / kind.file).open("w", encoding="utf-8") as stream:
            stream.write(json.dumps(index, indent=1, allow_nan=False) + "\n")
            _to_disk(stream)
        if overwrite:  # checked again, because writing may have taken long
            check_target(path, overwrite, kind)


def check_target(path: Path, overwrite: bool, kind: ArchiveKind = COMPLETION) -> None:
    """Refuse to overwrite anything but a folder of the same kind without other files, and only if asked to."""
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already; choose another name, or pass overwrite=True to replace it")
    if not path.exists():
        return
    if not (path / kind.file).is_file() and os.path.lexists(path):
        raise InputError(f"{path} exists and is not a saved {kind.noun}, so it is not replaced; choose another name")
    try:
        others = sorted(file.name for file in path.iterdir() if not kind.owns(file.name) or file.is_dir())
    except FileNotFoundError:  # another writer has just moved it away
        return
    if others:
        named = ", ".join(others[:5]) + (", ..." if len(others) > 5 else "")
        raise InputError(
            f"{path} holds {len(others)} files or folders that save() did not write: {named}; replacing it would "
            "delete them: move them elsewhere, or choose another name"
        )


def _write_array(file: Path, array: Stored) -> dict[str, Any]:
    """Write one array; return its entry in the index."""
    dtype = to_numpy(array[:1, :]).dtype if isinstance(array, RowTable) else array.dtype
    with file.open("wb") as stream:
        hashed = _HashedStream(stream)
        write_npy_header(hashed, array.shape, dtype)
        # A block of rows as read, its copy in float64, and as written.
        for rows in row_blocks(len(array), 24 * math.prod(array.shape[1:])):
            block = to_numpy(array[rows, :]) if isinstance(array, RowTable) else array[rows]
            hashed.write(np.ascontiguousarray(block, dtype=dtype).reshape(-1).data)
        _to_disk(stream)
    return {"shape": list(array.shape), "dtype": dtype.str, "sha256": hashed.sha256.hexdigest()}


class _HashedStream:
    """A file and the SHA-256 of what was written to it."""

    def __init__(self, stream: IO[bytes]) -> None:
        self.stream, self.sha256 = stream, hashlib.sha256()

    def write(self, data: Any) -> int:
        self.sha256.update(data)
        return self.stream.write(data)


def _to_disk(stream: IO[Any]) -> None:
    stream.flush()
    os.fsync(stream.fileno())


def read_archive(path: Path, kind: ArchiveKind = COMPLETION) -> Archive:
    """Read what `write_archive` wrote, or raise FileFormatError.

    If the folder is replaced while it is read, it is read again from the start, so that all parts are of one version.
    """
    for _ in range(ATTEMPTS):
        before = _which(path, kind)
        try:
            return _read_once(path, kind)
        except (SimcompleteError, OSError):
            if before is None and being_replaced(path):
                time.sleep(0.01)
            elif _which(path, kind) == before:
                raise
    raise FileFormatError(f"{path} is being replaced again and again; load it when that has ended")


def _which(path: Path, kind: ArchiveKind) -> tuple[int, ...] | None:
    """Identify a folder, to notice if it was replaced by another."""
    try:
        return _identity(path / kind.file)
    except OSError:
        return None


def _read_once(path: Path, kind: ArchiveKind) -> Archive:
    if not path.exists():
        raise InputError(f"{path} does not exist; give the folder that save() or 'simcomplete complete -o' wrote")
    if not (path / kind.file).is_file():
        raise FileFormatError(f"{path} is not a saved {kind.noun}: it has no {kind.file}")
    index = _read_index(path / kind.file, kind)
    for name in index["arrays"]:  # also keeps a name such as ../x from leading elsewhere
        if kind.arrays.fullmatch(name) is None:
            raise FileFormatError(
                f"{path / kind.file} names an unknown array {name!r}; was it written by something else?"
            )
    arrays = {name: _read_array(path / f"{name}.npy", entry, kind) for name, entry in index["arrays"].items()}
    return Archive(arrays, index["facts"], index["version"])


def _read_index(file: Path, kind: ArchiveKind) -> dict[str, Any]:
    again = kind.again
    index = read_json(file, again)
    if not isinstance(index, dict) or index.get("format") != kind.format:
        raise FileFormatError(f"{file} does not describe a saved {kind.noun}; was it written by something else?")
    version = index.get("version")
    if version not in range(1, kind.version + 1):
        raise FileFormatError(
            f"{file} has format version {version!r} and this simcomplete reads 1 to {kind.version}; upgrade "
            f"simcomplete, or {again} with this one"
        )
    arrays, facts = index.get("arrays"), index.get("facts")
    try:
        same = index.get("sha256") == digest_of(index)
    except ValueError:  # NaN, which this program never writes
        same = False
    if not same or not isinstance(facts, dict) or not isinstance(arrays, dict):
        raise FileFormatError(f"{file} was changed after it was written; {again}")
    for entry in arrays.values():
        if not isinstance(entry, dict) or not {"shape", "dtype", "sha256"} <= set(entry):
            raise FileFormatError(f"{file} does not describe a whole {kind.noun}: an array has no shape; {again}")
    return index


def _read_array(file: Path, entry: Mapping[str, Any], kind: ArchiveKind) -> Stored:
    """Check the size, header and checksum of a file; return the array, or a table that reads it when used."""
    again = kind.again
    if not file.is_file():
        raise FileFormatError(f"{file} is missing; {again}")
    before = _identity(file)
    with file.open("rb") as stream:
        found = read_header(stream, file)
        shape, dtype, offset = found.shape, found.dtype, found.offset
        if found.fortran and len(shape) > 1:
            raise FileFormatError(f"{file} is stored by columns, which this program never does; {again}")
        size = offset + found.n_bytes
        stream.seek(0)
        if os.fstat(stream.fileno()).st_size != size or _digest(stream) != entry["sha256"]:
            raise FileFormatError(f"{file} was cut short or changed after it was written; {again}")
        if list(shape) != entry["shape"] or dtype.str != entry["dtype"]:
            raise FileFormatError(f"{file} holds {dtype.str} {shape}, expected {entry['dtype']} {entry['shape']}")
        if len(shape) == 2 and size > READ_BELOW_BYTES and dtype.kind in "fiu":
            return SourceRows(_StoredRows(file.absolute(), shape, dtype, offset, before), str(file))
        require(math.prod(shape) * dtype.itemsize, f"{file} with shape {shape}", again)
        stream.seek(offset)
        return np.fromfile(stream, dtype, math.prod(shape)).reshape(shape)


class _StoredRows:
    """Rows of a checked file, read through the file and not through a map of it: see `_rows.files`."""

    def __init__(
        self, path: Path, shape: tuple[int, ...], dtype: np.dtype[Any], offset: int, identity: tuple[int, ...]
    ) -> None:
        self.path, self.shape, self.dtype, self.offset, self.identity = path, shape, dtype, offset, identity

    def __getitem__(self, rows: slice) -> NDArray[Any]:
        start, stop, _ = rows.indices(self.shape[0])
        if not self.path.is_file() or _identity(self.path) != self.identity:
            raise InputError(f"{self.path} was changed, replaced or removed after it was loaded; load it again")
        width = self.shape[1]
        with self.path.open("rb") as stream:
            stream.seek(self.offset + start * width * self.dtype.itemsize)
            return np.fromfile(stream, self.dtype, (stop - start) * width).reshape(-1, width)


def _identity(file: Path) -> tuple[int, ...]:
    """Identify a file, to notice if it was changed or replaced."""
    found = file.stat()
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


def file_digest(file: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with file.open("rb") as stream:
        return _digest(stream)


def _digest(stream: IO[bytes]) -> str:
    return hashlib.file_digest(stream, "sha256").hexdigest()  # type: ignore[arg-type]


def digest_of(index: Mapping[str, Any]) -> str:
    """SHA-256 of the index without its own."""
    body = {key: value for key, value in index.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, allow_nan=False).encode()).hexdigest()
