"""Tables from Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, SimcompleteError, optional

# A label is a name. One of a megabyte that a dictionary repeats in every row would fill the memory.
MAX_LABEL_BYTES = 10_000
LABEL_BYTES = 100  # of a Python string of ordinary length, and its place in a list


def read_parquet(path: Path, options: Options) -> Table:
    """Read a .parquet file; see `simcomplete.datasets.read_table`."""
    optional("pyarrow", extra="cli", purpose="reading .parquet files")  # whose parts may be missing one by one
    parquet = optional("pyarrow.parquet", extra="cli", purpose="reading .parquet files")
    try:
        # Opened here: pyarrow itself refuses a name whose bytes are not UTF-8.
        with path.open("rb") as raw, parquet.ParquetFile(raw) as file:
            keys = _check_schema(path, file)
        names = [file.schema_arrow.names[i] for i in keys]
        # Labels stay in a dictionary until their lengths are known: a long one may be repeated in every row.
        with path.open("rb") as raw, parquet.ParquetFile(raw, read_dictionary=names) as file:
            table = file.read()
    except SimcompleteError:
        raise
    except Exception as error:  # of Arrow, of Python under it, of UTF-8 in names: there is no common kind
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise FileFormatError(f"{path}: is not a Parquet file, or is truncated ({reason}); write it again") from error
    features = [i for i in range(table.num_columns) if i not in keys]
    columns = [_column_numbers(table.column(i)) for i in features]
    labels = ["/".join(row) for row in zip(*(_column_texts(path, table.column(i)) for i in keys), strict=True)]
    names = [table.field(i).name for i in features]
    return as_table(path, np.stack(columns, axis=1), labels if keys else None, names)


def _check_schema(path: Path, file: Any) -> list[int]:
    """Refuse what cannot become a table before anything of it is read; return the columns that label the rows."""
    n, schema = file.metadata.num_rows, file.schema_arrow
    keys = _label_columns(path, schema)
    features = [i for i in range(len(schema)) if i not in keys]
    if not features or n < 1:
        raise FileFormatError(f"{path}: {n} rows and {len(features)} columns of numbers; needs one of each")
    for i in features:
        _check_numeric(path, schema.field(i).name, schema.field(i).type)
    groups = [file.metadata.row_group(i) for i in range(file.metadata.num_row_groups)]
    # Repeated values are compressed, so that the size of the file is no bound.
    needed = 16 * n * len(schema) + sum(max(0, group.total_byte_size) for group in groups)
    require(needed, f"{path} with {n * len(schema)} cells", "give fewer rows or columns")
    return keys


def _label_columns(path: Path, schema: Any) -> list[int]:
    """Return the columns that label the rows: the index of a pandas frame, else the first column of text."""
    try:
        described = (schema.pandas_metadata or {}).get("index_columns", [])
        # A range index is described by a dict and has no column.
        columns = [name for name in described if isinstance(name, str)]
    except (ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(
            f"{path}: what pandas has noted about the table is not valid ({type(error).__name__}); write the file "
            "again, or without it: pyarrow.Table.replace_schema_metadata"
        ) from error
    index = [i for i, name in enumerate(schema.names) if name in columns]
    return index or [i for i, field in enumerate(schema) if _is_text_type(field.type)][:1]


def _is_text_type(kind: Any) -> bool:
    types = optional("pyarrow", extra="cli", purpose="reading .parquet files").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _column_texts(path: Path, column: Any) -> list[str]:
    """Return labels as text, once it is known that they are short."""
    arrow = optional("pyarrow", extra="cli", purpose="reading .parquet files")
    compute = optional("pyarrow.compute", extra="cli", purpose="reading .parquet files")
    total = LABEL_BYTES * len(column)
    for chunk in column.chunks if _is_text_type(column.type) else []:
        packed = arrow.types.is_dictionary(chunk.type)
        lengths = compute.binary_length(chunk.dictionary if packed else chunk)
        lengths = lengths.take(chunk.indices) if packed else lengths
        longest = compute.max(lengths).as_py() or 0
        if longest > MAX_LABEL_BYTES:
            raise FileFormatError(
                f"{path}: a row label has {longest} bytes, and the longest may have {MAX_LABEL_BYTES}; give the rows "
                "short names, or drop the column"
            )
        total += compute.sum(lengths).as_py() or 0
    require(total, f"{path} with {len(column)} labels", "drop the column of labels")
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]


def _check_numeric(path: Path, name: str, kind: Any) -> None:
    types = optional("pyarrow", extra="cli", purpose="reading .parquet files").types
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    if not any(test(kind) for test in numeric):
        raise FileFormatError(
            f"{path}: column {name!r} holds {kind}, numbers are needed "
            "(one column of text may label the rows); drop it, or make it numbers"
        )


def _column_numbers(column: Any) -> NDArray[Any]:
    arrow = optional("pyarrow", extra="cli", purpose="reading .parquet files")
    single = arrow.types.is_float32(column.type) or arrow.types.is_float16(column.type)
    # Not safe: whole numbers beyond 2^53 are rounded, as NumPy does.
    return np.asarray(column.cast(arrow.float32() if single else arrow.float64(), safe=False).to_numpy())
