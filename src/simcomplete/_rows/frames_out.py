"""Return matrices as frames of the library of the input."""

from __future__ import annotations

import sys
from typing import Any

from numpy.typing import NDArray

from simcomplete._rows.frames import FrameRows
from simcomplete._rows.table import RowTable


def as_given(values: NDArray[Any], rows: RowTable, columns: RowTable) -> Any:
    """Return a matrix as a frame of the same library as its rows or columns; as an array if neither was a frame.

    pandas and xarray have the labels on both axes; polars and pyarrow have a first column of labels, then one column
    per label. Rows without labels are numbered.
    """
    library = next((table.library for table in (columns, rows) if isinstance(table, FrameRows) and table.library), None)
    if library is None:
        return values
    module, names = sys.modules[library], columns.labels or [str(i) for i in range(columns.n)]
    if library == "pandas":
        return module.DataFrame(values, index=_index(rows, module), columns=_index(columns, module))
    if library == "xarray":
        return _data_array(module, values, rows, columns)
    first = _labels_as_they_came(rows)
    title = str(getattr(rows, "label_name", None) or "row")
    while title in names:
        title += "_"
    table = {title: first, **{name: values[:, j] for j, name in enumerate(names)}}
    return module.DataFrame(table) if library == "polars" else module.table(table)


def _labels_as_they_came(rows: RowTable) -> Any:
    index = getattr(rows, "index", None)
    if index is not None:
        return list(index)
    return rows.labels if rows.labels is not None else list(range(rows.n))


def _index(rows: RowTable, pandas: Any) -> Any:
    index = getattr(rows, "index", None)
    if isinstance(index, pandas.Index):
        return index
    return pandas.Index(_labels_as_they_came(rows), name=getattr(rows, "label_name", None))


def _data_array(xarray: Any, values: NDArray[Any], rows: RowTable, columns: RowTable) -> Any:
    first, second = ((getattr(table, "dims", None) or ("row",))[0] for table in (rows, columns))
    second = f"{second}_other" if second == first else second
    given = ((dim, getattr(table, "index", None)) for dim, table in ((first, rows), (second, columns)))
    coords = {dim: list(index) for dim, index in given if index is not None}
    return xarray.DataArray(values, dims=(first, second), coords=coords)
