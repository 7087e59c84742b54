"""What every file becomes: a table of numbers with its labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import FileFormatError


@dataclass(frozen=True)
class Options:
    """What a reader may be told; each reader takes what concerns it.

    Attributes
    ----------
    key : str, optional
        Which array of an archive.
    header : bool, optional
        Whether the first line names the columns.
    missing : tuple of str
        Further spellings of missing, in lower case.
    limit : int, optional
        How many rows are wanted; a reader may give more.
    features : int, optional
        How many features there are, where the file cannot tell.
    """

    key: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    limit: int | None = None
    features: int | None = None

    def rows(self, n: int) -> int:
        """How many of n rows are wanted."""
        return n if self.limit is None else min(n, self.limit)


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
    y : ndarray, shape (n,), optional
        The class of each row, where the format has classes.
    image_shape : tuple of int, optional
        Height and width where each row is a picture.
    """

    values: NDArray[Any]
    labels: list[str] | None = None
    columns: list[str] | None = None
    y: NDArray[Any] | None = None
    image_shape: tuple[int, int] | None = None

    @property
    def index(self) -> list[str] | None:
        """The labels, under the name a data frame has for them."""
        return self.labels

    def to_numpy(self) -> NDArray[Any]:
        """Return the values."""
        return self.values

    def first(self, limit: int | None) -> Table:
        """Return the first `limit` rows, or all."""
        if limit is None or limit >= len(self.values):
            return self
        return replace(
            self,
            values=self.values[:limit],
            labels=None if self.labels is None else self.labels[:limit],
            y=None if self.y is None else self.y[:limit],
        )


def as_table(
    path: Path,
    array: NDArray[Any],
    labels: Sequence[str] | None = None,
    columns: Sequence[str] | None = None,
    y: NDArray[Any] | None = None,
    image_shape: tuple[int, int] | None = None,
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
        # Classes of unsigned bytes would wrap around when somebody subtracts them.
        y.astype(np.int64) if y is not None and y.dtype.kind in "iu" else y,
        image_shape,
    )
