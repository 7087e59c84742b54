"""Sparse matrices of SciPy and sparse columns of pandas; the user must say what cells that are not stored mean.

If they are missing, `SparseRows` holds the stored cells and makes dense rows with NaN block by block.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import array_api_compat.numpy
import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete._rows.cells import numeric
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Namespace, to_numpy
from simcomplete.errors import InputError

MEANINGS = ("absent", "zero")


def is_sparse_column(dtype: Any) -> bool:
    """Whether a column of pandas is sparse."""
    return str(dtype).startswith("Sparse[")


def has_sparse_cells(X: Any) -> bool:
    """Whether something is a sparse matrix, or a frame of pandas with a sparse column."""
    return hasattr(X, "tocsr") or (hasattr(X, "iloc") and any(is_sparse_column(dtype) for dtype in X.dtypes))


def check_missing(missing: Any) -> None:
    """Refuse other values of `missing` than "absent" and "zero"."""
    if missing is not None and missing not in MEANINGS:
        raise InputError(
            f"missing={missing!r} is unknown; use 'absent' (cells that are not stored are missing) or 'zero'"
        )


class SparseRows(HeldRows):
    """Rows of a sparse matrix whose cells that are not stored are missing.

    Blocks of rows are made dense, with NaN, when they are read; all rows at once only if a method needs `array`, which
    is refused if it would not fit into memory.

    Attributes
    ----------
    stored : csr_array
        The known cells, including stored zeros, without duplicates and NaN.

    Examples
    --------
    >>> import scipy.sparse
    >>> rows = SparseRows(scipy.sparse.csr_array(([3.0, 0.0], ([0, 1], [0, 1])), shape=(2, 2)))
    >>> rows.read(0, 2)
    array([[ 3., nan],
           [nan,  0.]])
    """

    def __init__(self, stored: Any, labels: list[str] | None = None) -> None:
        n, d = stored.shape
        RowTable.__init__(self, (int(n), int(d)), stored.dtype, "cpu", labels)
        self.stored = stored

    @cached_property
    def array(self) -> NDArray[Any]:
        """All rows, dense."""
        need = f"the {self.n} x {self.d} values of the rows, with those that are not stored,"
        require(self.n * self.d * self.dtype.itemsize, need, "use method='shrunk', which reads a block at a time")
        return self.read(0, self.n)

    @property
    def held(self) -> None:
        """None: there is no dense array."""
        return None

    @property
    def array_like(self) -> RowTable:
        """This table."""
        return self

    @property
    def xp(self) -> Namespace:
        """NumPy."""
        return array_api_compat.numpy

    def like(self, values: NDArray[Any], dtype: Any = None) -> NDArray[Any]:
        """A NumPy array of a type."""
        return np.asarray(values, dtype=dtype)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Return rows from `start` up to `stop`, NaN where nothing is stored."""
        return _with_nan(self.stored[start:stop])

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Return some rows, in the order asked for."""
        return _with_nan(self.stored[positions])

    def without_values(self) -> NDArray[np.int64]:
        """Positions of rows without any value."""
        return np.flatnonzero(self.known_counts() == 0)

    def known_counts(self) -> NDArray[np.int64]:
        """How many values every row has."""
        return np.asarray(np.diff(self.stored.indptr), dtype=np.int64)

    def __getitem__(self, key: Any) -> Any:
        return RowTable.__getitem__(self, key)


def sparse_rows(X: Any, name: str, missing: str | None) -> HeldRows:
    """Return the rows of a sparse matrix: kept sparse if cells that are not stored are missing, else dense."""
    if missing != "absent" or 0 in X.shape:
        return HeldRows(dense_rows(X, name, missing))
    stored = X.tocoo(copy=True)  # the input is not changed
    stored.sum_duplicates()
    values = numeric(np.asarray(stored.data), name)
    if np.isinf(values).any():
        k = int(np.flatnonzero(np.isinf(values))[0])
        raise InputError(
            f"{name}[{stored.row[k]}, {stored.col[k]}] is {values[k]}; finite numbers are needed: leave the cell out "
            "where a value is missing, or clip it"
        )
    known = ~np.isnan(values)
    return SparseRows(stored_cells(values[known], stored.row[known], stored.col[known], X.shape))


def stored_cells(values: NDArray[Any], rows: NDArray[Any], columns: NDArray[Any], shape: tuple[int, int]) -> Any:
    """Make a sparse matrix of cells, which may be zeros; each is given once."""
    import scipy.sparse  # imported here because dense rows do not need it

    return scipy.sparse.csr_array((values, (rows, columns)), shape=tuple(int(size) for size in shape))


def known_cells(rows: RowTable) -> Any:
    """Return the known cells of rows as a sparse matrix in float64; dense rows are read block by block."""
    if isinstance(rows, SparseRows):
        return rows.stored.astype(np.float64)

    def cells(block: Any, start: int) -> list[tuple[NDArray[Any], ...]]:
        values = to_numpy(block)
        i, j = np.nonzero(~np.isnan(values))
        return [(values[i, j].astype(np.float64), i + start, j)]

    parts = rows.fold(cells, lambda a, b: a + b, bytes_per_row=32 * rows.d, label="known values", progress=False)
    values, i, j = (np.concatenate(part) for part in zip(*parts, strict=True))
    return stored_cells(values, i, j, rows.shape)


def _with_nan(some: Any) -> NDArray[Any]:
    cells = some.tocoo()
    out = np.full(some.shape, np.nan, dtype=some.dtype)
    out[cells.row, cells.col] = cells.data
    return out


def dense_rows(X: Any, name: str, missing: str | None) -> NDArray[Any]:
    """Return a sparse matrix as an array; cells that are not stored become NaN or 0, by `missing`."""
    if missing is None:
        raise InputError(_question(name, "a sparse matrix", "give a dense array, such as .toarray()"))
    n, d = X.shape
    require(n * d * 8, f"the {n} x {d} values of {name}, with those that are not stored,", "give fewer rows at a time")
    stored = X.tocoo(copy=True)
    stored.sum_duplicates()
    values = numeric(np.asarray(stored.data), name)
    out = np.full((n, d), np.nan if missing == "absent" else 0.0, dtype=values.dtype)
    out[stored.row, stored.col] = values
    return out


def sparse_column(array: Any, name: str, missing: str | None) -> NDArray[Any]:
    """Return a sparse column of pandas as an array. If its fill value is NaN, cells that are not stored are missing."""
    fill = array.fill_value
    says_missing = fill is None or fill != fill
    if missing is None and not says_missing:
        raise InputError(
            _question(
                name, f"sparse, with {fill!r} for cells that are not stored,", "make it dense with .sparse.to_dense()"
            )
        )
    if missing == "zero" and not says_missing and fill != 0:
        raise InputError(
            f"{name} is filled with {fill!r}, and missing='zero' says 0; make it dense with .sparse.to_dense()"
        )
    out = np.full(len(array), 0.0 if missing == "zero" else np.nan)
    out[array.sp_index.to_int_index().indices] = numeric(np.asarray(array.sp_values), name)
    return out


def _question(name: str, what: str, dense: str) -> str:
    return (
        f"{name} is {what} and its absent cells could mean zero or missing; use missing='absent' if cells that are not "
        f"stored are missing, missing='zero' if they are zeros (or {dense})"
    )
