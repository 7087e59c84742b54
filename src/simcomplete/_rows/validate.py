"""The door: whatever users bring becomes a checked float array, or an error that helps.

Nothing beyond this file validates data, and nothing here computes with it. A float32 or float64 array passes
through uncopied (memory-mapped ones stay on disk); everything else numeric becomes float64, half precision
float32. NaN marks a missing value.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import row_blocks
from simcomplete._rows.files import open_rows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, is_array, is_dask, namespace, to_numpy
from simcomplete.errors import InputError


def as_rows(X: Any, name: str = "X", *, complete: bool = False) -> RowTable:
    """Check rows of features and bring them to float.

    Parameters
    ----------
    X : array, frame, masked array, nested list, or anything with shape, dtype and row slices, of shape (n, d)
        Rows are samples, NaN (or masked, or null) is missing. A path to a `.npy` or `.zarr` is opened, not read.
    name : str
        What to call it in messages.
    complete : bool
        Refuse rows with missing values.

    Returns
    -------
    RowTable
        Float values and, of a frame with row labels, the labels.
    """
    labels = _row_labels(X)
    if is_out_of_core(X):  # these rows are checked when they are read
        return _not_empty(open_rows(X, name, complete), name)
    values = _as_float(X, name)
    if values.ndim != 2:
        hint = f"; for one sample use {name}[None, :]" if values.ndim == 1 else ""
        raise InputError(
            f"{name} has {values.ndim} dimension{'s' * (values.ndim != 1)}; 2 are needed, "
            f"rows are samples and columns are features{hint}"
        )
    table = _not_empty(HeldRows(values, labels), name)
    unusual = _refuse_infinities(table.array_like, name)
    if complete and unusual:
        _refuse_missing(table.array_like, name)
    return table


def as_array(X: Any, name: str = "X", *, complete: bool = False) -> NDArray[Any]:
    """Check rows of features and bring all of them to NumPy."""
    return to_numpy(as_rows(X, name, complete=complete).whole())


def as_similarity(
    S0: Any, name: str = "S0", fill: Callable[[Array], Array] | None = None
) -> tuple[Array, list[str] | None]:
    """Check a similarity matrix: square, finite after `fill`, symmetric up to rounding (then made symmetric)."""
    labels = _row_labels(S0)
    S = _as_float(S0, name)
    S = S if fill is None else fill(S)
    if S.ndim != 2 or S.shape[0] != S.shape[1] or S.shape[0] == 0:
        raise InputError(f"{name} has shape {tuple(S.shape)}; a square matrix is needed, one row per sample")
    xp = namespace(S)
    size = worst = 0.0
    where = (0, 0)
    for rows in row_blocks(S.shape[0], S.shape[0] * 8):
        block = S[rows, :]
        if not bool(xp.all(xp.isfinite(block))):
            i, j = _first(~xp.isfinite(block), rows.start)
            raise InputError(
                f"{name}[{i}, {j}] = {float(S[i, j])} is not finite; every entry is needed: put 0 where two "
                "samples have no common evidence, or give the samples themselves to complete()"
            )
        gap = xp.abs(block - S[:, rows].T)
        size = max(size, float(xp.max(xp.abs(block))))
        if float(xp.max(gap)) > worst:
            worst = float(xp.max(gap))
            where = _first(gap == worst, rows.start)
    if worst > (1e-5 if S.dtype == xp.float32 else 1e-9) * size:
        i, j = where
        raise InputError(
            f"{name} is not symmetric: {name}[{i}, {j}] = {float(S[i, j]):.6g} but {name}[{j}, {i}] = "
            f"{float(S[j, i]):.6g}; if the order within a pair has no meaning, give ({name} + {name}.T) / 2"
        )
    return (S if worst == 0 else (S + S.T) / 2), labels


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
        raise InputError(f"rank={rank!r} is not a whole number; use 1 <= rank <= {n}, or None for min(100, n)")
    if rank < 1:
        raise InputError(f"rank={rank} is too small; use 1 <= rank <= {n}")
    if rank > n:
        raise InputError(f"rank={rank} exceeds the {n} samples given; use rank <= {n}")
    return int(rank)


def check_number(value: Any, name: str, low: float = 0.0, high: float = np.inf) -> float:
    """Return a finite number between `low` and `high`."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if isinstance(value, (bool, str)) or not np.isfinite(number) or not low <= number <= high:
        bound = f"at least {low:g}" if high == np.inf else f"between {low:g} and {high:g}"
        raise InputError(f"{name}={value!r} is not a number {bound}; give one")
    return number


def _as_float(X: Any, name: str) -> Array:
    if hasattr(X, "tocsr"):
        raise InputError(
            f"{name} is a sparse matrix, and its absent cells could mean zero or missing; give {name}.toarray() "
            "if they are zeros, or a dense array with NaN where they are missing"
        )
    if hasattr(X, "to_numpy") and hasattr(X, "columns"):
        return _from_frame(X, name)
    if isinstance(X, np.ma.MaskedArray):
        values = _numeric(X.data, name).copy()
        values[np.ma.getmaskarray(X)] = np.nan
        return values
    if is_array(X) and not isinstance(X, np.ndarray):
        return _from_library(X, name)
    try:
        values = np.asarray(X)
    except ValueError as error:
        raise InputError(f"{name} is not a table: {error}; rows need equal lengths") from error
    return _numeric(values, name)


def _from_library(X: Array, name: str) -> Array:
    xp = namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise InputError(_complex_message(name))
    if X.dtype in (xp.float32, xp.float64):
        return X
    half = xp.isdtype(X.dtype, "real floating")
    return xp.astype(X, xp.float32 if half else xp.float64)


def _from_frame(X: Any, name: str) -> NDArray[Any]:
    values = X.to_numpy()
    if values.dtype == object and hasattr(X, "index"):  # pandas: its NA is no float
        values = X.astype(object).where(X.notna(), None).to_numpy()
    try:
        return _numeric(values, name)
    except InputError:
        for column in X.columns:
            try:
                _numeric(np.asarray(X[column].to_numpy()), name)
            except InputError as error:
                raise InputError(
                    f"{name}: column {column!r} is of type {X[column].dtype} and not numeric; "
                    "leave it out or encode it as numbers"
                ) from error
        raise


def _numeric(values: NDArray[Any], name: str) -> NDArray[Any]:
    kind = values.dtype.kind
    if kind == "c":
        raise InputError(_complex_message(name))
    if values.dtype in (np.float32, np.float64):
        return values
    if kind == "f":
        return values.astype(np.float32 if values.dtype == np.float16 else np.float64)
    if kind in "iub":
        return values.astype(np.float64)
    if kind == "O":
        text = next((v for v in values.ravel() if isinstance(v, (str, bytes))), None)
        if text is None:
            try:
                return np.asarray(values, dtype=np.float64)
            except (TypeError, ValueError) as error:
                raise InputError(f"{name} holds values that are not numbers: {error}") from error
        raise InputError(f"{name} holds text such as {text!r}; numbers are needed, NaN where a value is missing")
    raise InputError(f"{name} is of type {values.dtype}; numbers are needed, NaN where a value is missing")


def _complex_message(name: str) -> str:
    return f"{name} is complex; real numbers are needed: give its real and imaginary parts as separate features"


def _refuse_infinities(values: Array, name: str) -> bool:
    """Refuse infinities; tell whether there may be missing values."""
    xp = namespace(values)
    unusual = False
    for rows in row_blocks(*_block_shape(values), like=values):
        block = values[rows, :]
        if _sums_up(block):
            continue
        unusual = True
        wrong = xp.isinf(block)
        if bool(xp.any(wrong)):
            i, j = _first(wrong, rows.start)
            raise InputError(
                f"{name}[{i}, {j}] is {float(values[i, j])}; finite numbers are needed: use NaN where a value is "
                "missing, or clip it"
            )
    return unusual


def _refuse_missing(values: Array, name: str) -> None:
    xp = namespace(values)
    bad: list[int] = []
    for rows in row_blocks(*_block_shape(values), like=values):
        block = values[rows, :]
        if _sums_up(block):
            continue
        wrong = to_numpy(xp.any(xp.isnan(block), axis=1))
        bad += [int(i) + rows.start for i in np.flatnonzero(wrong)]
    if bad:
        shown = ", ".join(map(str, bad[:5])) + (", ..." if len(bad) > 5 else "")
        raise InputError(
            f"{name} must be complete, but {len(bad)} of {values.shape[0]} rows have missing values (rows {shown});"
            " give those rows as queries, or all rows together with complete(X)"
        )


def _sums_up(block: Array) -> bool:
    """Whether values have a finite sum, so that all are finite: one look, and no second array."""
    xp = namespace(block)
    with np.errstate(over="ignore", invalid="ignore"):  # finite values whose sum is not are looked at one by one
        return bool(xp.isfinite(xp.sum(block)))


def _block_shape(values: Array) -> tuple[int, int]:
    return int(values.shape[0]), int(values.shape[1]) * 8


def _first(wrong: Array, offset: int) -> tuple[int, int]:
    i, j = np.argwhere(to_numpy(wrong))[0]
    return int(i) + offset, int(j)


def _not_empty(table: RowTable, name: str) -> RowTable:
    n, d = table.shape
    if n == 0 or d == 0:
        raise InputError(f"{name} has shape {(n, d)}: no {'rows' if n == 0 else 'columns'}; at least one is needed")
    return table


def _row_labels(X: Any) -> list[str] | None:
    index = getattr(X, "index", None)
    if index is None or callable(index) or not hasattr(X, "columns"):
        return None
    return [str(label) for label in index]


def is_out_of_core(x: object) -> bool:
    """Tell whether the rows of `x` are to be read block by block.

    A path, a dask array, a memory map that would have to be cast (floats of one go on as the arrays they are), or what
    is no array at all but has `shape`, `dtype` and slices.
    """
    if isinstance(x, (str, Path, RowTable)) or is_dask(x):
        return True
    if isinstance(x, np.memmap):
        return x.dtype not in (np.float32, np.float64)
    known = is_array(x) or hasattr(x, "columns") or hasattr(x, "tocsr")
    return not known and all(hasattr(x, name) for name in ("shape", "dtype", "__getitem__"))
