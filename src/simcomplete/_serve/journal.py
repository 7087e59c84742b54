"""Changes to candidates on disk, in an SQLite file in WAL mode: a change is acknowledged when it is there.

The file holds what differs from the saved model: rows that were put, ids of the model that were removed. One
transaction is one request, so that after a crash each is there as a whole or not at all.
"""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import FileFormatError

SCHEMA = """
CREATE TABLE IF NOT EXISTS about (name TEXT PRIMARY KEY, value TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS put (place INTEGER PRIMARY KEY AUTOINCREMENT, id TEXT UNIQUE NOT NULL, row BLOB NOT NULL,
                                payload TEXT);
CREATE TABLE IF NOT EXISTS gone (id TEXT PRIMARY KEY);
"""


class Recorded(NamedTuple):
    """What a journal holds."""

    rows: NDArray[np.float64]
    ids: list[Any]
    payloads: list[Any]
    gone: list[Any]


class Journal:
    """Changes to the candidates of one model.

    Parameters
    ----------
    path : Path
        The file, made where there is none.
    model : str
        What tells the model: changes to another are refused.
    d : int
        Features of a row.
    """

    def __init__(self, path: Path, model: str, d: int) -> None:
        self.path, self.d = path, d
        try:
            self.base = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            self.base.execute("PRAGMA journal_mode=WAL")
            self.base.execute("PRAGMA synchronous=FULL")  # a commit has reached the disk when it returns
            self.base.executescript(SCHEMA)
            self.base.execute("INSERT OR IGNORE INTO about VALUES ('model', ?)", (model,))
            (known,) = self.base.execute("SELECT value FROM about WHERE name = 'model'").fetchone()
        except sqlite3.DatabaseError as error:
            raise FileFormatError(f"{path} is no file of changes: {error}; choose another with --changes") from error
        if known != model:
            raise FileFormatError(
                f"{path} has changes to another model than this; move it away, or choose another with --changes"
            )

    def recorded(self) -> Recorded:
        """All that differs from the saved model."""
        found = self.base.execute("SELECT id, row, payload FROM put ORDER BY place").fetchall()
        gone = [json.loads(key) for (key,) in self.base.execute("SELECT id FROM gone")]
        rows = np.array([np.frombuffer(row, dtype="<f8") for _, row, _ in found]).reshape(-1, self.d)
        payloads = [None if payload is None else json.loads(payload) for _, _, payload in found]
        return Recorded(rows, [json.loads(key) for key, _, _ in found], payloads, gone)

    def record(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> None:
        """Write one change, whole, to the disk."""
        keys = [json.dumps(key) for key in ids]
        with self._transaction() as base:
            out = [(json.dumps(key),) for key in gone] + [(key,) for key in keys]
            base.executemany("DELETE FROM put WHERE id = ?", out)
            base.executemany("INSERT OR IGNORE INTO gone VALUES (?)", out)
            texts = [None if payload is None else json.dumps(payload) for payload in payloads]
            blobs = [np.ascontiguousarray(row, dtype="<f8").tobytes() for row in rows]
            put = list(zip(keys, blobs, texts, strict=True))
            base.executemany("INSERT INTO put (id, row, payload) VALUES (?, ?, ?)", put)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self.base.execute("BEGIN IMMEDIATE")
        try:
            yield self.base
            self.base.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self.base.execute("ROLLBACK")
            raise

    def close(self) -> None:
        """Close the file."""
        self.base.close()
