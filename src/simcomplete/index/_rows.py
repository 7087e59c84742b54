"""Rows to index, read block by block from wherever they are."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import row_blocks
from simcomplete._rows.table import as_row_table
from simcomplete._rows.validate import as_rows
from simcomplete._rows.xp import Array, to_numpy
from simcomplete.errors import InputError


@dataclass(frozen=True)
class Rows:
    """Some rows of an array, read when needed; the array may be on disk or on a device."""

    source: Array
    start: int
    stop: int

    @classmethod
    def of(cls, source: Any) -> Rows:
        """Check an array or frame of rows without missing values."""
        table = as_rows(source, "rows", complete=True)
        return cls(table, 0, table.n)

    @property
    def n(self) -> int:
        """How many."""
        return self.stop - self.start

    @property
    def width(self) -> int:
        """Entries of one row."""
        return int(self.source.shape[1])

    def blocks(self) -> list[slice]:
        """Slices of rows to read at a time."""
        return row_blocks(self.n, self.width * 12)

    def single(self, part: slice) -> NDArray[np.float32]:
        """Read a slice in float32, for FAISS."""
        block = to_numpy(self.source[self.start + part.start : self.start + part.stop, :])
        return narrowed(block, "rows")

    def take(self, ids: NDArray[np.int64]) -> NDArray[np.float64]:
        """Read rows by position, in float64."""
        return np.asarray(to_numpy(as_row_table(self.source).take(ids + self.start)), dtype=np.float64)

    def fingerprint(self) -> str:
        """SHA-256 of some rows, to check whether an index was built from them."""
        some = np.unique(np.linspace(0, self.n - 1, 16).astype(np.int64))
        return hashlib.sha256(self.take(some).astype("<f4").tobytes()).hexdigest()


def narrowed(values: NDArray[Any], name: str) -> NDArray[np.float32]:
    """Bring finite values to contiguous float32, or say that they do not fit."""
    with np.errstate(over="ignore"):
        single = np.ascontiguousarray(values, dtype=np.float32)
    if not np.isfinite(single).all():
        raise InputError(f"{name} hold missing values, or some too large for float32 (3e38); complete or scale them")
    return single
