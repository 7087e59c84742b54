"""Tables from open files: copied to a temporary file, whose first bytes tell the format."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import IO

from simcomplete._rows.budget import available_bytes, readable
from simcomplete.datasets._files import read_file
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import InputError, MemoryLimitError, SimcompleteError

STDIN = "standard input"
STEP_BYTES = 2**20
# What files of these formats begin with; everything else is text, perhaps packed.
FIRST_BYTES = {
    b"\x93NUMPY": "npy",
    b"PK\x03\x04": "npz",
    b"PAR1": "parquet",
    b"ARROW1": "arrow",
    b"FEA1": "arrow",
    b"\xff\xff\xff\xff": "arrow",
}


def read_stream(file: IO[bytes], options: Options, kind: str | None = None, name: str = STDIN) -> Table:
    """Read a table from an open file, such as standard input, from where it stands to its end.

    Parameters
    ----------
    file : file
        Opened in binary mode; it need not be seekable.
    options : Options
        As for files.
    kind : str, optional
        The format; by default what the first bytes say, and text where they say nothing.
    name : str
        What to call it in messages.
    """
    with tempfile.TemporaryDirectory(prefix="simcomplete-") as folder:
        path = Path(folder) / "input"
        _copy(file, path, name)
        try:
            return read_file(path, options, kind=kind or _kind_of(path))
        except SimcompleteError as error:
            error.args = (str(error).replace(str(path), name),)
            raise


def _copy(file: IO[bytes], path: Path, name: str) -> None:
    """Copy a stream, unless it goes on and on: what does not fit into memory as text would not as numbers."""
    free, size = available_bytes(), 0
    with path.open("wb") as copy:
        while True:
            block: object = file.read(STEP_BYTES)
            if not isinstance(block, bytes):
                raise InputError(f"{name} was opened as text; open it in binary mode, as sys.stdin.buffer")
            if not block:
                return
            size += len(block)
            if size > free:
                raise MemoryLimitError(
                    f"{name} has more than {readable(free)}, all that is free; write it to a .npy file, which is read "
                    "in blocks"
                )
            copy.write(block)


def _kind_of(path: Path) -> str:
    with path.open("rb") as file:
        start = file.read(8)
    return next((kind for magic, kind in FIRST_BYTES.items() if start.startswith(magic)), "csv")
