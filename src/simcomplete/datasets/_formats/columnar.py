"""What Parquet and Arrow files have in common: columns with types, of which one may label the rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete._rows.frame_columns import noted_index
from simcomplete._rows.labels import label_texts
from simcomplete.datasets._columns import pick_columns
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, optional

# A label is a name. One of a megabyte that a dictionary repeats in every row would fill the memory.
MAX_LABEL_BYTES = 10_000
LABEL_BYTES = 100  # of a Python string of ordinary length, and its place in a list
SHOWN = 8  # columns in a message
PURPOSE_COLUMNS = "reading .parquet and .arrow files"


@dataclass(frozen=True)
class ColumnPlan:
    """The positions of the columns that label the rows, and of the features; or numbers that label the rows."""

    keys: list[int]
    features: list[int]
    numbers: range | None = None


def plan_columns(path: Path, schema: Any, n: int, options: Options) -> ColumnPlan:
    """Refuse what cannot become a table before anything of it is read, and say what to read."""
    label, features = pick_columns(path, schema.names, options)
    noted = _noted(path, schema)
    keys = [label] if label is not None else _label_columns(schema, noted)
    if label is None and options.chooses:
        chosen = [schema.names.index(name) for name in options.columns]
        keys = [i for i in keys if schema.names[i] not in options.drop and i not in chosen]
    features = [i for i in features if i not in keys]
    if not features or n < 1:
        raise FileFormatError(f"{path}: {n} rows and {len(features)} columns of numbers; needs one of each")
    refused = [schema.field(i) for i in features if not _is_numeric(schema.field(i).type)]
    if refused:
        raise FileFormatError(f"{path}: {_not_numeric(refused)}")
    numbers = noted if isinstance(noted, range) and not keys and len(noted) == n else None
    return ColumnPlan(keys, features, numbers)


def table_of_columns(path: Path, schema: Any, plan: ColumnPlan, columns: dict[int, Any]) -> Table:
    """Make a table of the columns that were read, by their positions."""
    texts = [_column_texts(path, columns[i]) for i in plan.keys]
    labels = label_texts("/".join(row) for row in zip(*texts, strict=True)) if texts else None
    if plan.numbers is not None:
        labels = [str(number) for number in plan.numbers]
    values = np.stack([_column_numbers(columns[i]) for i in plan.features], axis=1)
    table = as_table(path, values, labels, [schema.names[i] for i in plan.features])
    return table if not texts else replace(table, label_name="/".join(schema.names[i] for i in plan.keys))


def _noted(path: Path, schema: Any) -> list[int] | range | None:
    """Return what pandas noted about its index."""
    try:
        return noted_index(schema)
    except (KeyError, ValueError, TypeError, AttributeError, RecursionError) as error:
        raise FileFormatError(
            f"{path}: what pandas has noted about the table is not valid ({type(error).__name__}); write the file "
            "again, or without it: pyarrow.Table.replace_schema_metadata"
        ) from error


def _label_columns(schema: Any, noted: list[int] | range | None) -> list[int]:
    """Return the columns that label the rows: the index of a pandas frame, else the first column of text."""
    index = noted if isinstance(noted, list) else []
    return index or [i for i, field in enumerate(schema) if _is_text_type(field.type)][:1]


def _is_text_type(kind: Any) -> bool:
    types = optional("pyarrow", extra="cli", purpose=PURPOSE_COLUMNS).types
    if types.is_dictionary(kind):
        kind = kind.value_type
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _column_texts(path: Path, column: Any) -> list[str]:
    """Return labels as text, once it is known that they are short."""
    arrow = optional("pyarrow", extra="cli", purpose=PURPOSE_COLUMNS)
    compute = optional("pyarrow.compute", extra="cli", purpose=PURPOSE_COLUMNS)
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


def _is_numeric(kind: Any) -> bool:
    types = optional("pyarrow", extra="cli", purpose=PURPOSE_COLUMNS).types
    numeric = (types.is_integer, types.is_floating, types.is_decimal, types.is_boolean, types.is_null)
    return any(test(kind) for test in numeric)


def _not_numeric(fields: list[Any]) -> str:
    """What to say of columns that are not numbers."""
    if len(fields) == 1:
        return (
            f"column {fields[0].name!r} holds {fields[0].type}, numbers are needed (one column of text may label the "
            "rows); leave it out with drop=, name it with id= where it labels the rows, or make it numbers"
        )
    names = [field.name for field in fields]
    listed = ", ".join(f"{field.name!r} ({field.type})" for field in fields[:SHOWN])
    more = f" and {len(fields) - SHOWN} more" if len(fields) > SHOWN else ""
    drop = f"drop={names}" if not more else "drop="
    return (
        f"columns {listed}{more} hold no numbers (one column of text may label the rows); leave them out: {drop}, name "
        "one with id= where it labels the rows, or make them numbers"
    )


def _column_numbers(column: Any) -> NDArray[Any]:
    arrow = optional("pyarrow", extra="cli", purpose=PURPOSE_COLUMNS)
    single = arrow.types.is_float32(column.type) or arrow.types.is_float16(column.type)
    # Not safe: whole numbers beyond 2^53 are rounded, as NumPy does.
    return np.asarray(column.cast(arrow.float32() if single else arrow.float64(), safe=False).to_numpy())
