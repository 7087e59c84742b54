"""Sparse matrices of SciPy and sparse columns of pandas: what a cell that is not stored means must be said."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete._rows.cells import numeric
from simcomplete.errors import InputError

MEANINGS = ("absent", "zero")


def is_sparse_column(dtype: Any) -> bool:
    """Whether a column of pandas is sparse."""
    return str(dtype).startswith("Sparse[")


def has_sparse_cells(X: Any) -> bool:
    """Whether something is a sparse matrix, or a frame of pandas with a sparse column."""
    return hasattr(X, "tocsr") or (hasattr(X, "iloc") and any(is_sparse_column(dtype) for dtype in X.dtypes))


def check_missing(missing: Any) -> None:
    """Refuse a meaning of cells that are not stored, other than the two there are."""
    if missing is not None and missing not in MEANINGS:
        raise InputError(
            f"missing={missing!r} is unknown; use 'absent' (cells that are not stored are missing) or 'zero'"
        )


def dense_rows(X: Any, name: str, missing: str | None) -> NDArray[Any]:
    """A sparse matrix as an array: cells that are not stored are NaN or 0, as said."""
    if missing is None:
        raise InputError(_question(name, "a sparse matrix"))
    n, d = X.shape
    require(n * d * 8, f"the {n} x {d} values of {name}, with those that are not stored,", "give fewer rows at a time")
    stored = X.tocoo(copy=True)  # what was given stays as it is
    stored.sum_duplicates()
    values = numeric(np.asarray(stored.data), name)
    out = np.full((n, d), np.nan if missing == "absent" else 0.0, dtype=values.dtype)
    out[stored.row, stored.col] = values
    return out


def sparse_column(array: Any, name: str, missing: str | None) -> NDArray[Any]:
    """A sparse column of pandas as an array. One that is filled with NaN says itself that what is absent is missing."""
    fill = array.fill_value
    says_missing = fill is None or fill != fill
    if missing is None and not says_missing:
        raise InputError(_question(name, f"sparse, with {fill!r} for cells that are not stored,"))
    if missing == "zero" and not says_missing and fill != 0:
        raise InputError(
            f"{name} is filled with {fill!r}, and missing='zero' says 0; make it dense with .sparse.to_dense()"
        )
    out = np.full(len(array), 0.0 if missing == "zero" else np.nan)
    out[array.sp_index.to_int_index().indices] = numeric(np.asarray(array.sp_values), name)
    return out


def _question(name: str, what: str) -> str:
    return (
        f"{name} is {what} and its absent cells could mean zero or missing; say missing='absent' if cells that are not "
        "stored are missing, missing='zero' if they are zeros (or give a dense array, such as .toarray())"
    )
