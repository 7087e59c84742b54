"""Tables from Parquet files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, optional


def read_parquet(path: Path, options: Options) -> Table:
    """Read a .parquet file; see `simcomplete.datasets.read_table`."""
    arrow = optional("pyarrow", extra="cli", purpose="reading .parquet files")
    parquet = optional("pyarrow.parquet", extra="cli", purpose="reading .parquet files")
    try:
        # Opened here: pyarrow itself refuses a name whose bytes are not UTF-8.
        with path.open("rb") as raw, parquet.ParquetFile(raw) as file:
            cells = file.metadata.num_rows * file.metadata.num_columns
            # Repeated values are compressed, so that the size of the file is no bound.
            require(16 * cells, f"{path} with {cells} cells", "give fewer rows or columns")
            table = file.read()
    except (arrow.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0].rstrip(".")
        raise FileFormatError(f"{path}: is not a Parquet file, or is truncated ({reason}); write it again") from error
    keys = _label_columns(table)
    features = [i for i in range(table.num_columns) if i not in keys]
    if not features or not table.num_rows:
        raise FileFormatError(
            f"{path}: {table.num_rows} rows and {len(features)} columns of numbers; needs one of each"
        )
    columns = [_column_numbers(path, table.field(i).name, table.column(i)) for i in features]
    labels = ["/".join(row) for row in zip(*(_column_texts(table.column(i)) for i in keys), strict=True)]
    names = [table.field(i).name for i in features]
    return as_table(path, np.stack(columns, axis=1), labels if keys else None, names)


def _label_columns(table: Any) -> list[int]:
    """Return the columns that label the rows: the index of a pandas frame, else the first column of text."""
    described = (table.schema.pandas_metadata or {}).get("index_columns", [])
    # A range index is described by a dict and has no column.
    columns = [name for name in described if isinstance(name, str)]
    index = [i for i, name in enumerate(table.column_names) if name in columns]
    return index or [i for i, field in enumerate(table.schema) if _is_text_type(field.type)][:1]


def _is_text_type(kind: Any) -> bool:
    types = optional("pyarrow", extra="cli", purpose="reading .parquet files").types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _column_texts(column: Any) -> list[str]:
    return ["" if cell is None else str(cell) for cell in column.to_pylist()]


def _column_numbers(path: Path, name: str, column: Any) -> NDArray[Any]:
    arrow = optional("pyarrow", extra="cli", purpose="reading .parquet files")
    types, kind = arrow.types, column.type
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    if not any(test(kind) for test in numeric):
        raise FileFormatError(
            f"{path}: column {name!r} holds {kind}, numbers are needed "
            "(one column of text may label the rows); drop it, or make it numbers"
        )
    single = types.is_float32(kind) or types.is_float16(kind)
    # Not safe: whole numbers beyond 2^53 are rounded, as NumPy does.
    return np.asarray(column.cast(arrow.float32() if single else arrow.float64(), safe=False).to_numpy())
