"""A store by its address."""

from __future__ import annotations

from simcomplete.errors import InputError
from simcomplete.stores._faiss import FaissStore
from simcomplete.stores._lancedb import LanceStore
from simcomplete.stores._postgres import PostgresStore
from simcomplete.stores._qdrant import QdrantStore
from simcomplete.stores._sqlite import SqliteStore
from simcomplete.stores._store import VectorStore

KNOWN = "postgresql://..., sqlite:PATH, qdrant:PATH, qdrant:http://..., lancedb:PATH, faiss: or faiss:ivf"


def connect(address: str) -> VectorStore:
    """Open a store by its address, as `simcomplete serve --store` does.

    Parameters
    ----------
    address : str
        "postgresql://user@host/database" (with ``#table`` behind it for another table), "sqlite:PATH",
        "qdrant:http://host:6333" or "qdrant:PATH", "lancedb:PATH", "faiss:" or "faiss:ivf".

    Returns
    -------
    VectorStore

    Examples
    --------
    >>> store = connect("sqlite::memory:")
    >>> store.count()
    0
    >>> store.close()
    """
    kind, _, rest = address.partition(":")
    if kind in ("postgresql", "postgres"):
        uri, _, table = address.partition("#")
        return PostgresStore(uri, table) if table else PostgresStore(uri)
    if kind == "faiss" and rest in ("", "flat", "ivf"):
        return FaissStore(rest or "flat")  # type: ignore[arg-type]
    if kind == "sqlite" and rest:
        return SqliteStore(rest.removeprefix("//"))
    if kind == "qdrant" and rest:
        return QdrantStore(rest)
    if kind == "lancedb" and rest:
        return LanceStore(rest.removeprefix("//"))
    raise InputError(f"{address!r} is not the address of a store; known are {KNOWN}")
