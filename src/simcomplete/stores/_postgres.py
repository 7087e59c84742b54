"""Vectors in a table of PostgreSQL with pgvector."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError, StoreError, optional
from simcomplete.stores._store import VectorStore

WIDEST = 16000  # entries of pgvector's type, and ...
WIDEST_INDEXED = 2000  # ... of one that its indexes take
LONGEST_NAME = 63
INDEXES = {"hnsw": "USING hnsw (vector vector_ip_ops)", "ivfflat": "USING ivfflat (vector vector_ip_ops)"}
BREADTH = {"hnsw": "hnsw.ef_search", "ivfflat": "ivfflat.probes"}


class PostgresStore(VectorStore):
    """Vectors in float32 in a table of PostgreSQL, by the extension pgvector; searches run in the database.

    The table has the columns `id` (as JSON: ``7`` or ``"a"``), `vector` and `payload` (jsonb), and is made by the
    first `put`. Each call is one transaction. One connection is shared by all threads, and made again when it was lost.

    Parameters
    ----------
    uri : str
        Such as "postgresql://user@host/database"; anything that psycopg takes.
    table : str
        Name of the table.
    index : {"hnsw", "ivfflat"}, optional
        Search with an index of pgvector, created if it does not exist; it may miss some rows. Without an index, all
        rows are compared.
    breadth : int, optional
        How widely an index searches: its `hnsw.ef_search` or `ivfflat.probes`.

    Examples
    --------
    >>> store = PostgresStore("postgresql://localhost/items")  # doctest: +SKIP
    >>> store.put(["a"], [[1.0, 0.0]], payloads=[{"name": "Anna"}])  # doctest: +SKIP
    """

    def __init__(
        self,
        uri: str,
        table: str = "simcomplete_vectors",
        *,
        index: Literal["hnsw", "ivfflat"] | None = None,
        breadth: int | None = None,
    ) -> None:
        self._psycopg = optional("psycopg", extra="postgres", purpose="a store in PostgreSQL")
        if index is not None and index not in INDEXES:
            raise InputError(f"index={index!r} is unknown; use 'hnsw', 'ivfflat', or None to compare with every row")
        if not table or len(table.encode()) > LONGEST_NAME or "\0" in table:
            raise InputError(f"table={table!r} is not a name of a table: a name has 1 to {LONGEST_NAME} bytes")
        if breadth is not None and (isinstance(breadth, bool) or not isinstance(breadth, int) or breadth < 1):
            raise InputError(f"breadth={breadth!r} must be a whole number of at least 1")
        self.uri, self.table, self.index, self.breadth, self.exact = uri, table, index, breadth, index is None
        self._lock = threading.RLock()
        self._connection: Any = None
        self._width: int | None = None
        self._run(self._look)

    @property
    def width(self) -> int | None:
        """Entries of a vector."""
        if self._width is None:
            self._run(self._look)  # another process may have put some
        return self._width

    def _run(self, work: Any, *given: Any) -> Any:
        """Do something in one transaction, with a connection that works."""
        psycopg = self._psycopg
        with self._lock:
            for last in (False, True):
                try:
                    if self._connection is None or self._connection.closed:
                        self._connection = psycopg.connect(self.uri, autocommit=True)
                    with self._connection.transaction():
                        return work(self._connection, *given)
                except psycopg.OperationalError as error:
                    lost = self._connection is not None and self._connection.closed
                    if last or not lost:
                        raise StoreError(f"PostgreSQL cannot be reached: {_first_line(error)}") from error
                except psycopg.Error as error:
                    raise StoreError(f"PostgreSQL refused: {_first_line(error)}") from error
        raise AssertionError  # the loop returns or raises

    def _sql(self, text: str) -> Any:
        name = self._psycopg.sql.Identifier
        return self._psycopg.sql.SQL(text).format(
            table=name(self.table), index=name(f"{self.table}_{self.index}"[-63:])
        )

    def _look(self, base: Any) -> None:
        base.execute("CREATE EXTENSION IF NOT EXISTS vector")
        found = base.execute(
            "SELECT atttypmod FROM pg_attribute WHERE attrelid = to_regclass(%s) AND attname = 'vector'",
            (self._sql("{table}").as_string(base),),
        ).fetchone()
        self._width = None if found is None else int(found[0])

    def _make(self, base: Any, width: int) -> None:
        limit = WIDEST if self.index is None else WIDEST_INDEXED
        if width > limit:
            raise InputError(f"vectors have {width} entries, and pgvector takes up to {limit} here; use another store")
        base.execute(
            self._sql(
                'CREATE TABLE IF NOT EXISTS {table} (id text COLLATE "C" PRIMARY KEY, '
                f"vector vector({width}) NOT NULL, payload jsonb)"
            )
        )
        if self.index is not None:
            base.execute(self._sql("CREATE INDEX IF NOT EXISTS {index} ON {table} " + INDEXES[self.index]))

    def _put(self, keys: list[str], V: NDArray[np.float64], payloads: list[str | None]) -> None:
        rows = [(key, _text(row), text) for key, row, text in zip(keys, V, payloads, strict=True)]
        self._run(self._written, V.shape[1], rows)
        self._width = V.shape[1]

    def _written(self, base: Any, width: int, rows: list[tuple[str, str, str | None]]) -> None:
        self._make(base, width)
        with base.cursor() as cursor:
            cursor.execute(
                f"CREATE TEMPORARY TABLE put_now (id text, vector vector({width}), payload jsonb) ON COMMIT DROP"
            )
            with cursor.copy("COPY put_now FROM STDIN") as copy:
                for row in rows:
                    copy.write_row(row)
            cursor.execute(
                self._sql(
                    "INSERT INTO {table} SELECT id, vector, payload FROM put_now ON CONFLICT (id) DO UPDATE SET "
                    "vector = excluded.vector, payload = excluded.payload"
                )
            )

    def _delete(self, keys: list[str]) -> int:
        return int(
            self._run(lambda base: base.execute(self._sql("DELETE FROM {table} WHERE id = ANY(%s)"), (keys,)).rowcount)
        )

    def _search(self, Q: NDArray[np.float64], k: int) -> list[list[tuple[str, float]]]:
        # A second key to sort by would keep PostgreSQL from using the index.
        order = "near, id" if self.index is None else "near"
        ask = self._sql(
            "SELECT query.place, found.id, -found.near "
            "FROM unnest(%s::text[]::vector[]) WITH ORDINALITY AS query(vector, place) "
            "CROSS JOIN LATERAL (SELECT id, vector <#> query.vector AS near FROM {table} "
            f"ORDER BY {order} LIMIT %s) AS found ORDER BY query.place, found.near, found.id"
        )
        texts = [_text(row) for row in Q]

        def asked(base: Any) -> Any:
            if self.index is not None:
                breadth = max(k, 40) if self.breadth is None else self.breadth
                base.execute("SELECT set_config(%s, %s, true)", (BREADTH[self.index], str(min(breadth, 1000))))
            return base.execute(ask, (texts, k)).fetchall()

        found: list[list[tuple[str, float]]] = [[] for _ in Q]
        for place, key, score in self._run(asked):
            found[place - 1].append((key, float(score)))
        return found

    def _get(self, keys: list[str]) -> dict[str, tuple[NDArray[Any], str | None]]:
        ask = self._sql("SELECT id, vector_send(vector), payload::text FROM {table} WHERE id = ANY(%s)")
        found = self._run(lambda base: base.execute(ask, (keys,), binary=True).fetchall())
        # pgvector sends two 16-bit numbers, the width and 0, before the values.
        return {key: (np.frombuffer(sent, dtype=">f4", offset=4), text) for key, sent, text in found}

    def _count(self) -> int:
        return int(self._run(lambda base: base.execute(self._sql("SELECT count(*) FROM {table}")).fetchone()[0]))

    def _keys(self) -> Iterable[str]:
        return [key for (key,) in self._run(lambda base: base.execute(self._sql("SELECT id FROM {table}")).fetchall())]

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            if self._connection is not None:
                self._connection.close()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):  # one that was never opened, or at the end of Python
            self.close()


def _text(row: NDArray[np.float64]) -> str:
    """A vector as pgvector reads it, in digits that float32 keeps."""
    return "[" + ",".join(map(repr, row.astype(np.float32).tolist())) + "]"


def _first_line(error: BaseException) -> str:
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
