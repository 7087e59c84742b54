"""Rows of zarr arrays, whose chunks must all exist.

zarr reads a chunk without a file as the array's fill value, usually 0, so that lost rows would silently become rows of
zeros. Here a chunk without a file is an error that names it, except if

- the fill value is NaN, which means missing anyway, or
- the environment variable SIMCOMPLETE_ZARR_FILL has the array's fill value: ``SIMCOMPLETE_ZARR_FILL=0`` says that
  chunks without a file are meant to be zeros.

zarr itself leaves out chunks that hold nothing but the fill value, unless an array is made with
``config={"write_empty_chunks": True}``. So does an array of sparse data; it is written again with that setting, or read
with the variable. What `out=` writes has every chunk.
"""

from __future__ import annotations

import itertools
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import FileFormatError, InputError, optional

FILL_VARIABLE = "SIMCOMPLETE_ZARR_FILL"


def is_zarr(x: object) -> bool:
    """Return whether `x` is an array of zarr, without importing zarr."""
    zarr = sys.modules.get("zarr")  # imported already if there is such an array
    return zarr is not None and isinstance(x, zarr.Array)


def opened_zarr(path: Path) -> ZarrRows:
    """Open the zarr array at a path."""
    zarr = optional("zarr", extra="dask", purpose=f"reading {path}")
    try:
        return ZarrRows(zarr.open_array(str(path), mode="r"))
    except Exception as error:  # zarr raises many kinds of errors
        raise FileFormatError(
            f"{path} is not a readable zarr array: {type(error).__name__}: {' '.join(str(error).split())[:200]}"
        ) from error


def where_workers_are(rows: ZarrRows) -> Any:
    """Return the rows as a dask array if there is a dask client, else unchanged."""
    from simcomplete._rows.dask import client

    if client() is None or rows.ndim != 2:
        return rows
    da = optional("dask.array", extra="dask", purpose="a cluster")
    return da.from_array(rows, chunks=rows.grid, asarray=False, name=False)


class ZarrRows:
    """A zarr array whose chunks are checked for existence before they are read.

    Examples
    --------
    >>> import tempfile, zarr
    >>> array = zarr.create_array(tempfile.mkdtemp() + "/x.zarr", shape=(4, 2), chunks=(2, 2), dtype="f8")
    >>> array[:2] = 1.0
    >>> rows = ZarrRows(array)
    >>> rows[0:2]
    array([[1., 1.],
           [1., 1.]])
    >>> try:
    ...     rows[2:4]
    ... except FileFormatError as error:
    ...     print(str(error).split(": ")[1].split(";")[0])
    chunk c/1/0 with rows 2 to 4 has no file
    """

    def __init__(self, array: Any) -> None:
        self.array = array
        self.shape = tuple(int(n) for n in array.shape)
        self.dtype, self.ndim = np.dtype(array.dtype), len(self.shape)
        self.grid = tuple(int(n) for n in (getattr(array, "shards", None) or array.chunks))  # one file

    def __getitem__(self, key: Any) -> NDArray[Any]:
        rows = key[0] if isinstance(key, tuple) else key
        start, stop, _ = rows.indices(self.shape[0])
        if stop > start and not self._may_be_filled():
            self._look_for_chunks(start, stop)
        try:
            return np.asarray(self.array[key])
        except Exception as error:  # errors of codecs, zarr and the store have no common base class
            raise FileFormatError(
                f"{self.name}: rows {start} to {stop} cannot be unpacked ({type(error).__name__}: "
                f"{' '.join(str(error).split())[:120]}); a chunk is damaged: write the array again"
            ) from error

    @property
    def name(self) -> str:
        """The place of the array, for messages."""
        return str(self.array.store_path).removeprefix("file://")

    def _may_be_filled(self) -> bool:
        """Return whether a chunk without a file is allowed: it means missing values, or the user allows it."""
        fill = self.array.fill_value
        if fill is not None and np.isscalar(fill) and fill != fill:
            return True
        said = os.environ.get(FILL_VARIABLE)
        if not said:
            return False
        try:
            return bool(float(said) == float(0 if fill is None else fill))
        except (TypeError, ValueError) as error:
            raise InputError(f"{FILL_VARIABLE}={said!r} is not a number; give the fill value of the array") from error

    def _look_for_chunks(self, start: int, stop: int) -> None:
        height = self.grid[0]
        others = [range(-(-size // step)) for size, step in zip(self.shape[1:], self.grid[1:], strict=True)]
        for i in range(start // height, -(-stop // height)):
            for rest in itertools.product(*others):
                key = self.array.metadata.encode_chunk_key((i, *rest))
                if not self._exists(key):
                    first, last = i * height, min((i + 1) * height, self.shape[0])
                    raise FileFormatError(
                        f"{self.name}: chunk {key} with rows {first} to {last} has no file; it was lost, or holds "
                        f"nothing but the fill value {self.array.fill_value}: write the array again with "
                        'config={"write_empty_chunks": True}, or set the environment variable '
                        f"{FILL_VARIABLE}={self.array.fill_value} if chunks without a file are meant to hold it"
                    )

    def _exists(self, key: str) -> bool:
        root = getattr(self.array.store, "root", None)
        if isinstance(root, Path):
            return bool((root / self.array.path / key).is_file())
        sync = optional("zarr.core.sync", extra="dask", purpose="reading a zarr array").sync
        return bool(sync((self.array.store_path / key).exists()))
