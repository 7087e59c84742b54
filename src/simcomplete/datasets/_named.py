"""From a name to samples: bundled, from files, or from the net when that is asked for."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import numpy as np

from simcomplete.datasets import _bundled as bundled
from simcomplete.datasets import _openml as openml
from simcomplete.datasets._catalogue import CATALOGUE, Entry, custom
from simcomplete.datasets._dataset import Dataset, from_table
from simcomplete.datasets._files import check_limit, check_path, read
from simcomplete.datasets._formats import cifar
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, InputError

# Environment variable that names the folder where data sets lie.
FOLDER_VARIABLE = "SIMCOMPLETE_DATA"


def folder_of(path: str | os.PathLike[str] | None) -> Path | None:
    """Return the folder to look in: the one given, or the one the environment names, or none."""
    told = path if path is not None else os.environ.get(FOLDER_VARIABLE)
    if not told:
        return None
    folder = Path(told)
    if not folder.is_dir():
        named = "path" if path is not None else FOLDER_VARIABLE
        raise InputError(f"{named}={str(folder)!r} is not a folder; give one that holds the files of the data sets")
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
        return from_table(name, _finished(entry, openml.fetch(entry)).first(options.limit))
    raise _absent(entry, folder, download)


def _from_files(entry: Entry, files: tuple[Path, ...], options: Options) -> Dataset:
    """Read the parts one after the other, as far as the limit."""
    tables: list[Table] = []
    left = options.limit
    for file in files:
        if left == 0:
            break
        table = read(file, replace(options, limit=left, features=entry.features), entry.otherwise)
        tables.append(_finished(entry, table))
        left = None if left is None else left - len(table.values)
    used = files[: len(tables)]
    return from_table(entry.name, tables[0] if len(tables) == 1 else _joined(tables, used), used)


def _joined(tables: list[Table], files: tuple[Path, ...]) -> Table:
    widths = [table.values.shape[1] for table in tables]
    if len(set(widths)) > 1:
        told = ", ".join(f"{file.name} {width}" for file, width in zip(files, widths, strict=True))
        raise FileFormatError(f"{files[0].parent}: the parts have different numbers of features: {told}")
    classes = [table.y for table in tables if table.y is not None]
    return Table(
        np.concatenate([table.values for table in tables]),
        y=np.concatenate(classes) if len(classes) == len(tables) else None,
        image_shape=tables[0].image_shape,
    )


def _finished(entry: Entry, table: Table) -> Table:
    """Make colours grey where they still are colours, and say how high and wide pictures are."""
    width = table.values.shape[1]
    if entry.name == "cifar10" and width == 3 * cifar.PIXELS:
        table, width = replace(table, values=cifar.gray(table.values)), cifar.PIXELS
    if entry.image_shape is not None and width == entry.image_shape[0] * entry.image_shape[1]:
        return replace(table, image_shape=entry.image_shape)
    return table


def _absent(entry: Entry, folder: Path | None, download: bool) -> InputError:
    """Say which files were looked for, where, and how to come by them."""
    files = "; or ".join(", ".join(parts) for parts in entry.choices)
    if folder is None:
        where = f"neither path= nor {FOLDER_VARIABLE} names a folder to look in"
    else:
        where = f"none is in {folder}"
    net = "; or give download=True to get it from OpenML" if entry.openml is not None else ""
    if download:
        net = "; it is not at OpenML, so there is nothing to download"
    return InputError(f"{entry.name} needs these files: {files}; {where}; get {entry.source}{net}")
