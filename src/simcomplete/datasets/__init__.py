"""Data to try things on, and tables from files."""

from __future__ import annotations

import os

from simcomplete.datasets.bundled import LOADERS, Dataset
from simcomplete.datasets.files import read_table
from simcomplete.datasets.table import Table
from simcomplete.errors import InputError

__all__ = ["Dataset", "Table", "load", "names", "read_table"]


def names() -> list[str]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> names()
    ['digits']
    """
    return sorted(LOADERS)


def load(name: str, path: str | os.PathLike[str] | None = None) -> Dataset:
    """Load a data set by name, or from a file.

    Parameters
    ----------
    name : str
        One of `names()`; with `path`, what to call the data.
    path : str or path, optional
        A file for `read_table` to read instead.

    Returns
    -------
    Dataset
        The samples `X`, their classes `y` and the `image_shape` where there are such.

    Examples
    --------
    >>> data = load("digits")
    >>> data.X.shape, data.image_shape
    ((1797, 64), (8, 8))
    """
    if path is not None:
        table = read_table(path)
        return Dataset(name, table.values, labels=table.labels)
    if name not in LOADERS:
        raise InputError(f"there is no data set {name!r}; known are {', '.join(names())}; give path= to read a file")
    return LOADERS[name]()
