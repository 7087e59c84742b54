"""Tables of numbers with their labels: the result of every reader."""

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
    """Options of readers; each reader uses those that apply to its format.

    Attributes
    ----------
    key : str, optional
        Which array of an archive.
    header : bool, optional
        Whether the first line names the columns.
    missing : tuple of str
        Further values that mean missing, as text in lower case.
    limit : int, optional
        How many rows are wanted; a reader may return more.
    features : int, optional
        The number of features, where the format does not store it.
    separator : str, optional
        What separates the cells of text.
    decimal : {".", ","}, optional
        The sign before the fraction of numbers in text.
    id : str, optional
        The column that labels the rows.
    drop, columns : tuple of str
        Columns to leave out, and those to keep, all where there are none.
    """

    key: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    limit: int | None = None
    features: int | None = None
    separator: str | None = None
    decimal: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @property
    def chooses(self) -> bool:
        """Whether columns are chosen by name."""
        return self.id is not None or bool(self.drop or self.columns)

    def rows(self, n: int) -> int:
        """Return how many of n rows are wanted."""
        return n if self.limit is None else min(n, self.limit)


@dataclass(frozen=True)
class Table:
    """Numbers read from a file, one row per sample.

    It has the attributes of a data frame that `complete` uses, so that it accepts a table.

    Attributes
    ----------
    values : ndarray, shape (n, d)
        float32 where the file has float32, else float64; NaN where a value is missing.
    labels : list of str, optional
        One name per row, where the file has them.
    columns : list of str, optional
        One name per feature, where the file has names.
    y : ndarray, shape (n,), optional
        The class of each row, where the format has classes.
    image_shape : tuple of int, optional
        Height and width where the rows are images.
    label_name : str, optional
        The name of the column that the labels were read from, where it has one.
    """

    values: NDArray[Any]
    labels: list[str] | None = None
    columns: list[str] | None = None
    y: NDArray[Any] | None = None
    image_shape: tuple[int, int] | None = None
    label_name: str | None = None

    @property
    def index(self) -> list[str] | None:
        """The labels, by their name in a data frame."""
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
    """Return an array from a file as a table of floats, or raise where it is not a table of real numbers."""
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
    # Half precision is too small for sums; a foreign byte order becomes the native one.
    dtype = np.float32 if array.dtype.kind == "f" and array.dtype.itemsize <= 4 else np.float64
    return Table(
        array.astype(dtype, copy=False),
        None if labels is None else list(labels),
        None if columns is None else list(columns),
        # Unsigned bytes would wrap around in a subtraction.
        y.astype(np.int64) if y is not None and y.dtype.kind in "iu" else y,
        image_shape,
    )
