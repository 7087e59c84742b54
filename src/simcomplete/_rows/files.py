"""What users bring that is not in memory, opened."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from simcomplete._rows.npy import NpyFile
from simcomplete._rows.outside import RowSource
from simcomplete._rows.table import LazyRows
from simcomplete._rows.xp import is_array, is_dask
from simcomplete.errors import FileFormatError, InputError, optional


def is_outside(x: object) -> bool:
    """Tell whether the rows of `x` are to be read block by block.

    A path, a dask array, a memory map that would have to be cast (floats of one go on as the arrays they are), or what
    is no array at all but has `shape`, `dtype` and slices.
    """
    if isinstance(x, (str, Path, LazyRows)) or is_dask(x):
        return True
    if isinstance(x, np.memmap):
        return x.dtype not in (np.float32, np.float64)
    known = is_array(x) or hasattr(x, "columns") or hasattr(x, "tocsr")
    return not known and all(hasattr(x, name) for name in ("shape", "dtype", "__getitem__"))


def opened(x: Any, name: str, complete: bool) -> Any:
    """Open rows that are outside memory; nothing is read yet."""
    if isinstance(x, LazyRows):
        return x
    if isinstance(x, (str, Path)):
        x = _from_path(Path(x), name)
    if is_dask(x):
        from simcomplete._rows.dask import DaskRows  # which needs dask

        return DaskRows(x, name, complete=complete)
    return RowSource(x, name, complete=complete)


def _from_path(path: Path, name: str) -> Any:
    if not path.exists():
        raise InputError(f"{name}: there is no {path}; give an array, or the path of a .npy or .zarr")
    if path.suffix == ".npy":
        return NpyFile(path)
    if path.suffix == ".zarr":
        return open_zarr(path)
    raise InputError(f"{name}: {path} is neither .npy nor .zarr; read it first, with sc.datasets.read_table")


def open_zarr(path: Path) -> Any:
    """Open a zarr array; as a dask array where a cluster is at hand."""
    zarr = optional("zarr", extra="dask", purpose=f"reading {path}")
    try:
        found = zarr.open_array(str(path), mode="r")
    except Exception as error:  # zarr has many kinds of them
        raise FileFormatError(f"{path} is not a readable zarr array: {error}") from error
    from simcomplete._rows.dask import client

    return found if client() is None else optional("dask.array", extra="dask", purpose="a cluster").from_zarr(found)
