"""Every adapter on its real engine; one whose package is missing is skipped, with the reason."""

import tempfile
import warnings
from uuid import uuid4

import numpy as np
import pytest

from simcomplete import stores
from simcomplete.estimators import PosteriorCompleter

ENGINES = ["sqlite", "faiss", "faiss-ivf", "postgres", "postgres-hnsw", "qdrant", "qdrant-folder", "lancedb"]
EXACT = [name for name in ENGINES if name not in ("faiss-ivf", "postgres-hnsw", "qdrant-folder")]

P = np.random.default_rng(0).random((60, 5))


@pytest.fixture
def saved(tmp_path):
    """A saved model of candidates P, to be served with a store beside it."""
    PosteriorCompleter(effort="fast").fit(P, ids=[f"p{i}" for i in range(60)]).save(tmp_path / "m")
    return tmp_path / "m"


def close(service):
    service.journal.close()
    if hasattr(service.served, "store"):
        service.served.store.close()


@pytest.fixture(scope="session")
def postgres():
    """Address of a PostgreSQL server with pgvector, in a folder of its own, which goes with it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # where there is no XDG_RUNTIME_DIR
        pgserver = pytest.importorskip("pgserver", reason="no pgserver, which brings PostgreSQL with pgvector")
    pytest.importorskip("psycopg", reason="no psycopg")
    # Not below pytest's own folder: that is closed to the user whom a server that root starts runs as.
    with tempfile.TemporaryDirectory(prefix="pg", ignore_cleanup_errors=True) as folder:
        server = pgserver.get_server(folder, cleanup_mode="stop")
        yield server.get_uri()
        server.cleanup()


@pytest.fixture
def opened(request, tmp_path):
    """Open stores by the name of an engine; a second call opens the same one again where it lasts."""
    table, held = f"t{uuid4().hex}", []

    def open_store(name):
        if name in ("faiss", "faiss-ivf"):
            pytest.importorskip("faiss", reason="no faiss")
        if name.startswith("qdrant"):
            pytest.importorskip("qdrant_client", reason="no qdrant-client")
        if name == "lancedb":
            pytest.importorskip("lancedb", reason="no lancedb: 190 MB, in .ci/run only")
        made = {
            "sqlite": lambda: stores.SqliteStore(tmp_path / "vectors.sqlite"),
            "faiss": stores.FaissStore,
            "faiss-ivf": lambda: stores.FaissStore("ivf", lists=2, breadth=2),
            "postgres": lambda: stores.PostgresStore(request.getfixturevalue("postgres"), table),
            "postgres-hnsw": lambda: stores.PostgresStore(request.getfixturevalue("postgres"), table, index="hnsw"),
            "qdrant": lambda: stores.QdrantStore(":memory:"),
            "qdrant-folder": lambda: stores.QdrantStore(str(tmp_path / "qdrant")),
            "lancedb": lambda: stores.LanceStore(tmp_path / "lance"),
        }[name]()
        held.append(made)
        return made

    yield open_store
    for store in held:
        store.close()


@pytest.fixture(params=ENGINES)
def store(request, opened):
    return opened(request.param)


@pytest.fixture(params=EXACT)
def exact_store(request, opened):
    return opened(request.param)
