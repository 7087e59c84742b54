"""Access to columns of pandas, polars and pyarrow frames; code that depends on the library is only here."""

from __future__ import annotations

import reprlib
import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.cells import column_message, is_small_float, kind_of_type, kind_of_values
from simcomplete._rows.sparse import is_sparse_column, sparse_column
from simcomplete.errors import InputError


def column_names(X: Any) -> list[Any]:
    """Names of the columns."""
    return list(X.schema.names if _is_arrow(X) else X.columns)


def column(X: Any, i: int) -> Any:
    """A column."""
    return X.iloc[:, i] if _is_pandas(X) else X.column(i) if _is_arrow(X) else X.to_series(i)


def dtype(X: Any, i: int) -> Any:
    """The type of a column."""
    return X.schema.types[i] if _is_arrow(X) else X.dtypes.iloc[i] if _is_pandas(X) else X.dtypes[i]


def to_list(X: Any, i: int) -> list[Any]:
    """Return the values of a column as Python objects."""
    found = column(X, i)
    return list(found.to_pylist() if _is_arrow(X) else found.tolist() if _is_pandas(X) else found.to_list())


def kind(X: Any, i: int) -> str:
    """Return the kind of values in a column, by its type or, if that is too general, by its values."""
    found = kind_of_type(dtype(X, i))
    return kind_of_values(to_list(X, i)) if found == "object" else found


def without(X: Any, i: int) -> Any:
    """The frame without a column."""
    others = [j for j in range(len(column_names(X))) if j != i]
    return X.iloc[:, others] if _is_pandas(X) else X.remove_column(i) if _is_arrow(X) else X.drop(column_names(X)[i])


def header(X: Any) -> Any:
    """The frame without rows; None of other tables."""
    if _is_pandas(X):
        return X.iloc[:0]
    return X.slice(0, 0) if _is_arrow(X) else X.head(0) if hasattr(X, "to_series") else None


def floats(X: Any, columns: list[Any], name: str, missing: str | None) -> NDArray[Any]:
    """Return all columns as one array: float32 if all have at most 32 bits, else float64."""
    types = list(X.schema.types if _is_arrow(X) else X.dtypes)
    plain = not _is_arrow(X) and all(
        str(one) in ("float64", "Float64", "float32", "Float32") if not _is_pandas(X) else isinstance(one, np.dtype)
        for one in set(types)
    )
    if plain:
        values = X.to_numpy()
        if values.dtype in (np.float32, np.float64):
            return np.asarray(values)
        if values.dtype.kind in "iub":
            return np.asarray(values.astype(np.float64))
    small = bool(types) and all(is_small_float(one) for one in types)
    out = np.empty((len(X), len(types)), dtype=np.float32 if small else np.float64)
    for i, one in enumerate(types):
        if is_sparse_column(one):
            out[:, i] = sparse_column(column(X, i).array, f"{name}: column {columns[i]!r}", missing)
            continue
        holds = kind(X, i)
        if holds != "number":
            values = to_list(X, i)
            message = column_message(name, columns[i], one, holds, values, type(X).__module__.partition(".")[0])
            raise InputError(message + _not_either(X, columns, i))
        out[:, i] = _floats(X, i)
    return out


def _not_either(X: Any, columns: list[Any], first: int) -> str:
    """Return the other columns that are not numeric, so that one message can name all."""
    others = [
        columns[j]
        for j in range(first + 1, len(columns))
        if not is_sparse_column(dtype(X, j)) and kind(X, j) != "number"
    ]
    return f". Not numeric either: {reprlib.repr(others)}" if others else ""


def _floats(X: Any, i: int) -> NDArray[Any]:
    found = column(X, i)
    if _is_pandas(X):
        return np.asarray(found.to_numpy(dtype=np.float64, na_value=np.nan))
    if _is_arrow(X):
        arrow = sys.modules["pyarrow"]
        if found.type == arrow.float16():  # older versions of pyarrow cannot cast it
            return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)
        # pyarrow cannot cast booleans to floats.
        found = found.cast(arrow.uint8()) if found.type == arrow.bool_() else found
        return np.asarray(found.cast(arrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.asarray(found.cast(sys.modules["polars"].Float64).to_numpy(), dtype=np.float64)


def split_index(X: Any) -> tuple[Any, Any, Any]:
    """The frame, its index and the name of that; None of frames that have none.

    A pyarrow table made from a pandas frame has the index among its columns, and metadata that says which they are.
    """
    if _is_pandas(X):
        return X, X.index, X.index.name
    noted = noted_index(X.schema) if _is_arrow(X) else None
    if noted is None:
        return X, None, None
    if isinstance(noted, range):
        return (X, list(noted), None) if len(noted) == len(X) else (X, None, None)
    parts = [to_list(X, i) for i in noted]
    names = [column_names(X)[i] for i in noted]
    for i in sorted(noted, reverse=True):
        X = without(X, i)
    name = None if names[0].startswith("__index_level_") else names[0]
    return X, parts[0] if len(parts) == 1 else list(zip(*parts, strict=True)), name if len(names) == 1 else None


def noted_index(schema: Any) -> list[int] | range | None:
    """Return the index that pandas recorded in a pyarrow schema: columns, a range other than 0, 1, 2 ..., or None."""
    described = (schema.pandas_metadata or {}).get("index_columns", [])
    columns = [name for name in described if isinstance(name, str)]
    found = [i for i, name in enumerate(schema.names) if name in columns]
    if found:
        return found
    ranges = [one for one in described if isinstance(one, dict) and one.get("kind") == "range"]
    if not ranges or (ranges[0]["start"], ranges[0]["step"], ranges[0].get("name")) == (0, 1, None):
        return None
    return range(ranges[0]["start"], ranges[0]["stop"], ranges[0]["step"])


def index_level(X: Any, name: Any) -> Any:
    """The values of a level of the index of a pandas frame; None where there is no such level."""
    return X.index.get_level_values(name) if _is_pandas(X) and name in X.index.names else None


def is_numbered(X: Any) -> bool:
    """Return whether pandas numbers the rows of a frame from 0, without labels."""
    index: Any = getattr(X, "index", None)
    return type(index).__name__ == "RangeIndex" and index.name is None and index.start == 0 and index.step == 1


def has_named_index(X: Any) -> bool:
    """Return whether the index of a pandas frame has labels: it has a name, or is not of whole numbers."""
    if not _is_pandas(X):
        return False
    return any(name is not None for name in X.index.names) or getattr(X.index.dtype, "kind", "O") not in "iu"


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "schema") and hasattr(X, "num_rows")
