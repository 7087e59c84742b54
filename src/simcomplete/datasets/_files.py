"""Tables from files: the format of a file, and the options that its reader accepts."""

from __future__ import annotations

import errno
import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from simcomplete._rows.validate import check_number
from simcomplete.datasets._columns import picked_table
from simcomplete.datasets._formats import arrays, cifar, idx, ipc, parquet, svmlight, text, vectors
from simcomplete.datasets._formats.dialect import LOOK_LINES, is_separated
from simcomplete.datasets._formats.source import COMPRESSED_ENDINGS
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, InputError, MemoryLimitError, SimcompleteError

ENDINGS = ".npy, .npz, .csv, .tsv, .parquet, .arrow, .feather, .svm, .bin, .vec, .txt, -ubyte"


@dataclass(frozen=True)
class Format:
    """A file format: the pattern of its names, and its reader."""

    pattern: str
    read: Callable[[Path, Options], Table]
    compressible: bool = True  # the name may also end in .gz, .bz2 or .xz
    picks: bool = False  # the reader itself chooses columns, before it reads the others


FORMATS = {
    "npy": Format(r".*\.npy", arrays.read_npy, compressible=False),
    "npz": Format(r".*\.npz", arrays.read_npz, compressible=False),
    "csv": Format(r".*\.(csv|tsv|tab)", text.read_csv, picks=True),
    "parquet": Format(r".*\.(parquet|pq)", parquet.read_parquet, compressible=False, picks=True),
    "arrow": Format(r".*\.(arrow|feather|ipc)", ipc.read_ipc, compressible=False, picks=True),
    "idx": Format(r".*[.-](idx\d-ubyte|idx\d?|ubyte)", idx.read_idx),
    "cifar_binary": Format(r".*(data_batch_\d+|test_batch)\.bin", cifar.read_cifar),
    "cifar_pickle": Format(r".*(data_batch_\d+|test_batch)", cifar.refuse_pickle),
    "word2vec": Format(r".*\.bin", vectors.read_word2vec),
    "vectors": Format(r".*\.(txt|vec)", vectors.read_word_text),
    "svmlight": Format(r".*\.(svm|svmlight|libsvm|t|tr|val)", svmlight.read_svmlight),
}


def read_file(path: Path, options: Options, default_format: str | None = None, kind: str | None = None) -> Table:
    """Read a file in the format `kind`, or in the one that its name implies, or else in the default format."""
    check_path(path)
    name = kind or format_of(path) or default_format
    if name == "vectors" and kind is None and _is_table(path, options):
        name = "csv"
    if name is None:
        ending = f"its ending, {path.suffix.lower()!r}, is not known" if path.suffix else "its name has no ending"
        raise FileFormatError(f"{path}: {ending}; use {ENDINGS}, or give format=")
    if name not in FORMATS:
        known = ", ".join(key for key in FORMATS if key != "cifar_pickle")
        raise InputError(f"format={name!r} is not known; use one of {known}")
    _check_options(path, name, options)
    if path.stat().st_size == 0:
        raise FileFormatError(f"{path}: the file is empty")
    with path.open("rb"):  # a file without permission to read raises here, before a reader calls it damaged
        pass
    try:
        table = FORMATS[name].read(path, options).first(options.limit)
        table = table if FORMATS[name].picks else picked_table(path, table, options)
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


def _is_table(path: Path, options: Options) -> bool:
    """Whether a .txt is a table with separators, and not word vectors: what has both readings is vectors."""
    if options.header is not None or options.separator is not None or options.decimal is not None:
        return True
    try:
        vectors.read_word_text(path, replace(options, limit=LOOK_LINES))
    except SimcompleteError:
        with suppress(FileFormatError):
            return is_separated(path)
    return False


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
            f"header={options.header} is for .csv and .tsv files; {path} is of another format, leave header out"
        )
    for parameter in ("separator", "decimal"):
        given = getattr(options, parameter)
        if given is not None and name != "csv":
            raise InputError(f"{parameter}={given!r} is for text files; {path} is not one, leave it out")
    if options.decimal not in (None, ".", ","):
        raise InputError(f"decimal={options.decimal!r} is not a decimal sign; use '.' or ','")
    if options.separator is not None and (len(options.separator) != 1 or options.separator in '\r\n"'):
        raise InputError(f"separator={options.separator!r} is not one sign; use ',', ';', '|' or a tab")
    words = [token for token in options.missing if _token_number(token) is None]
    if words and name != "csv":
        raise InputError(
            f"missing={words[0]!r} is text, and {path} has numbers only; give numbers, or leave missing out"
        )
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
