"""Vectors in an SQLite file: durable, exact, without a server or another package."""

from __future__ import annotations

import contextlib
import sqlite3
import threading
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.search import among
from simcomplete.errors import FileFormatError, InputError
from simcomplete.stores._store import VectorStore

SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL,
                                    vector BLOB NOT NULL, payload TEXT);
"""
SOME = 500  # ids in one question; SQLite has a limit


class SqliteStore(VectorStore):
    """Vectors in float64 in one file, in WAL mode: what was put is on disk when `put` returns.

    All vectors are held in memory for searches, and read again when another process has changed the file.

    Parameters
    ----------
    path : path
        The file, created if it does not exist; ":memory:" for none.

    Examples
    --------
    >>> store = SqliteStore(":memory:")
    >>> store.put(["a", "b"], [[1.0, 0.0], [0.6, 0.8]], payloads=[{"name": "Anna"}, None])
    >>> store.search([[0.0, 1.0]], k=1)
    Hits(ids=[['b']], scores=[[0.8]])
    >>> store.get(["a"]).payloads, store.delete(["a", "c"]), store.count()
    ([{'name': 'Anna'}], 1, 1)
    >>> store.close()
    """

    _failures = (sqlite3.Error,)

    def __init__(self, path: str | Path = ":memory:") -> None:
        self.path = str(path)
        self._lock = threading.RLock()
        try:
            self._base = sqlite3.connect(self.path, isolation_level=None, check_same_thread=False)
            self._base.execute("PRAGMA journal_mode=WAL")
            self._base.execute("PRAGMA synchronous=FULL")  # a commit has reached the disk when it returns
            self._base.executescript(SCHEMA)
        except sqlite3.DatabaseError as error:
            raise FileFormatError(f"{path} is not an SQLite file of vectors: {error}; choose another") from error
        self._version: Any = None
        self._held: tuple[list[str], NDArray[np.float64]] = ([], np.zeros((0, 0)))

    @property
    def width(self) -> int | None:
        """Entries of a vector."""
        V = self._rows()[1]
        return V.shape[1] if len(V) else None

    def _rows(self) -> tuple[list[str], NDArray[np.float64]]:
        """Keys and vectors, in the order in which they were put."""
        with self._lock:
            version = (self._base.execute("PRAGMA data_version").fetchone(), self._base.total_changes)
            if version != self._version:
                found = self._base.execute("SELECT id, vector FROM vectors ORDER BY place").fetchall()
                if len({len(blob) for _, blob in found}) > 1:
                    raise FileFormatError(f"{self.path} has vectors of several widths; put them into a new file")
                rows = [np.frombuffer(blob, dtype="<f8") for _, blob in found]
                self._held = [key for key, _ in found], np.array(rows) if rows else np.zeros((0, 0))
                self._version = version
            return self._held

    def _put(self, keys: list[str], V: NDArray[np.float64], payloads: list[str | None]) -> None:
        blobs = [row.tobytes() for row in np.ascontiguousarray(V, dtype="<f8")]
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                (first,) = self._base.execute("SELECT length(vector) FROM vectors LIMIT 1").fetchone() or (None,)
                if first is not None and first != 8 * V.shape[1]:  # another process was quicker
                    raise InputError(f"vectors have {V.shape[1]} entries and those of the store {first // 8}")
                self._base.executemany(
                    "INSERT INTO vectors (id, vector, payload) VALUES (?, ?, ?) ON CONFLICT (id) DO UPDATE "
                    "SET vector = excluded.vector, payload = excluded.payload",
                    zip(keys, blobs, payloads, strict=True),
                )
                self._base.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # which has done so itself, if the disk is full
                    self._base.execute("ROLLBACK")
                raise

    def _delete(self, keys: list[str]) -> int:
        with self._lock:
            self._base.execute("BEGIN IMMEDIATE")
            try:
                gone = self._base.executemany("DELETE FROM vectors WHERE id = ?", [(key,) for key in keys]).rowcount
                self._base.execute("COMMIT")
            except BaseException:
                with contextlib.suppress(sqlite3.Error):  # which has done so itself, if the disk is full
                    self._base.execute("ROLLBACK")
                raise
            return int(gone)

    def _search(self, Q: NDArray[np.float64], k: int) -> list[list[tuple[str, float]]]:
        keys, V = self._rows()
        found = among(Q, V, min(k, len(V)))
        return [[(keys[i], float(s)) for i, s in zip(*row, strict=True)] for row in zip(*found, strict=True)]

    def _get(self, keys: list[str]) -> dict[str, tuple[NDArray[Any], str | None]]:
        found: dict[str, tuple[NDArray[Any], str | None]] = {}
        with self._lock:
            for start in range(0, len(keys), SOME):
                some = keys[start : start + SOME]
                marks = ", ".join("?" * len(some))
                for key, blob, text in self._base.execute(
                    f"SELECT id, vector, payload FROM vectors WHERE id IN ({marks})", some
                ):
                    found[key] = np.frombuffer(blob, dtype="<f8"), text
        return found

    def _count(self) -> int:
        with self._lock:
            return int(self._base.execute("SELECT count(*) FROM vectors").fetchone()[0])

    def _keys(self) -> Iterable[str]:
        return list(self._rows()[0])

    def close(self) -> None:
        """Close the file."""
        self._base.close()
