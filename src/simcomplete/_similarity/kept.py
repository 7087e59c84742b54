"""Similarities of candidates with queries that are kept from the first pass, where there is room for them.

The passes after it then need no products to compute them again: with 784 features, 200 queries and rank 100 these are
three quarters of the products of the second.
"""

from __future__ import annotations

import threading

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import available_bytes, block_bytes, memory_limit
from simcomplete._rows.xp import Array, empty, free_on_device

SHARE = 0.25  # of the free memory of a device, or of what a block may take where the caller said so
SHARE_OF_FREE = 0.125  # of the free memory of the computer, where the caller said nothing
MOST_BYTES = 2**31  # of that


def bytes_for_similarities(source: Array) -> int:
    """Return how much memory similarities may take.

    Examples
    --------
    >>> from simcomplete._rows.budget import working_memory
    >>> with working_memory("1 KiB"):
    ...     bytes_for_similarities(np.ones((2, 3)))
    256
    """
    on_device = free_on_device(source)
    if on_device or memory_limit():
        return int(SHARE * (on_device or block_bytes(source)))
    return int(min(SHARE_OF_FREE * available_bytes(), MOST_BYTES))


class KeptSimilarities:
    """Similarities with queries and lengths of the first `rows` candidates, as far as they were put here.

    Several threads may do so, each with rows of its own.

    Parameters
    ----------
    rows : int
        Up to which row.

    Examples
    --------
    >>> kept = KeptSimilarities(4)
    >>> kept.put(0, np.array([[0.5], [1.0]]), np.array([[2.0], [3.0]]))
    >>> kept.get(1, 1)
    (array([[1.]]), array([[3.]]))
    >>> kept.get(1, 2) is None
    True
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._known: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        self._held: tuple[Array, Array] | None = None
        self._lock = threading.Lock()

    @classmethod
    def within(cls, size: int, n: int, n_queries: int) -> KeptSimilarities:
        """Room for the similarities of as many of `n` rows with `n_queries` as take `size` bytes."""
        return cls(min(n, size // (8 * (n_queries + 1))))

    def put(self, start: int, B: Array, lengths: Array) -> None:
        """Keep similarities and lengths of the rows from `start` on, if all of them are among the first."""
        stop = start + int(B.shape[0])
        if stop > self.rows:
            return
        with self._lock:
            if self._held is None:
                self._held = empty(B, (self.rows, int(B.shape[1]))), empty(B, (self.rows, 1))
        self._held[0][start:stop, :], self._held[1][start:stop, :] = B, lengths
        self._known[start:stop] = True

    def get(self, start: int, n: int) -> tuple[Array, Array] | None:
        """Similarities and lengths of `n` rows from `start` on, or None if not all are here."""
        stop = start + n
        if self._held is None or stop > self.rows or not self._known[start:stop].all():
            return None
        return self._held[0][start:stop, :], self._held[1][start:stop, :]
