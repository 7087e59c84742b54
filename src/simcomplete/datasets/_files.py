"""Tables from files: the format of a file, and the options that its reader accepts."""

from __future__ import annotations

import errno
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from simcomplete._rows.validate import check_number
from simcomplete.datasets._formats import arrays, cifar, idx, parquet, svmlight, text, vectors
from simcomplete.datasets._formats.source import COMPRESSED_ENDINGS
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, InputError, MemoryLimitError, SimcompleteError

ENDINGS = ".npy, .npz, .csv, .parquet, .tsv, .svm, .bin, .vec, .txt, -ubyte"


@dataclass(frozen=True)
class Format:
    """A file format: the pattern of its names, its reader, and whether files may be compressed."""

    pattern: str
    read: Callable[[Path, Options], Table]
    compressible: bool = True  # the name may also end in .gz, .bz2 or .xz


FORMATS = {
    "npy": Format(r".*\.npy", arrays.read_npy, compressible=False),
    "npz": Format(r".*\.npz", arrays.read_npz, compressible=False),
    "csv": Format(r".*\.(csv|tsv)", text.read_csv, compressible=False),
    "parquet": Format(r".*\.parquet", parquet.read_parquet, compressible=False),
    "idx": Format(r".*[.-](idx\d-ubyte|idx\d?|ubyte)", idx.read_idx),
    "cifar_binary": Format(r".*(data_batch_\d+|test_batch)\.bin", cifar.read_cifar),
    "cifar_pickle": Format(r".*(data_batch_\d+|test_batch)", cifar.refuse_pickle),
    "word2vec": Format(r".*\.bin", vectors.read_word2vec),
    "vectors": Format(r".*\.(txt|vec)", vectors.read_word_text),
    "svmlight": Format(r".*\.(svm|svmlight|libsvm|t|tr|val)", svmlight.read_svmlight),
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
        (word2vec binary), .txt, .vec (word2vec or GloVe text); in -idx3-ubyte (IDX); or a binary batch of
        CIFAR-10 (data_batch_1.bin). All from .svm on may be compressed (.gz, .bz2, .xz).
    key : str, optional
        Which array of an .npz file; by default 'X', or the only one.
    header : bool, optional
        Whether the first line of a .csv or .tsv file names the columns. By default it does when one of its cells is
        neither a number nor missing; a line that could be either is refused.
    missing : str, number or several, optional
        Further values that mean missing, such as '?' or 99; numbers are compared as numbers, in every format.
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
        The file does not exist, or a parameter does not apply to its format.
    FileFormatError
        The file is truncated, is of another format than its name says, or has values that are not numbers.
    MemoryLimitError
        The table would not fit into memory.

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
    return read_file(Path(path), Options(key, header, missing_tokens(missing), limit))


def missing_tokens(missing: Any) -> tuple[str, ...]:
    """Return the values that mean missing as text in lower case.

    Examples
    --------
    >>> missing_tokens(["Unknown", 99])
    ('unknown', '99')
    """
    tokens = [missing] if isinstance(missing, (str, int, float)) else list(missing)
    return tuple(str(token).strip().lower() for token in tokens)


def read_file(path: Path, options: Options, default_format: str | None = None) -> Table:
    """Read a file in the format that its name implies, or else in the default format."""
    check_path(path)
    name = format_of(path) or default_format
    if name is None:
        raise FileFormatError(
            f"{path}: files ending in {path.suffix.lower() or 'nothing'!r} are not known; use {ENDINGS}"
        )
    _check_options(path, name, options)
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path}: the file is empty")
    with path.open("rb"):  # a file without permission to read raises here, before a reader calls it damaged
        pass
    try:
        table = FORMATS[name].read(path, options).first(options.limit)
        return _with_missing(table, options.missing)
    except SimcompleteError:
        raise
    except Exception as error:  # of a library that reads the format: whatever it is, the file is not what it seems
        if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
            raise MemoryLimitError(
                f"{path}: there is not enough memory to read it as {name}; give fewer rows or columns"
            ) from error
        raise FileFormatError(
            f"{path}: cannot be read as {name} ({type(error).__name__}: {' '.join(str(error).split())[:120]}); is it "
            "damaged, or of another format?"
        ) from error


def check_path(path: Path) -> None:
    """Raise where a path is not an existing file."""
    if not path.exists():
        raise InputError(f"{path}: there is no such file")
    if path.is_dir():
        raise FileFormatError(f"{path}: is a folder; give one file, of {ENDINGS}")


def check_limit(limit: int | None) -> None:
    """Raise where a limit is not a positive whole number."""
    if limit is not None and (check_number(limit, "limit", low=1) % 1 or not isinstance(limit, (int, np.integer))):
        raise InputError(f"limit={limit} is not a whole number of rows; give one, or None for all")


def format_of(path: Path) -> str | None:
    """Return the format that a file's name implies, or None.

    Examples
    --------
    >>> format_of(Path("train-images-idx3-ubyte.gz")), format_of(Path("data_batch_1.bin")), format_of(Path("x.doc"))
    ('idx', 'cifar_binary', None)
    """
    name = path.name.lower()
    compressed = next((ending for ending in COMPRESSED_ENDINGS if name.endswith(ending)), "")
    bare = name.removesuffix(compressed)
    for key, kind in FORMATS.items():
        if re.fullmatch(kind.pattern, bare if kind.compressible else name):
            return key
    # Compressed, without another ending: the files of LIBSVM.
    return "svmlight" if compressed and "." not in bare else None


def _check_options(path: Path, name: str, options: Options) -> None:
    if options.key is not None and name != "npz":
        raise InputError(
            f"key={options.key!r} picks an array of an .npz file; {path} has only one table, leave key out"
        )
    if options.header is not None and name != "csv":
        raise InputError(
            f"header={options.header} is for .csv and .tsv files; {path} tells by itself, leave header out"
        )
    words = [token for token in options.missing if _token_number(token) is None]
    if words and name != "csv":
        raise InputError(f"missing={words[0]!r} is text, which {path} has none of; give numbers, or leave missing out")
    check_limit(options.limit)


def _with_missing(table: Table, missing: Iterable[str]) -> Table:
    """Replace the numbers that mean missing by NaN."""
    numbers = [number for token in missing if (number := _token_number(token)) is not None]
    if not numbers:
        return table
    is_missing = np.isin(table.values, np.array(numbers, table.values.dtype))
    return replace(table, values=np.where(is_missing, np.nan, table.values))


def _token_number(token: str) -> float | None:
    try:
        return float(token)
    except ValueError:
        return None
