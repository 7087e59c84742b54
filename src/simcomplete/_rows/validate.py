"""Validation of the user's data: everything is converted to checked float arrays, or refused with a helpful error.

Arrays of float32 or float64 are not copied (memory-mapped ones stay on disk); half precision becomes float32, every
other numeric type float64. NaN marks a missing value.
"""

from __future__ import annotations

import reprlib
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import row_blocks
from simcomplete._rows.cells import complex_message, numeric
from simcomplete._rows.files import open_rows
from simcomplete._rows.frames import is_frame, read_frame
from simcomplete._rows.sparse import SparseRows, sparse_rows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, is_array, is_dask, namespace, to_numpy
from simcomplete.errors import InputError


def as_rows(X: Any, name: str = "X", *, complete: bool = False, id: Any = None, missing: str | None = None) -> RowTable:
    """Check rows of features and bring them to float.

    Parameters
    ----------
    X : array, frame, masked array, nested list, or anything with shape, dtype and row slices, of shape (n, d)
        Rows are samples, NaN (or masked, or null) is missing. A path to a `.npy` or `.zarr` is opened, not read.
    name : str
        What to call it in messages.
    complete : bool
        Refuse rows with missing values.
    id : optional
        The column of a frame that holds the labels; False for none. See `frames.read_frame`.
    missing : {"absent", "zero"}, optional
        What cells mean that a sparse matrix does not store.

    Returns
    -------
    RowTable
        Float values and, of a frame, the labels of rows and the names of columns.
    """
    if type(X) is not np.ndarray and (hasattr(X, "tocsr") or is_frame(X)):
        table = sparse_rows(X, name, missing) if hasattr(X, "tocsr") else read_frame(X, name, id, missing)
        if isinstance(table, SparseRows) and not complete:  # checked already, and kept as it is stored
            return table
    elif is_out_of_core(X):  # such rows are checked when they are read
        return _not_empty(open_rows(X, name, complete), name)
    else:
        values = as_float(X, name)
        if values.ndim != 2:
            hint = f"; for one sample use {name}[None, :]" if values.ndim == 1 else ""
            raise InputError(
                f"{name} has {values.ndim} dimension{'s' * (values.ndim != 1)}; 2 are needed, "
                f"rows are samples and columns are features{hint}"
            )
        table = HeldRows(values)
    unusual = _refuse_infinities(_not_empty(table, name).whole(), name, table)
    if complete and unusual:
        _refuse_missing(table.whole(), name, table)
    return table


def as_array(X: Any, name: str = "X", *, complete: bool = False) -> NDArray[Any]:
    """Check rows of features and bring all of them to NumPy."""
    return to_numpy(as_rows(X, name, complete=complete).whole())


def same_width(candidates: RowTable, queries: RowTable) -> None:
    """Refuse candidates and queries with different features or from different array libraries."""
    if candidates.d != queries.d:
        raise InputError(
            f"candidates have {candidates.d} features and queries {queries.d}; both need the same features "
            "in the same order"
        )
    first, second = candidates.xp, queries.xp
    if first is not second:
        raise InputError(
            f"candidates are {first.__name__.split('.')[-1]} arrays and queries "
            f"{second.__name__.split('.')[-1]} arrays; give both in the same library"
        )


def check_rank(rank: Any, n: int) -> int:
    """Return the rank to use: min(100, n) for None, else a whole number from 1 to n."""
    if rank is None:
        return min(100, n)
    if isinstance(rank, bool) or not isinstance(rank, (int, np.integer)):
        raise InputError(
            f"rank={rank!r} is not a whole number; use 1 <= rank <= {n}, or None for min(100, n)", about=("rank",)
        )
    if rank < 1:
        raise InputError(f"rank={rank} is too small; use 1 <= rank <= {n}", about=("rank",))
    if rank > n:
        raise InputError(f"rank={rank} exceeds the {n} samples given; use rank <= {n}", about=("rank",))
    return int(rank)


def check_number(value: Any, name: str, low: float = 0.0, high: float = np.inf) -> float:
    """Return a finite number between `low` and `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, (bool, str)) or not np.isfinite(number) or not low <= number <= high:
        bound = f"at least {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        raise InputError(f"{name}={value!r} is not a number {bound}; give one", about=(name,))
    return number


def check_measure(metric: Any, min_overlap: Any, epsilon: Any, d: int) -> None:
    """Refuse parameters of the similarity that do not exist, or that do not fit `d` features."""
    if metric not in ("cosine", "pearson"):
        raise InputError(f"metric={metric!r} is unknown; use 'cosine' or 'pearson'", about=("metric",))
    whole = isinstance(min_overlap, (int, np.integer)) and not isinstance(min_overlap, bool)
    if not whole or not 1 <= min_overlap <= d:
        raise InputError(
            f"min_overlap={min_overlap!r} must be a whole number from 1 to the {d} features given",
            about=("min_overlap",),
        )
    if check_number(epsilon, "epsilon") > 0 and metric != "cosine":
        raise InputError(
            "epsilon smooths zero vectors under the cosine only; a constant row has no Pearson "
            "correlation, smoothed or not: leave epsilon=0",
            about=("epsilon",),
        )


def as_float(X: Any, name: str) -> Array:
    """Bring an array, a masked array or a nested list to float, NaN where it is masked."""
    if isinstance(X, np.ma.MaskedArray):
        values = numeric(X.data, name).copy()
        values[np.ma.getmaskarray(X)] = np.nan
        return values
    if is_array(X) and not isinstance(X, np.ndarray):
        return _from_library(X, name)
    if X is None or isinstance(X, dict):
        what = "is None" if X is None else f"is a dict with the keys {reprlib.repr(list(X))}"
        hint = "" if X is None else f", such as pandas.DataFrame({name})"
        raise InputError(f"{name} {what}; an array or a frame is needed{hint}")
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError(f"{name} is not a table: {error}; rows need equal lengths") from error
    return values if values.dtype in (np.float32, np.float64) else numeric(values, name)


def _from_library(X: Array, name: str) -> Array:
    xp = namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise InputError(complex_message(name))
    if X.dtype in (xp.float32, xp.float64):
        return X
    half = xp.isdtype(X.dtype, "real floating")
    return xp.astype(X, xp.float32 if half else xp.float64)


def _refuse_infinities(values: Array, name: str, table: RowTable) -> bool:
    """Refuse infinities; return whether there may be missing values."""
    xp = namespace(values)
    unusual = False
    for rows in row_blocks(*_block_shape(values), like=values):
        block = values[rows, :]
        if _sums_up(block):
            continue
        unusual = True
        wrong = xp.isinf(block)
        if bool(xp.any(wrong)):
            i, j = first_position(wrong, rows.start)
            raise InputError(
                f"{name}[{i}, {j}]{_named(table, i, j)} is {float(values[i, j])}; finite numbers are needed: use NaN "
                "where a value is missing, or clip it"
            )
    return unusual


def _named(table: RowTable, i: int, j: int) -> str:
    """Return the label of a row and the name of a column, in parentheses, if they exist."""
    columns = getattr(table, "columns", None)
    row = f"row {table.labels[i]!r}" if table.labels is not None and getattr(table, "own_labels", False) else ""
    column = f"column {columns[j]!r}" if columns is not None else ""
    words = ", ".join(filter(None, (row, column)))
    return f" ({words})" if words else ""


def _refuse_missing(values: Array, name: str, table: RowTable) -> None:
    xp = namespace(values)
    bad: list[int] = []
    for rows in row_blocks(*_block_shape(values), like=values):
        block = values[rows, :]
        if _sums_up(block):
            continue
        wrong = to_numpy(xp.any(xp.isnan(block), axis=1))
        bad += [int(i) + rows.start for i in np.flatnonzero(wrong)]
    if bad:
        named = table.labels if getattr(table, "own_labels", False) else None
        first = [str(i) if named is None else repr(named[i]) for i in bad[:5]]
        shown = ", ".join(first) + (", ..." if len(bad) > 5 else "")
        raise InputError(
            f"{name} must be complete, but {len(bad)} of {values.shape[0]} rows have missing values (rows {shown});"
            " give those rows as queries, or all rows together with complete(X)"
        )


def _sums_up(block: Array) -> bool:
    """Return whether the sum of values is finite, so that all are: this needs one pass and no second array."""
    xp = namespace(block)
    with np.errstate(over="ignore", invalid="ignore"):  # finite values with an infinite sum are checked one by one
        return bool(xp.isfinite(xp.sum(block)))


def _block_shape(values: Array) -> tuple[int, int]:
    return int(values.shape[0]), int(values.shape[1]) * 8


def first_position(wrong: Array, offset: int) -> tuple[int, int]:
    """Row and column of the first True in a block of rows that begins at row `offset`."""
    i, j = np.argwhere(to_numpy(wrong))[0]
    return int(i) + offset, int(j)


def _not_empty(table: RowTable, name: str) -> RowTable:
    n, d = table.shape
    if n == 0 or d == 0:
        raise InputError(f"{name} has shape {(n, d)}: no {'rows' if n == 0 else 'columns'}; at least one is needed")
    return table


def is_out_of_core(x: object) -> bool:
    """Return whether the rows of `x` are to be read block by block.

    That is so for a path, a dask array, a memory map that would have to be cast (one of floats is used as an array),
    and an object that is no array but has `shape`, `dtype` and slices.
    """
    if isinstance(x, (str, Path, RowTable)) or is_dask(x):
        return True
    if isinstance(x, np.memmap):
        return x.dtype not in (np.float32, np.float64)
    return (
        not is_array(x)
        and not hasattr(x, "tocsr")
        and not is_frame(x)
        and all(hasattr(x, name) for name in ("shape", "dtype", "__getitem__"))
    )
