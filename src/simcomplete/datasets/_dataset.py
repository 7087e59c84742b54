"""The result of `load`: samples with their classes, labels and files."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from simcomplete.datasets._table import Table


@dataclass(frozen=True)
class Dataset:
    """Samples with their classes, labels and files.

    Attributes
    ----------
    name : str
        The name of the data set.
    X : ndarray, shape (n, d)
        The samples; NaN where a value is missing.
    y : ndarray, shape (n,), optional
        The class of each sample.
    image_shape : tuple of int, optional
        Height and width where the samples are images.
    labels : list of str, optional
        One name per sample.
    files : tuple of Path
        The files that were read, in the order of the rows; empty for bundled and downloaded data.

    Examples
    --------
    >>> import numpy as np
    >>> Dataset("mine", np.ones((2, 3))).X.shape
    (2, 3)
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any] | None = None
    image_shape: tuple[int, int] | None = None
    labels: list[str] | None = None
    files: tuple[Path, ...] = ()


def from_table(name: str, table: Table, files: tuple[Path, ...] = ()) -> Dataset:
    """Return a table as a data set."""
    return Dataset(name, table.values, table.y, table.image_shape, table.labels, files)
