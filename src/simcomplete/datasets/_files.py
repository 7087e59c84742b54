"""Tables from files: which format a file has, and what may be told to its reader."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simcomplete._rows.validate import check_number
from simcomplete.datasets._formats import arrays, cifar, idx, parquet, svmlight, text, vectors
from simcomplete.datasets._formats.source import PACKED
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, InputError

ENDINGS = ".npy, .npz, .csv, .parquet, .tsv, .svm, .bin, .vec, .txt, -ubyte"


@dataclass(frozen=True)
class Format:
    """How files of a format are called and read."""

    pattern: str
    read: Callable[[Path, Options], Table]
    packed: bool = True  # whether it may also end in .gz, .bz2 or .xz


FORMATS = {
    "npy": Format(r".*\.npy", arrays.read_npy, packed=False),
    "npz": Format(r".*\.npz", arrays.read_npz, packed=False),
    "csv": Format(r".*\.(csv|tsv)", text.read, packed=False),
    "parquet": Format(r".*\.parquet", parquet.read, packed=False),
    "idx": Format(r".*[.-](idx\d-ubyte|idx\d?|ubyte)", idx.read),
    "cifar_binary": Format(r".*(data_batch_\d+|test_batch)\.bin", cifar.read_binary),
    "cifar_batch": Format(r".*(data_batch_\d+|test_batch)", cifar.read_batch),
    "word2vec": Format(r".*\.bin", vectors.read_binary),
    "vectors": Format(r".*\.(txt|vec)", vectors.read_text),
    "svmlight": Format(r".*\.(svm|svmlight|libsvm|t|tr|val)", svmlight.read),
}


def read_table(
    path: str | os.PathLike[str],
    key: str | None = None,
    *,
    header: bool | None = None,
    missing: Any = (),
    limit: int | None = None,
) -> Table:
    """Read a table of numbers with missing values.

    Parameters
    ----------
    path : str or path
        A file whose name ends in .npy, .npz, .csv, .tsv or .parquet; in .svm, .libsvm, .t (svmlight); in .bin
        (word2vec binary), .txt, .vec (word2vec or GloVe text); in -idx3-ubyte (IDX); or a batch of CIFAR-10. All
        from .svm on may be packed (.gz, .bz2, .xz).
    key : str, optional
        Which array of an .npz file; 'X', or the only one, unless told.
    header : bool, optional
        Whether the first line of a .csv or .tsv file names the columns. Unless told it does when a cell of it is
        neither a number nor missing; a line that could be either is refused.
    missing : str, number or several, optional
        What else stands for a missing value, such as '?' or 99; numbers are compared as numbers, in every format.
    limit : int, optional
        Read only the first rows.

    Returns
    -------
    Table
        `values` with NaN for missing; `labels`, `columns`, classes `y` and `image_shape` where the file has them.
        A large .npy file is mapped, not loaded.

    Raises
    ------
    InputError
        The file is not there, or a parameter does not go with it.
    FileFormatError
        The file is truncated, is not what its ending says, or holds something else than numbers.
    MemoryLimitError
        What the file holds would not fit.

    Notes
    -----
    Missing in text are empty cells and, in upper or lower case, NaN, NA, N/A, null and None. Row labels are a
    first column of text, or one without a name under a header (as pandas writes its index); in Parquet the
    index of the frame, or else the first column of text; in .npz a one-dimensional array of text beside X.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "animals.csv"
    >>> _ = path.write_text("name,legs,eyes\\ncat,4,2\\nant,6,?\\n")
    >>> table = read_table(path, missing="?")
    >>> table.values.tolist(), table.labels, table.columns
    ([[4.0, 2.0], [6.0, nan]], ['cat', 'ant'], ['legs', 'eyes'])
    """
    return read(Path(path), Options(key, header, spellings(missing), limit))


def spellings(missing: Any) -> tuple[str, ...]:
    """Return what stands for a missing value as text in lower case.

    Examples
    --------
    >>> spellings(["Unknown", 99])
    ('unknown', '99')
    """
    tokens = [missing] if isinstance(missing, (str, int, float)) else list(missing)
    return tuple(str(token).strip().lower() for token in tokens)


def read(path: Path, options: Options, otherwise: str | None = None) -> Table:
    """Read a file in the format that its name tells, or else in the one named `otherwise`."""
    check_path(path)
    name = format_of(path) or otherwise
    if name is None:
        raise FileFormatError(
            f"{path}: files ending in {path.suffix.lower() or 'nothing'!r} are not known; use {ENDINGS}"
        )
    _check_options(path, name, options)
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path}: the file is empty")
    with path.open("rb"):  # a file that may not be read says so here, before a reader calls it damaged
        pass
    table = FORMATS[name].read(path, options).first(options.limit)
    return _without(table, options.missing)


def check_path(path: Path) -> None:
    """Refuse what is not a file."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder; give one file, of {ENDINGS}")


def check_limit(limit: int | None) -> None:
    """Refuse a number of rows that is none."""
    if limit is not None and (check_number(limit, "limit", low=1) % 1 or not isinstance(limit, (int, np.integer))):
        raise InputError(f"limit={limit} is not a whole number of rows; give one, or None for all")


def format_of(path: Path) -> str | None:
    """Name the format that a file's name tells.

    Examples
    --------
    >>> format_of(Path("train-images-idx3-ubyte.gz")), format_of(Path("data_batch_1.bin")), format_of(Path("x.doc"))
    ('idx', 'cifar_binary', None)
    """
    name = path.name.lower()
    packed = next((ending for ending in PACKED if name.endswith(ending)), "")
    bare = name.removesuffix(packed)
    for key, kind in FORMATS.items():
        if re.fullmatch(kind.pattern, bare if kind.packed else name):
            return key
    # Packed and without another ending: so are the files of LIBSVM.
    return "svmlight" if packed and "." not in bare else None


def _check_options(path: Path, name: str, options: Options) -> None:
    if options.key is not None and name != "npz":
        raise InputError(
            f"key={options.key!r} picks an array of an .npz file; {path} has only one table, leave key out"
        )
    if options.header is not None and name != "csv":
        raise InputError(
            f"header={options.header} is for .csv and .tsv files; {path} tells by itself, leave header out"
        )
    words = [token for token in options.missing if _number(token) is None]
    if words and name != "csv":
        raise InputError(f"missing={words[0]!r} is text, which {path} has none of; give numbers, or leave missing out")
    check_limit(options.limit)


def _without(table: Table, missing: Iterable[str]) -> Table:
    """Put NaN where a value equals one of the numbers that stand for missing."""
    marks = [number for token in missing if (number := _number(token)) is not None]
    if not marks:
        return table
    return replace(
        table, values=np.where(np.isin(table.values, np.array(marks, table.values.dtype)), np.nan, table.values)
    )


def _number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None
