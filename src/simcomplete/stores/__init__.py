"""Vector stores: where the candidates are when they are many, or when others search them too.

One small interface (`put`, `delete`, `search`, `count`, and `get` and `ids` to look inside) and an adapter for each
engine: `SqliteStore` and `FaissStore` are embedded, `PostgresStore` (pgvector), `QdrantStore` and `LanceStore` speak to
those. `PosteriorCompleter.attach` puts a model's candidates into one of them and keeps both in step.
"""

from simcomplete.stores._attached import Attached, FoundRows
from simcomplete.stores._connect import connect
from simcomplete.stores._drift import Drift
from simcomplete.stores._faiss import FaissStore
from simcomplete.stores._lancedb import LanceStore
from simcomplete.stores._postgres import PostgresStore
from simcomplete.stores._qdrant import QdrantStore
from simcomplete.stores._sqlite import SqliteStore
from simcomplete.stores._store import Hits, Records, VectorStore

__all__ = [
    "Attached",
    "Drift",
    "FaissStore",
    "FoundRows",
    "Hits",
    "LanceStore",
    "PostgresStore",
    "QdrantStore",
    "Records",
    "SqliteStore",
    "VectorStore",
    "connect",
]
