"""What every file becomes: a table of numbers with its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import FileFormatError


@dataclass(frozen=True)
class Table:
    """Numbers read from a file, one row per sample.

    It answers like a data frame where `complete` asks, so a table can be given to it as it is.

    Attributes
    ----------
    values : ndarray, shape (n, d)
        float32 where the file holds float32, else float64; NaN where a value is missing.
    labels : list of str, optional
        One name per row, where the file has such a column.
    columns : list of str, optional
        One name per feature, where the file has names.
    """

    values: NDArray[Any]
    labels: list[str] | None = None
    columns: list[str] | None = None

    @property
    def index(self) -> list[str] | None:
        """The labels, under the name a data frame has for them."""
        return self.labels

    def to_numpy(self) -> NDArray[Any]:
        """Return the values."""
        return self.values


def as_table(
    path: Path, array: NDArray[Any], labels: Sequence[str] | None = None, columns: Sequence[str] | None = None
) -> Table:
    """Check that an array from a file is a table of real numbers, and make it one of floats."""
    if array.ndim != 2:
        raise FileFormatError(
            f"{path}: the array has shape {array.shape}, a table (rows, features) is needed; "
            + ("use array.reshape(len(array), -1)" if array.ndim > 2 else "use array[:, None] or array[None, :]")
        )
    if 0 in array.shape:
        raise FileFormatError(
            f"{path}: the table has {array.shape[0]} rows and {array.shape[1]} features; needs one of each"
        )
    if array.dtype.kind not in "fiub":
        raise FileFormatError(f"{path}: the array holds {array.dtype}, real numbers are needed; save it as float64")
    # Half precision has no room for sums, extended precision no use; a foreign byte order is made native.
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64
    return Table(
        array.astype(dtype, copy=False),
        None if labels is None else list(labels),
        None if columns is None else list(columns),
    )
