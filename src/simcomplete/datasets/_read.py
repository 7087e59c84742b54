"""`read_table`: a table of numbers from a file."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Any

from simcomplete.datasets._columns import names_of_columns
from simcomplete.datasets._files import read_file
from simcomplete.datasets._stream import STDIN, read_stream
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import InputError


def read_table(
    path: str | os.PathLike[str] | IO[bytes],
    key: str | None = None,
    *,
    header: bool | None = None,
    missing: Any = (),
    limit: int | None = None,
    format: str | None = None,
    separator: str | None = None,
    decimal: str | None = None,
    id: str | None = None,
    drop: Any = (),
    columns: Any = (),
) -> Table:
    """Read a table of numbers with missing values.

    Parameters
    ----------
    path : str, path or file
        A file whose name ends in .csv, .tsv, .tab, .parquet, .arrow, .feather, .npy or .npz; in .svm, .libsvm, .t
        (svmlight); in .bin (word2vec binary), .txt, .vec (word2vec or GloVe text; a .txt with separators is read as
        .csv); in -idx3-ubyte (IDX); or a binary batch of CIFAR-10 (data_batch_1.bin). Text and all from .svm on may be
        compressed (.gz, .bz2, .xz). Or a file that is open in binary mode, such as ``sys.stdin.buffer``; the format is
        detected from its first bytes.
    key : str, optional
        Which array of an .npz file; by default 'X', or the only one.
    header : bool, optional
        Whether the first line of text names the columns. By default it does when one of its cells is
        neither a number nor missing; a line that could be either is refused.
    missing : str, number or several, optional
        Further values that mean missing, such as 'unknown' or -999; numbers are compared as numbers, in every format.
    limit : int, optional
        Read only the first rows.
    format : str, optional
        The format, if its name does not show it: 'csv', 'npy', 'npz', 'parquet', 'arrow', 'svmlight', 'word2vec',
        'vectors', 'idx' or 'cifar_binary'.
    separator : str, optional
        What separates the cells of text. By default a comma, a semicolon, a tab or a bar, detected from the first
        lines.
    decimal : {'.', ','}, optional
        The sign before the fraction of numbers in text; the other one may then separate thousands (1.234,5). By
        default a point, or a comma where the cells are unambiguous; otherwise an error asks for it.
    id : str, optional
        The column that labels the rows; it is not a feature. Columns without names are counted from 1.
    drop, columns : str or sequence of str, optional
        Columns to leave out, and the only columns to keep.

    Returns
    -------
    Table
        `values` with NaN for missing; `labels`, `columns`, classes `y` and `image_shape` where the file has them.
        A large .npy file is mapped, not loaded.

    Raises
    ------
    InputError
        The file does not exist, a parameter does not apply to its format, a column does not exist, or a number is
        ambiguous.
    FileFormatError
        The file is truncated, is of another format than its name says, or has values that are not numbers.
    MemoryLimitError
        The table would not fit into memory.

    Notes
    -----
    Missing in text are empty cells, ?, -, --, a point, two points and, in upper or lower case, NaN, NA, N/A, n.a.,
    #N/A, <NA>, null and None. Columns of true and false are 1 and 0. Thousands may be separated by blanks or
    apostrophes, and by commas or points where the cells are unambiguous (1,234.5). Text is in UTF-8, or in UTF-16 with
    its byte order mark; quoted cells may have separators and line ends in them. Lines with # above the table are
    comments. Without `id`, row labels are a first column of text, or one without a name under a header (as pandas and R
    write it); among them NA is a label. In Parquet and Arrow files they are the index of the frame, or else the first
    column of text; in .npz a one-dimensional array of text beside X.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "animals.csv"
    >>> _ = path.write_text("name;legs;metres\\ncat;4;0,5\\nant;6;?\\n")
    >>> table = read_table(path)
    >>> table.values.tolist(), table.labels, table.columns
    ([[4.0, 0.5], [6.0, nan]], ['cat', 'ant'], ['legs', 'metres'])
    """
    options = Options(
        key=key,
        header=header,
        missing=missing_tokens(missing),
        limit=limit,
        separator=separator,
        decimal=decimal,
        id=None if id is None else str(id),
        drop=names_of_columns(drop, "drop"),
        columns=names_of_columns(columns, "columns"),
    )
    if isinstance(path, (str, os.PathLike)):
        return read_file(Path(path), options, kind=format)
    if not hasattr(path, "read"):
        raise InputError(f"path={path!r} is neither a path nor an open file; give one")
    name = getattr(path, "name", None)
    return read_stream(path, options, format, STDIN if name == "<stdin>" else str(name or "the open file"))


def missing_tokens(missing: Any) -> tuple[str, ...]:
    """Return the values that mean missing as text in lower case.

    Examples
    --------
    >>> missing_tokens(["Unknown", 99])
    ('unknown', '99')
    """
    tokens = [missing] if isinstance(missing, (str, int, float)) else list(missing)
    return tuple(str(token).strip().lower() for token in tokens)
