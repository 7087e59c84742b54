"""Vectors in a table of LanceDB: files in a folder, larger than memory."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import optional
from simcomplete.stores._store import VectorStore

SOME = 500  # ids in one question


class LanceStore(VectorStore):
    """Vectors in float32 in a folder of LanceDB, read from disk as they are needed; every row is compared.

    Parameters
    ----------
    path : path
        The folder, created if it does not exist.
    table : str
        Name of the table, made by the first `put`. It has the columns `id` (as JSON), `vector` and `payload` (JSON).

    Examples
    --------
    >>> store = LanceStore("items.lance")  # doctest: +SKIP
    >>> store.put(["a"], [[1.0, 0.0]], payloads=[{"name": "Anna"}])  # doctest: +SKIP
    """

    _failures = (OSError, RuntimeError)

    def __init__(self, path: str | Path, table: str = "simcomplete") -> None:
        lancedb = optional("lancedb", extra="lancedb", purpose="a store in LanceDB")
        self._arrow = optional("pyarrow", extra="lancedb", purpose="a store in LanceDB")
        self._base, self.name = lancedb.connect(str(path)), table
        self._table: Any = None

    @property
    def table(self) -> Any:
        """The table of LanceDB, as it is now; None before anything was put."""
        if self._table is None and self.name in self._base.list_tables().tables:
            self._table = self._base.open_table(self.name)
        return self._table

    @property
    def width(self) -> int | None:
        """Entries of a vector."""
        return None if self.table is None else int(self.table.schema.field("vector").type.list_size)

    def _put(self, keys: list[str], V: NDArray[np.float64], payloads: list[str | None]) -> None:
        arrow, single = self._arrow, V.astype(np.float32)
        vectors = arrow.FixedSizeListArray.from_arrays(arrow.array(single.ravel()), V.shape[1])
        payload_column = arrow.array(payloads, arrow.string())
        rows = arrow.table({"id": arrow.array(keys, arrow.string()), "vector": vectors, "payload": payload_column})
        if self.table is None:
            self._table = self._base.create_table(self.name, rows)
        else:
            self.table.merge_insert("id").when_matched_update_all().when_not_matched_insert_all().execute(rows)

    def _delete(self, keys: list[str]) -> int:
        there = len(self._get(keys))
        if there:
            self.table.delete(_among(keys))
        return there

    def _search(self, Q: NDArray[np.float64], k: int) -> list[list[tuple[str, float]]]:
        found = []
        for row in Q.astype(np.float32):
            asked = self.table.search(row, vector_column_name="vector").distance_type("dot").bypass_vector_index()
            hits = asked.select(["id", "_distance"]).limit(k).to_arrow()
            pairs = zip(hits["id"].to_pylist(), hits["_distance"].to_pylist(), strict=True)
            found.append(sorted(((key, 1.0 - distance) for key, distance in pairs), key=lambda hit: (-hit[1], hit[0])))
        return found

    def _get(self, keys: list[str]) -> dict[str, tuple[NDArray[Any], str | None]]:
        found: dict[str, tuple[NDArray[Any], str | None]] = {}
        for start in range(0, len(keys), SOME):
            some = keys[start : start + SOME]
            rows = self.table.search().where(_among(some)).limit(len(some)).to_arrow()
            vectors = rows["vector"].combine_chunks().flatten().to_numpy().reshape(len(rows), -1) if len(rows) else ()
            found |= dict(
                zip(rows["id"].to_pylist(), zip(vectors, rows["payload"].to_pylist(), strict=True), strict=True)
            )
        return found

    def _count(self) -> int:
        return int(self.table.count_rows())

    def _keys(self) -> Iterable[str]:
        keys: list[str] = self.table.search().select(["id"]).limit(self._count()).to_arrow()["id"].to_pylist()
        return keys


def _among(keys: list[str]) -> str:
    quoted = ", ".join("'" + key.replace("'", "''") + "'" for key in keys)
    return f"id IN ({quoted})"
