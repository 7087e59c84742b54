"""Data sets by name, and tables from files."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

from simcomplete.datasets import _bundled as bundled
from simcomplete.datasets._catalogue import CATALOGUE
from simcomplete.datasets._dataset import Dataset
from simcomplete.datasets._named import FOLDER_VARIABLE, folder_of, load_named
from simcomplete.datasets._read import missing_tokens, read_table
from simcomplete.datasets._table import Options, Table

__all__ = ["FOLDER_VARIABLE", "Dataset", "Table", "available", "load", "names", "read_table"]

PathLike = str | os.PathLike[str]


def names() -> list[str]:
    """Return the names that `load` knows.

    Examples
    --------
    >>> [name for name in names() if name.startswith("imagenet")]
    ['imagenet', 'imagenet_bovw', 'imagenet_cnn']
    """
    return sorted([*bundled.LOADERS, *CATALOGUE])


def available(path: PathLike | None = None) -> dict[str, tuple[Path, ...]]:
    """Return the data sets that `load` would find, without reading them.

    Parameters
    ----------
    path : str or path, optional
        The folder to look in; by default the one named by the environment variable SIMCOMPLETE_DATA.

    Returns
    -------
    dict
        The files of each, by name; bundled data sets have none.

    Examples
    --------
    >>> available()["digits"]
    ()
    """
    folder = folder_of(path)
    by_name: dict[str, tuple[Path, ...]] = {name: () for name in bundled.LOADERS if bundled.usable(name)}
    for name, entry in CATALOGUE.items():
        files = () if folder is None else entry.find(folder)
        if files:
            by_name[name] = files
    return dict(sorted(by_name.items()))


def load(
    name: str,
    path: PathLike | None = None,
    *,
    limit: int | None = None,
    missing: Any = (),
    download: bool = False,
) -> Dataset:
    """Load a data set by name, from a folder, or from a file.

    Parameters
    ----------
    name : str
        One of `names()`, or NAME of a file NAME.npz, .npy, .parquet or .csv in the folder; with a file as `path`,
        any name for the data.
    path : str or path, optional
        A folder with the files of the data set, or one file to read. By default the folder named by the environment
        variable SIMCOMPLETE_DATA.
    limit : int, optional
        Load only the first rows, for example of three million word vectors.
    missing : str, number or several, optional
        Further values in the files that mean missing; see `read_table`.
    download : bool
        Where there are no files, download from OpenML, which has cifar10, mnist and usps. Nothing is downloaded
        unless this is True.

    Returns
    -------
    Dataset
        The samples `X`, their classes `y`, the `image_shape` and `labels` where the data have them, and the `files`.

    Raises
    ------
    InputError
        The name is not known, or no file was found; the message names the files, the folder, and their source.
    FileFormatError
        A file is truncated, damaged, malicious or of another format.

    Examples
    --------
    >>> data = load("digits")
    >>> data.X.shape, data.image_shape
    ((1797, 64), (8, 8))
    """
    return load_named(name, path, Options(missing=missing_tokens(missing), limit=limit), download)
