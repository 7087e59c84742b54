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

from simcomplete._rows.payloads import payload_text, read_payload
from simcomplete.errors import DiskFullError, FileFormatError, InputError

LOCK_SECONDS = 2.0  # to wait for a service that is about to end

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
            self.base = sqlite3.connect(path, isolation_level=None, check_same_thread=False, timeout=LOCK_SECONDS)
            self.base.execute("PRAGMA locking_mode=EXCLUSIVE")  # one writer: another service would not see the changes
            self.base.execute("PRAGMA trusted_schema=OFF")
            kinds = {kind for (kind,) in self.base.execute("SELECT type FROM sqlite_master")}
            if not kinds <= {"table", "index"}:  # statements of someone else, which SQLite would run
                raise sqlite3.DatabaseError(f"it holds a {min(kinds - {'table', 'index'})}")
            self.base.execute("PRAGMA journal_mode=WAL")
            self.base.execute("PRAGMA synchronous=FULL")  # a commit has reached the disk when it returns
            self.base.executescript(SCHEMA)
            self.base.execute("INSERT OR IGNORE INTO about VALUES ('model', ?)", (model,))
            (known,) = self.base.execute("SELECT value FROM about WHERE name = 'model'").fetchone()
        except sqlite3.OperationalError as error:
            raise InputError(
                f"{path} cannot be opened for changes ({error}): another service may use it, or it cannot be written; "
                "choose another with --changes"
            ) from error
        except sqlite3.DatabaseError as error:
            raise FileFormatError(f"{path} is not a file of changes: {error}; choose another with --changes") from error
        if known != model:
            self.base.close()
            raise FileFormatError(
                f"{path} has changes of another model; move it away, or choose another with --changes"
            )

    def recorded(self) -> Recorded:
        """All that differs from the saved model."""
        try:
            found = self.base.execute("SELECT id, row, payload FROM put ORDER BY place").fetchall()
            gone = [json.loads(key) for (key,) in self.base.execute("SELECT id FROM gone")]
            if any(len(row) != 8 * self.d for _, row, _ in found):
                raise ValueError(f"a row does not have {self.d} values")
            rows = np.array([np.frombuffer(row, dtype="<f8") for _, row, _ in found])
            payloads = [read_payload(payload) for _, _, payload in found]
            ids = [json.loads(key) for key, _, _ in found]
        except (sqlite3.DatabaseError, ValueError, TypeError, RecursionError) as error:
            raise FileFormatError(
                f"{self.path} is damaged, or was changed by another program: {error}; restore it, or choose another "
                "with --changes"
            ) from error
        if not np.isfinite(rows).all():
            raise FileFormatError(f"{self.path} holds rows that are not finite; restore it, or choose another")
        return Recorded(rows.reshape(-1, self.d), ids, payloads, gone)

    def record(self, rows: NDArray[np.float64], ids: list[Any], payloads: list[Any], gone: list[Any]) -> None:
        """Write one change, whole, to the disk."""
        keys = [json.dumps(key) for key in ids]
        with self._transaction() as base:
            out = [(json.dumps(key),) for key in gone] + [(key,) for key in keys]
            base.executemany("DELETE FROM put WHERE id = ?", out)
            base.executemany("INSERT OR IGNORE INTO gone VALUES (?)", out)
            texts = [payload_text(payload) for payload in payloads]
            blobs = [np.ascontiguousarray(row, dtype="<f8").tobytes() for row in rows]
            put = list(zip(keys, blobs, texts, strict=True))
            base.executemany("INSERT INTO put (id, row, payload) VALUES (?, ?, ?)", put)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        self.base.execute("BEGIN IMMEDIATE")
        try:
            yield self.base
            self.base.execute("COMMIT")
        except BaseException as error:
            with contextlib.suppress(sqlite3.Error):
                self.base.execute("ROLLBACK")
            if isinstance(error, sqlite3.OperationalError):
                raise DiskFullError(f"the change could not be written to disk, and was not made: {error}") from error
            raise

    def close(self) -> None:
        """Close the file."""
        self.base.close()
