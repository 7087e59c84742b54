"""The order of rows that lie outside memory, by their bytes, without holding them."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import as_bytes
from simcomplete._rows.table import RowTable
from simcomplete._types import Matrix

HELD_BYTES = 2**26  # of keys at a time
LEAST_PART = 16  # bytes of each key

Bytes = NDArray[np.uint8]


def order_by_key(table: RowTable, key: Callable[[Matrix], Bytes], width: int) -> NDArray[np.int64]:
    """Positions of rows in the order of their keys; rows with one key stay in the order they came in.

    As many bytes of all keys are compared as fit into HELD_BYTES, then the next ones of rows that were equal so far.

    Parameters
    ----------
    table : RowTable
        Rows.
    key : callable
        Makes of some rows their keys, an array of bytes of shape (rows, width).
    width : int
        Of a key.

    Examples
    --------
    >>> from simcomplete._rows.table import HeldRows
    >>> rows = HeldRows(np.array([[2.0, 1.0], [1.0, 7.0], [2.0, 0.0]]))
    >>> order_by_key(rows, lambda X: X.astype(np.uint8), 2)
    array([1, 2, 0])
    """
    before = np.zeros(table.n, dtype=np.int64)  # how many rows come before each, as far as was compared
    open_rows, at = np.arange(table.n), 0
    while len(open_rows) and at < width:
        stop = min(width, at + max(LEAST_PART, HELD_BYTES // len(open_rows)))
        found = _parts(table, open_rows, key, slice(at, stop))
        own = before[open_rows].astype(">i8").view(np.uint8).reshape(-1, 8)
        _, first, which, count = np.unique(
            as_bytes(np.hstack([own, found])), return_index=True, return_inverse=True, return_counts=True
        )
        # Rows that were equal so far hold the places from `before` on; each key has those after the smaller ones.
        start = before[open_rows][first]
        places = np.concatenate([[0], np.cumsum(count)[:-1]])
        same = np.searchsorted(start, start)  # the first key of the same rows: keys are sorted by their places
        before[open_rows] = (start + places - places[same])[which.ravel()]
        open_rows = open_rows[count[which.ravel()] > 1]
        at = stop
    return np.argsort(before, kind="stable").astype(np.int64)


def _parts(table: RowTable, rows: NDArray[np.int64], key: Callable[[Matrix], Bytes], part: slice) -> Bytes:
    """A part of the keys of some rows."""
    if len(rows) == table.n:
        found = table.fold(
            KeysOf(key, part), lambda a, b: a + b, bytes_per_row=64 * table.d, label="order", progress=False
        )
        return np.concatenate(found)
    step = max(1, HELD_BYTES // (64 * table.d))
    some = [key(table.take(rows[i : i + step]))[:, part] for i in range(0, len(rows), step)]
    return np.concatenate(some)


class KeysOf:
    """What a pass does with a block, to know a part of its keys."""

    def __init__(self, key: Callable[[Matrix], Bytes], part: slice) -> None:
        self.key, self.part = key, part

    def __call__(self, X: Matrix, start: int) -> list[Bytes]:
        """Make them."""
        return [np.ascontiguousarray(self.key(X)[:, self.part])]
