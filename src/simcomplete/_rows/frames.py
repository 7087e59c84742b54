"""Frames of pandas, polars, pyarrow and xarray as rows with labels and named columns.

None of these libraries is imported: a frame is recognised by the module of its type. Other objects with `columns` and
`to_numpy` are accepted too.
"""

from __future__ import annotations

import reprlib
from difflib import get_close_matches
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows import frame_columns
from simcomplete._rows.budget import require
from simcomplete._rows.cells import column_message, looks_like_a_number, numeric
from simcomplete._rows.labels import checked_labels, label_texts
from simcomplete._rows.table import HeldRows
from simcomplete.errors import InputError

LIBRARIES = ("pandas", "polars", "pyarrow", "xarray")


class FrameRows(HeldRows):
    """The rows of a frame, with their labels and column names.

    Attributes
    ----------
    columns : list or None
        Names of the columns; None where they are only numbered.
    library, frame : str or None
        One of LIBRARIES, and the same of libraries whose frames are tables.
    own_labels : bool
        Whether rows were named, and not numbered by pandas.
    index, label_name : optional
        Labels of the rows as given, and the name of the column, index or dimension that has them.
    header : frame, optional
        The frame without rows and without the column of labels.
    dims : tuple or None
        Names of the two dimensions of xarray.
    """

    def __init__(
        self,
        array: NDArray[Any],
        labels: list[str] | None,
        columns: list[Any] | None,
        library: str | None,
        *,
        index: Any = None,
        label_name: Any = None,
        numbered: bool = False,
        header: Any = None,
        dims: tuple[Any, Any] | None = None,
    ) -> None:
        super().__init__(array, labels)
        self.library, self.frame = library, None if library == "xarray" else library
        self.columns = None if columns is None or columns == list(range(len(columns))) else columns
        self.index, self.label_name, self.dims = index, label_name, dims
        self.own_labels = labels is not None and not numbered
        self.header = None if header is None else frame_columns.header(header)

    def with_columns(self, order: list[int]) -> FrameRows:
        """The same rows, with some of the columns in another order."""
        names = None if self.columns is None else [self.columns[i] for i in order]
        facts = {"index": self.index, "label_name": self.label_name, "numbered": not self.own_labels, "dims": self.dims}
        return FrameRows(self.array[:, order], self.labels, names, self.library, **facts)


def frame_library(X: Any) -> str | None:
    """The library that a frame is of, one of LIBRARIES; None of anything else."""
    roots = {kind.__module__.partition(".")[0] for kind in type(X).__mro__}
    return next((name for name in LIBRARIES if name in roots), None)


def is_frame(X: Any) -> bool:
    """Whether something is a frame: of a known library, or with `columns` and `to_numpy`."""
    kind = type(X).__name__
    if frame_library(X) is not None:
        return kind in ("LazyFrame", "RecordBatch", "Dataset", "DataArray") or hasattr(type(X), "columns")
    return hasattr(X, "columns") and hasattr(X, "to_numpy")


def read_frame(X: Any, name: str, id: Any = None, missing: str | None = None) -> FrameRows:
    """Values of a frame as floats, with the labels of its rows and the names of its columns.

    Labels are the column (or index level, or coordinate) that `id` names; without it the first column where that is
    text, else the index of pandas or the row coordinate of xarray. With ``id=False`` no column is taken.
    """
    library = frame_library(X)
    if library == "xarray":
        return _from_xarray(X, name, id)
    if library is None:
        return _from_table(X, name, id)
    if not hasattr(type(X), "to_numpy") and hasattr(X, "collect"):  # a LazyFrame of polars
        X = X.collect()
    X, index, label_name = frame_columns.split_index(X)
    names, where = frame_columns.column_names(X), None
    labels = None if index is None else label_texts(index)
    if id is not None and id is not False:
        where, index = _chosen(X, names, id, name)
        label_name, labels = id, checked_labels(index, len(X), f"{name}: id={id!r}")
    elif id is None and (index is None or library == "pandas") and _first_is_text(X, names, name):
        where, label_name, index = 0, names[0], frame_columns.to_list(X, 0)
        what = (
            f"{name}: column {names[0]!r}, the first one and of text, is taken as the labels of rows (or leave it out):"
        )
        labels = checked_labels(index, len(X), f"{what} it")
    if where is not None:
        X = frame_columns.without(X, where)
        names = names[:where] + names[where + 1 :]
    values = frame_columns.floats(X, names, name, missing)
    numbered = where is None and frame_columns.is_numbered(X)
    return FrameRows(values, labels, names, library, index=index, label_name=label_name, numbered=numbered, header=X)


def _chosen(X: Any, names: list[Any], id: Any, name: str) -> tuple[int | None, Any]:
    """Return the column that `id` names (None if it is a level of the index), and its values."""
    if names.count(id) > 1:
        raise InputError(f"{name}: id={id!r} names {names.count(id)} columns; rename them, or give labels=")
    if id in names:
        return names.index(id), frame_columns.to_list(X, names.index(id))
    level = frame_columns.index_level(X, id)
    if level is not None:
        return None, level
    raise InputError(f"{name}: id={id!r} is not a column{_suggestion(id, names)}; name one, or give labels=")


def _suggestion(id: Any, names: list[Any]) -> str:
    near = get_close_matches(str(id), [str(name) for name in names], n=1)
    return f" (did you mean {near[0]!r}?)" if near else f" (columns are {reprlib.repr(names)})"


def _first_is_text(X: Any, names: list[Any], name: str) -> bool:
    """Whether the first column is text that names the rows; text that could as well be numbers is refused."""
    if len(names) < 2 or frame_columns.kind(X, 0) != "text" or frame_columns.has_named_index(X):
        return False
    values = frame_columns.to_list(X, 0)
    if all(value is None or looks_like_a_number(value) for value in values):
        raise InputError(column_message(name, names[0], frame_columns.dtype(X, 0), "text", values, frame_library(X)))
    return True


def _from_xarray(X: Any, name: str, id: Any) -> FrameRows:
    """A DataArray of two dimensions: rows and columns are its dimensions, names their coordinates."""
    if not hasattr(X, "dims") or not hasattr(X, "values") or callable(X.values):
        raise InputError(
            f"{name} is an xarray {type(X).__name__}; one variable is needed: ds['name'], or ds.to_dataarray()"
        )
    if X.ndim != 2:
        raise InputError(f"{name} has the dimensions {X.dims}; 2 are needed, rows are samples and columns are features")
    require(X.size * 8, f"the values of {name} in memory", "give its array (X.data) or a zarr path, read in blocks")
    row, column = X.dims
    index = X[row].values if row in X.coords else None
    labels = None if index is None else label_texts(index)
    if id is not None and id is not False:
        if id not in X.coords or X.coords[id].dims != (row,):
            known = [key for key, value in X.coords.items() if value.dims == (row,)]
            raise InputError(f"{name}: id={id!r} is not a coordinate of the dimension {row!r}; those are {known}")
        index = X.coords[id].values
        labels = checked_labels(index, X.shape[0], f"{name}: id={id!r}")
    columns = X[column].values.tolist() if column in X.coords else None
    values = numeric(np.asarray(X.values), name)
    return FrameRows(values, labels, columns, "xarray", index=index, label_name=row, dims=X.dims)


def _from_table(X: Any, name: str, id: Any) -> FrameRows:
    """Return the rows of a table of this package, or of a library whose frames are like those of pandas."""
    values = numeric(np.asarray(X.to_numpy()), name)
    columns = None if X.columns is None else list(X.columns)
    index = getattr(X, "index", None)
    labels = None if index is None or callable(index) else label_texts(index)
    label_name = getattr(X, "label_name", None)
    if id is not None and id is not False:
        if columns is None or id not in columns:
            raise InputError(f"{name}: id={id!r} is not a column{_suggestion(id, columns or [])}")
        where = columns.index(id)
        labels = checked_labels(values[:, where], len(values), f"{name}: id={id!r}")
        values, columns = np.delete(values, where, axis=1), columns[:where] + columns[where + 1 :]
    numbered = frame_columns.is_numbered(X)
    return FrameRows(values, labels, columns, None, label_name=label_name, numbered=numbered)
