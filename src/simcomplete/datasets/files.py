"""Tables from files: NumPy, comma-separated text, Parquet.

Nothing that could run code is ever read: pickled arrays are refused.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np

from simcomplete.datasets.columnar import read_parquet
from simcomplete.datasets.table import Table, as_table
from simcomplete.datasets.text import read_csv
from simcomplete.errors import FileFormatError, InputError

# A file above this many bytes is mapped into memory, so that only the blocks at work are loaded.
MAPPED_ABOVE = 64 * 2**20


def read_table(path: str | os.PathLike[str], key: str | None = None, *, header: bool | None = None) -> Table:
    """Read a table of numbers with missing values.

    Parameters
    ----------
    path : str or path
        A file that ends in .npy, .npz, .csv or .parquet.
    key : str, optional
        Which array of an .npz file; 'X', or the only one, unless told.
    header : bool, optional
        Whether the first line of a .csv file names the columns. Unless told it does when a cell of it is
        neither a number nor missing; a line that could be either is refused.

    Returns
    -------
    Table
        `values` with NaN for missing, `labels` and `columns` where the file has them. A large .npy file is
        mapped, not loaded.

    Raises
    ------
    InputError
        The file is not there, or a parameter does not go with it.
    FileFormatError
        The file is truncated, is not what its ending says, or holds something else than numbers.

    Notes
    -----
    Missing in text are empty cells and, in upper or lower case, NaN, NA, N/A, null and None. Row labels are a
    first column of text, or one without a name under a header (as pandas writes its index); in Parquet the
    index of the frame, or else the first column of text.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "animals.csv"
    >>> _ = path.write_text("name,legs,eyes\\ncat,4,2\\nant,6,NA\\n")
    >>> table = read_table(path)
    >>> table.values.tolist(), table.labels, table.columns
    ([[4.0, 2.0], [6.0, nan]], ['cat', 'ant'], ['legs', 'eyes'])
    """
    path = Path(path)
    ending = path.suffix.lower()
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder; give one file, of {', '.join(ENDINGS)}")
    if ending not in ENDINGS:
        raise FileFormatError(
            f"{path}: files ending in {ending or 'nothing'!r} are not known; use {', '.join(ENDINGS)}"
        )
    if key is not None and ending != ".npz":
        raise InputError(f"key={key!r} picks an array of an .npz file; {path} has only one table, leave key out")
    if header is not None and ending != ".csv":
        raise InputError(f"header={header} is for .csv files; {path} tells by itself, leave header out")
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path}: the file is empty")
    with path.open("rb"):  # a file that may not be read says so here, before a reader calls it damaged
        pass
    return ENDINGS[ending](path, key, header)


def _npy(path: Path, key: str | None, header: bool | None) -> Table:
    mode: Literal["r"] | None = "r" if path.stat().st_size > MAPPED_ABOVE else None
    try:
        array = np.load(path, mmap_mode=mode, allow_pickle=False)
    except (ValueError, EOFError, OSError, zipfile.BadZipFile) as error:
        raise _damaged(path, ".npy", error) from error
    if not isinstance(array, np.ndarray):
        array.close()
        raise FileFormatError(f"{path}: is an .npz archive; rename it so that it ends in .npz")
    return as_table(path, array)


def _npz(path: Path, key: str | None, header: bool | None) -> Table:
    if not zipfile.is_zipfile(path):
        raise FileFormatError(f"{path}: is not an .npz archive, or is truncated; write it again with numpy.savez")
    try:
        with np.load(path, allow_pickle=False) as archive:
            return as_table(path, archive[_choose(path, list(archive.files), key)])
    except (FileFormatError, InputError):
        raise
    except (
        ValueError,
        EOFError,
        OSError,
        KeyError,
        zlib.error,
        zipfile.BadZipFile,
        NotImplementedError,
    ) as error:
        raise _damaged(path, ".npz", error) from error


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
    if "pickle" in str(error):  # NumPy's word for objects as well as for bytes it does not know
        reason = "is not a NumPy file, or holds Python objects, which are never loaded; save it as float64"
    else:
        reason = f"is truncated or damaged ({str(error).splitlines()[0] if str(error) else type(error).__name__})"
    return FileFormatError(f"{path}: {reason}; write the {ending} file again")


ENDINGS: dict[str, Callable[[Path, str | None, bool | None], Table]] = {
    ".npy": _npy,
    ".npz": _npz,
    ".csv": lambda path, key, header: read_csv(path, header),
    ".parquet": lambda path, key, header: read_parquet(path),
}
