"""Data sets by name: bundled, from files, or downloaded on request."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from simcomplete.datasets import _bundled as bundled
from simcomplete.datasets import _openml as openml
from simcomplete.datasets._catalogue import CATALOGUE, CatalogueEntry, custom
from simcomplete.datasets._dataset import Dataset, from_table
from simcomplete.datasets._files import check_limit, check_path, read_file
from simcomplete.datasets._formats import cifar
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, InputError

# The environment variable that names the folder of data sets.
FOLDER_VARIABLE = "SIMCOMPLETE_DATA"


def folder_of(path: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder to look in: the given one, or that of the environment variable, or None."""
    name = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not name:
        return None
    folder = Path(name)
    if not folder.is_dir():
        source = "path" if path is not None else FOLDER_VARIABLE
        raise InputError(f"{source}={str(folder)!r} is not a folder; give one that holds the files of the data sets")
    return folder


def load_named(name: str, path: str | os.PathLike[str] | None, options: Options, download: bool) -> Dataset:
    """Load a data set; see `simcomplete.datasets.load`."""
    check_limit(options.limit)
    if path is not None and not Path(path).is_dir():
        check_path(Path(path))
        return _from_files(CATALOGUE.get(name) or custom(name), (Path(path),), options)
    if name in bundled.LOADERS and path is None:
        return from_table(name, bundled.LOADERS[name]().first(options.limit))
    folder = folder_of(path)
    entry = CATALOGUE.get(name) or custom(name)
    files = () if folder is None else entry.find(folder)
    if files:
        return _from_files(entry, files, options)
    if name not in CATALOGUE:
        known = ", ".join(sorted([*bundled.LOADERS, *CATALOGUE]))
        where = "" if folder is None else f", and {folder} has no {name}.npz, .npy, .parquet or .csv"
        raise InputError(f"there is no data set {name!r}; known are {known}{where}; give path= to read a file")
    if download and entry.openml is not None:
        return from_table(name, _as_images(entry, openml.fetch(entry)).first(options.limit))
    raise _absent(entry, folder, download)


def _from_files(entry: CatalogueEntry, files: tuple[Path, ...], options: Options) -> Dataset:
    """Read and join files, up to the limit of rows."""
    tables: list[Table] = []
    left = options.limit
    for file in files:
        if left == 0:
            break
        table = read_file(file, replace(options, limit=left, features=entry.features), entry.default_format)
        tables.append(_as_images(entry, table))
        left = None if left is None else left - len(table.values)
    used = files[: len(tables)]
    return from_table(entry.name, tables[0] if len(tables) == 1 else _join(tables, used), used)


def _join(tables: list[Table], files: tuple[Path, ...]) -> Table:
    widths = [table.values.shape[1] for table in tables]
    if len(set(widths)) > 1:
        listed = ", ".join(f"{file.name} {width}" for file, width in zip(files, widths, strict=True))
        raise FileFormatError(f"{files[0].parent}: the parts have different numbers of features: {listed}")
    classes = [table.y for table in tables if table.y is not None]
    return Table(
        np.concatenate([table.values for table in tables]),
        y=np.concatenate(classes) if len(classes) == len(tables) else None,
        image_shape=tables[0].image_shape,
    )


def _as_images(entry: CatalogueEntry, table: Table) -> Table:
    """Convert colour images to grey, and set the shape of images."""
    width = table.values.shape[1]
    if entry.name == "cifar10" and width == 3 * cifar.PIXELS:
        table, width = replace(table, values=cifar.to_grey(table.values)), cifar.PIXELS
    if entry.image_shape is not None and width == entry.image_shape[0] * entry.image_shape[1]:
        return replace(table, image_shape=entry.image_shape)
    return table


def _absent(entry: CatalogueEntry, folder: Path | None, download: bool) -> InputError:
    """Return the error for absent files: their names, the folder, and their source."""
    files = "; or ".join(", ".join(parts) for parts in entry.choices)
    if folder is None:
        where = f"neither path= nor {FOLDER_VARIABLE} names a folder to look in"
    else:
        where = f"none is in {folder}"
    download_hint = "; or give download=True to get it from OpenML" if entry.openml is not None else ""
    if download:
        download_hint = "; it is not at OpenML, so there is nothing to download"
    return InputError(f"{entry.name} needs these files: {files}; {where}; get {entry.source}{download_hint}")
