"""Vectors in a FAISS index in memory."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from math import ceil, isqrt
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.errors import InputError, optional
from simcomplete.stores._store import VectorStore

GROWTH = 4  # times as many rows as lists were learnt from: then they are learnt again
TRAIN = 64  # rows per list that lists are trained on


class FaissStore(VectorStore):
    """Vectors in float32 in memory; searches compare all of them ("flat") or those of some lists ("ivf").

    Nothing is written to disk; a saved model brings its rows back with ``model.attach(FaissStore())``.

    Parameters
    ----------
    kind : {"flat", "ivf"}
        "ivf" learns its lists from the first rows that are put, and again when there are four times as many.
    lists : int, optional
        Lists of "ivf"; the root of the number of the first rows when left out, at most an eighth of it.
    breadth : int, optional
        Lists looked into: a sixteenth of them, at least 8, when left out. A larger value finds more and is slower.
    random_state : int
        Seed of the lists.

    Examples
    --------
    >>> store = FaissStore()  # doctest: +SKIP
    >>> store.put(["a", "b"], [[1.0, 0.0], [0.6, 0.8]])  # doctest: +SKIP
    >>> store.search([[0.0, 1.0]], k=1).ids  # doctest: +SKIP
    [['b']]
    """

    def __init__(
        self,
        kind: Literal["flat", "ivf"] = "flat",
        *,
        lists: int | None = None,
        breadth: int | None = None,
        random_state: int = 0,
    ) -> None:
        self._faiss = optional("faiss", extra="faiss", purpose="a store in memory")
        if kind not in ("flat", "ivf"):
            raise InputError(f"kind={kind!r} is unknown; use 'flat' (exact) or 'ivf' (lists, for many rows)")
        for name, value in (("lists", lists), ("breadth", breadth)):
            if value is not None and (isinstance(value, bool) or not isinstance(value, int) or value < 1):
                raise InputError(f"{name}={value!r} must be a whole number of at least 1")
        self.kind, self.lists, self.breadth, self.random_state = kind, lists, breadth, random_state
        self.exact = kind == "flat"
        self.index: Any = None
        self._lock = threading.RLock()
        self._numbers: dict[str, int] = {}
        self._rest: dict[int, tuple[str, str | None]] = {}
        self._next = self._trained = 0

    @property
    def width(self) -> int | None:
        """Entries of a vector."""
        return None if self.index is None else int(self.index.d)

    def _built(self, V: NDArray[np.float32]) -> Any:
        faiss, (n, d) = self._faiss, V.shape
        self._trained = n
        if self.kind == "flat":
            return faiss.IndexIDMap2(faiss.IndexFlatIP(d))
        lists = min(n, max(1, min(isqrt(n), n // 8)) if self.lists is None else self.lists)
        index = faiss.index_factory(d, f"IVF{lists},Flat", faiss.METRIC_INNER_PRODUCT)
        index.nprobe = min(lists, max(8, ceil(lists / 16)) if self.breadth is None else self.breadth)
        index.cp.min_points_per_centroid, index.cp.seed = 1, self.random_state
        some = np.random.default_rng(self.random_state).choice(n, min(n, TRAIN * lists), replace=False)
        index.train(V[np.sort(some)])
        index.set_direct_map_type(faiss.DirectMap.Hashtable)
        return index

    def _put(self, keys: list[str], V: NDArray[np.float64], payloads: list[str | None]) -> None:
        require(12 * V.size, f"{len(V)} vectors in an index", "use a store that holds them elsewhere")
        single = np.ascontiguousarray(V, dtype=np.float32)
        with self._lock:
            if self.index is None:
                self.index = self._built(single)
            self._remove([key for key in keys if key in self._numbers])
            numbers = np.arange(self._next, self._next + len(keys))
            self._next += len(keys)
            self.index.add_with_ids(single, numbers)
            self._numbers.update(zip(keys, numbers.tolist(), strict=True))
            self._rest.update(zip(numbers.tolist(), zip(keys, payloads, strict=True), strict=True))
            if self.kind == "ivf" and len(self._rest) > GROWTH * self._trained:
                self._learn_again()

    def _learn_again(self) -> None:
        """New lists, from all rows: those of the first few are too few for many more."""
        numbers = np.fromiter(self._rest, dtype=np.int64)
        V = self.index.reconstruct_batch(numbers)
        self.index = self._built(V)
        self.index.add_with_ids(V, numbers)

    def _delete(self, keys: list[str]) -> int:
        with self._lock:
            return self._remove([key for key in keys if key in self._numbers])

    def _remove(self, keys: list[str]) -> int:
        numbers = np.array([self._numbers.pop(key) for key in keys], dtype=np.int64)
        if len(numbers):
            self.index.remove_ids(self._faiss.IDSelectorArray(numbers))
        for number in numbers.tolist():
            del self._rest[number]
        return len(numbers)

    def _search(self, Q: NDArray[np.float64], k: int) -> list[list[tuple[str, float]]]:
        with self._lock:
            if not self._numbers:
                return [[] for _ in Q]
            scores, found = self.index.search(np.ascontiguousarray(Q, dtype=np.float32), min(k, len(self._numbers)))
            return [
                [(self._rest[i][0], s) for i, s in zip(*row, strict=True) if i >= 0]
                for row in zip(found.tolist(), scores.tolist(), strict=True)
            ]

    def _get(self, keys: list[str]) -> dict[str, tuple[NDArray[Any], str | None]]:
        with self._lock:
            numbers = {key: self._numbers[key] for key in keys if key in self._numbers}
            return {key: (self.index.reconstruct(i), self._rest[i][1]) for key, i in numbers.items()}

    def _count(self) -> int:
        return len(self._numbers)

    def _keys(self) -> Iterable[str]:
        return list(self._numbers)
