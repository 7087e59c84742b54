"""Columns of pandas, polars and pyarrow, one by one: names, types, values; the three libraries differ only here."""

from __future__ import annotations

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
    """The values of a column as Python has them."""
    found = column(X, i)
    return list(found.to_pylist() if _is_arrow(X) else found.tolist() if _is_pandas(X) else found.to_list())


def kind(X: Any, i: int) -> str:
    """What a column holds, by its type or, where that says nothing, by its values."""
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
    """All columns as one array of float32, where all are that or smaller, else of float64."""
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
            raise InputError(column_message(name, columns[i], one, holds, values, type(X).__module__.partition(".")[0]))
        out[:, i] = _floats(X, i)
    return out


def _floats(X: Any, i: int) -> NDArray[Any]:
    found = column(X, i)
    if _is_pandas(X):
        return np.asarray(found.to_numpy(dtype=np.float64, na_value=np.nan))
    if _is_arrow(X):
        arrow = sys.modules["pyarrow"]
        if found.type == arrow.float16():  # older versions of pyarrow cannot cast it
            return np.asarray(found.to_numpy(zero_copy_only=False), dtype=np.float64)
        # There is no cast from true and false to floats.
        found = found.cast(arrow.uint8()) if found.type == arrow.bool_() else found
        return np.asarray(found.cast(arrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)
    return np.asarray(found.cast(sys.modules["polars"].Float64).to_numpy(), dtype=np.float64)


def index_of(X: Any) -> Any:
    """The index of a pandas frame; None of the others, which have none."""
    return X.index if _is_pandas(X) else None


def index_name(X: Any) -> Any:
    """The name of the index of a pandas frame."""
    return X.index.name if _is_pandas(X) else None


def index_level(X: Any, name: Any) -> Any:
    """The values of a level of the index of a pandas frame; None where there is no such level."""
    return X.index.get_level_values(name) if _is_pandas(X) and name in X.index.names else None


def is_numbered(X: Any) -> bool:
    """Whether the rows of a frame are counted by pandas from 0, and not named."""
    index: Any = getattr(X, "index", None)
    return type(index).__name__ == "RangeIndex" and index.name is None and index.start == 0 and index.step == 1


def has_named_index(X: Any) -> bool:
    """Whether the index of a pandas frame says something of its rows: it has a name, or is not of whole numbers."""
    if not _is_pandas(X):
        return False
    return any(name is not None for name in X.index.names) or getattr(X.index.dtype, "kind", "O") not in "iu"


def _is_pandas(X: Any) -> bool:
    return hasattr(X, "iloc")


def _is_arrow(X: Any) -> bool:
    return hasattr(X, "schema") and hasattr(X, "num_rows")
