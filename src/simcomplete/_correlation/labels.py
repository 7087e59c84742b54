"""Square matrices as users bring them: arrays, frames with labels, tables from files; and back in the same kind."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from simcomplete._rows import frame_columns
from simcomplete._rows.frames import frame_library, is_frame, read_frame
from simcomplete._rows.validate import as_array
from simcomplete._rows.xp import is_array, is_dask, is_numpy, like, to_numpy
from simcomplete._types import Matrix
from simcomplete.errors import InputError


@dataclass(frozen=True)
class Labelled:
    """A square matrix in float64, the labels of its rows, what was mended, and how to give one back in its kind."""

    values: Matrix
    labels: list[str] | None = None
    notes: list[str] = field(default_factory=list)
    wrap: Callable[[Matrix], Any] = np.asarray

    def place(self, i: int, j: int, name: str = "A") -> str:
        """A cell in words."""
        return place(self.labels, i, j, name)

    def aligned(self, labels: list[str] | None, name: str, *, some: bool = False) -> Matrix:
        """The values in the order of other labels, where both have labels; with `some`, NaN where a label is missing.

        Examples
        --------
        >>> Labelled(np.array([[1.0, 0.3], [0.3, 1.0]]), ["c", "a"]).aligned(["a", "b", "c"], "fixed", some=True)
        array([[1. , nan, 0.3],
               [nan, nan, nan],
               [0.3, nan, 1. ]])
        """
        if labels is None or self.labels is None or self.labels == labels:
            return self.values
        own = sorted(self.labels)
        known = set(own) <= set(labels) if some else own == sorted(labels)
        if not known or len(set(labels)) < len(labels) or len(set(own)) < len(own):
            differ = differing(self.labels, labels, (name, "A"))
            raise InputError(f"{name} and A have different labels: {differ}; give {'some of ' * some}those of A")
        place = [labels.index(label) for label in self.labels]
        whole = np.full((len(labels), len(labels)), np.nan)
        whole[np.ix_(place, place)] = self.values
        return whole


def place(labels: list[str] | None, i: int, j: int, name: str = "A") -> str:
    """A cell in words, by its labels where there are some.

    Examples
    --------
    >>> place(["x", "y"], 0, 1), place(None, 0, 1)
    ("A['x', 'y']", 'A[0, 1]')
    """
    return f"{name}[{i}, {j}]" if labels is None else f"{name}[{labels[i]!r}, {labels[j]!r}]"


def opened(A: Any, name: str = "A") -> Labelled:
    """Read a square matrix; a frame whose columns are in another order than its rows is put in order.

    Examples
    --------
    >>> opened([[1, 0], [0, 1]]).values
    array([[1., 0.],
           [0., 1.]])
    """
    library = frame_library(A)
    if library == "pandas" and hasattr(A, "columns"):
        return _of_pandas(A, name)
    if library in ("polars", "pyarrow") and is_frame(A):
        return _of_columns(A, name)
    if library == "xarray":
        return _of_xarray(A, name)
    if hasattr(A, "columns") and hasattr(A, "to_numpy"):
        return _of_table(A, name)
    if is_array(A) and not is_numpy(A) and not is_dask(A):
        return Labelled(_square(to_numpy(A), name), wrap=lambda X: like(X, A))
    return Labelled(_square(A, name))


def differing(rows: list[str], columns: list[str], where: tuple[str, str] = ("rows", "columns")) -> str:
    """The first labels that only one side has, or a label that one has twice, in words."""
    for labels, side in zip((rows, columns), where, strict=True):
        twice = next((label for label, count in Counter(labels).items() if count > 1), None)
        if twice is not None:
            return f"{twice!r} occurs more than once in {side}"
    only = [sorted(set(one) - set(other))[:3] for one, other in ((rows, columns), (columns, rows))]
    return "; ".join(
        f"{', '.join(map(repr, some))} only in {side}" for some, side in zip(only, where, strict=True) if some
    )


def _of_pandas(A: Any, name: str) -> Labelled:
    if len(A.columns) == len(A) + 1 and frame_columns.kind(A, 0) == "text":  # labels as a file has them
        labelled = _of_pandas(A.iloc[:, 1:].set_axis(A.iloc[:, 0], axis=0), name)
        return replace(labelled, wrap=lambda X: labelled.wrap(X).reset_index())
    rows, columns = [str(x) for x in A.index], [str(x) for x in A.columns]
    notes: list[str] = []
    default = [is_count(index) for index in (A.index, A.columns)]
    # Of labels on one side alone, those of the other may be its numbers in another order.
    if rows != columns and (not any(default) or sorted(rows) == sorted(columns)):
        order = _order(rows, columns, name, notes)
        A = A if order is None else A.iloc[:, order]
    labels = rows if default[1] and not default[0] else [str(x) for x in A.columns]

    def wrap(X: Matrix) -> Any:
        return type(A)(X, index=A.index, columns=A.columns)

    return Labelled(_square(A, name), None if all(default) else labels, notes, wrap)


def is_count(index: Any) -> bool:
    """Whether an index of pandas is 0, 1, 2 and so on, as it is where nobody gave labels."""
    return type(index).__name__ == "RangeIndex" and (index.start, index.step) == (0, 1)


def _of_columns(A: Any, name: str) -> Labelled:
    """A frame of polars or pyarrow; labels of rows are in a first column of text, or where pandas noted them."""
    if hasattr(A, "collect"):  # a LazyFrame
        A = A.collect()
    A, index, title = frame_columns.split_index(A)
    columns = frame_columns.column_names(A)
    if index is None and len(A) == len(columns) - 1 and frame_columns.kind(A, 0) != "number":
        index, title, columns = frame_columns.to_list(A, 0), columns[0], columns[1:]
    notes: list[str] = []
    order = None if index is None else _order([str(x) for x in index], columns, name, notes)
    columns = columns if order is None else [columns[k] for k in order]
    arrow = frame_library(A) == "pyarrow"

    def wrap(X: Matrix) -> Any:
        numbers = {column: X[:, k] for k, column in enumerate(columns)}
        whole = numbers if index is None else {title or "row": index, **numbers}
        return type(A).from_pydict(whole) if arrow else type(A)(whole)

    return Labelled(_square(A.select(columns), name), list(columns), notes, wrap)


def _of_xarray(A: Any, name: str) -> Labelled:
    """A DataArray; the coordinates of its dimensions are the labels."""
    table, notes = read_frame(A, name), list[str]()
    columns = None if table.columns is None else [str(x) for x in table.columns]
    if table.labels is not None and columns is not None:
        order = _order(table.labels, columns, name, notes)
        A = A if order is None else A.isel({A.dims[1]: order})
    labels = columns if table.labels is None else table.labels
    return Labelled(_square(A.values, name), labels, notes, lambda X: A.copy(data=X))


def _of_table(A: Any, name: str) -> Labelled:
    """A table that was read from a file."""
    rows, columns, notes = A.labels, A.columns, list[str]()
    values = np.asarray(A.values)
    if rows is not None and columns is not None:
        order = _order(list(rows), list(columns), name, notes)
        values = values if order is None else values[:, order]
    return Labelled(_square(values, name), rows if rows is not None else columns, notes)


def _order(rows: list[str], columns: list[str], name: str, notes: list[str]) -> list[int] | None:
    """Positions that bring columns into the order of rows; None where they are."""
    if rows == columns:
        return None
    if sorted(rows) != sorted(columns) or len(set(rows)) < len(rows):
        raise InputError(
            f"rows and columns of {name} have different labels: {differing(rows, columns)}; a correlation or "
            "covariance matrix has the same labels on both sides: give such a frame, or an array without labels"
        )
    notes.append("columns were in another order than rows: put in the order of the rows")
    return [columns.index(label) for label in rows]


def dimensions(A: Any, name: str) -> int:
    """How many dimensions an array or a nested list has."""
    try:
        return len(A.shape) if hasattr(A, "shape") else np.ndim(A)
    except ValueError:
        raise InputError(f"the rows of {name} have different lengths; give rows of one length") from None


def _square(A: Any, name: str) -> Matrix:
    ndim = dimensions(A, name)
    if hasattr(A, "tocsr"):
        raise InputError(f"{name} is a sparse matrix; give {name}.toarray(), with NaN where an entry is unknown")
    if np.iscomplexobj(A):
        raise InputError(
            f"{name} is complex; a correlation or covariance matrix is real: give {name}.real if that is it"
        )
    if ndim != 2:
        message = f"{ndim} dimension{'s' * (ndim != 1)}"
        raise InputError(f"{name} has {message}; a square matrix is needed, one row per variable")
    values = np.array(to_numpy(as_array(A, name)), dtype=np.float64)
    if values.ndim != 2 or values.shape[0] != values.shape[1] or values.shape[0] == 0:
        raise InputError(f"{name} has shape {values.shape}; a square matrix is needed, one row per variable")
    return values
