"""The rows of a model, read from its store."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.search import Neighbours
from simcomplete._rows.table import RowTable
from simcomplete.stores._finding import StoreFinder, lengths_of
from simcomplete.stores._store import VectorStore


class StoredRows(RowTable):
    """Rows that lie in a store: its unit vectors times their lengths, by position.

    Parameters
    ----------
    store : VectorStore
        Where they are; payloads have their `length`.
    ids : array
        The id of every position.
    width : int
        Values of a row.
    """

    def __init__(self, store: VectorStore, ids: NDArray[Any], width: int) -> None:
        super().__init__((len(ids), width), np.dtype(np.float64))
        self.store, self.ids = store, ids

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows from `start` up to `stop`."""
        return self.take(np.arange(start, min(stop, self.n)))

    def take(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some rows, in the order asked for."""
        if not len(positions):
            return np.zeros((0, self.d))
        found = self.store.get(self.ids[positions].tolist())
        # As floats: where a database writes 1e300 as a whole number, it comes back as one that NumPy has no type for.
        lengths = np.array([float(note["length"]) for note in found.payloads])
        return np.asarray(found.vectors * lengths[:, None])


class StoredUnitRows(RowTable):
    """Unit rows of candidates in a store; the nearest of them are found there.

    Parameters
    ----------
    source : StoredRows
        The rows.
    finder : StoreFinder
        Positions by id.
    """

    def __init__(self, source: StoredRows, finder: StoreFinder) -> None:
        super().__init__(source.shape, source.dtype)
        self.source, self.finder = source, finder

    def read(self, start: int, stop: int) -> NDArray[np.float64]:
        """Return rows from `start` up to `stop`."""
        return self.take(np.arange(start, min(stop, self.n)))

    def take(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """Return some rows, in the order asked for."""
        rows = self.source.take(positions)
        return np.asarray(rows / lengths_of(rows)[:, None])

    def nearest(self, u: NDArray[Any], k: int) -> Neighbours:
        """The rows with the largest products with each row of `u`."""
        return self.finder.nearest(np.asarray(u, dtype=np.float64), k, self.take)
