"""What goes wrong in an engine is an error of ours, which says so."""

import sqlite3

import numpy as np
import pytest

from simcomplete.errors import StoreError
from simcomplete.estimators import PosteriorCompleter
from simcomplete.stores import QdrantStore, SqliteStore

V = np.eye(3)


@pytest.mark.parametrize("kind", ["sqlite", "qdrant"])
def test_a_store_that_was_closed(kind, tmp_path):
    if kind == "qdrant":
        pytest.importorskip("qdrant_client", reason="no qdrant-client")
    store = SqliteStore(tmp_path / "v.sqlite") if kind == "sqlite" else QdrantStore(":memory:")
    store.put(["a", "b", "c"], V)
    store.close()
    for ask in (
        lambda: store.search(V, 1),
        lambda: store.put(["d"], V[:1]),
        lambda: store.get(["a"]),
        lambda: store.delete(["a"]),
        lambda: store.count(),
        lambda: list(store.ids()),
    ):
        with pytest.raises(StoreError, match=r"Store cannot be used: .*closed"):
            ask()


def test_a_file_that_another_program_has_locked(tmp_path):
    store = SqliteStore(tmp_path / "v.sqlite")
    store._base.execute("PRAGMA busy_timeout = 10")
    store.put(["a"], V[:1])
    other = sqlite3.connect(tmp_path / "v.sqlite", isolation_level=None)
    other.execute("BEGIN IMMEDIATE")
    with pytest.raises(StoreError, match="locked"):
        store.put(["b"], V[1:2])
    with pytest.raises(StoreError, match="locked"):
        store.delete(["a"])
    other.execute("ROLLBACK")
    other.close()
    store.put(["b"], V[1:2])
    assert sorted(store.ids()) == ["a", "b"]
    store.close()


def test_a_full_disk_changes_neither_store_nor_model(tmp_path):
    rng = np.random.default_rng(0)
    held = (
        PosteriorCompleter(effort="fast")
        .fit(rng.random((60, 5)), ids=list(range(60)))
        .attach(SqliteStore(tmp_path / "v.sqlite"))
    )
    base = held.store._base
    base.execute(f"PRAGMA max_page_count = {base.execute('PRAGMA page_count').fetchone()[0]}")
    with pytest.raises(StoreError, match="full"):
        held.partial_fit(rng.random((5000, 5)), ids=list(range(60, 5060)))
    assert len(held.model.ids_) == 60 and held.store.count() == 60 and not held.drift()
    held.store.close()
