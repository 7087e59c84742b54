"""Open rows that are not in memory: paths of `.npy` and `.zarr`, dask arrays, anything with slices of rows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from simcomplete._rows.npy import NpyFile
from simcomplete._rows.source import SourceRows
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import is_dask
from simcomplete._rows.zarr_files import ZarrRows, is_zarr, opened_zarr, where_workers_are
from simcomplete.errors import InputError


def open_rows(x: Any, name: str, complete: bool) -> Any:
    """Open rows that are outside memory; nothing is read yet."""
    if isinstance(x, RowTable):
        return x
    if isinstance(x, (str, Path)):
        x = _from_path(Path(x), name)
    elif is_zarr(x):
        x = ZarrRows(x)
    if is_dask(x):
        from simcomplete._rows.dask import DaskRows  # which needs dask

        return DaskRows(x, name, complete=complete)
    return SourceRows(x, name, complete=complete)


def _from_path(path: Path, name: str) -> Any:
    if not path.exists():
        raise InputError(f"{name}: there is no {path}; give an array, or the path of a .npy or .zarr")
    if path.suffix == ".npy":
        return NpyFile(path)
    if path.suffix == ".zarr":
        return where_workers_are(opened_zarr(path))
    raise InputError(f"{name}: {path} is neither .npy nor .zarr; read it first, with sc.datasets.read_table")
