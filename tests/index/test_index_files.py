"""Indexes as files: plain FAISS with a note, read back whole or refused."""

import json
import pickle

import numpy as np
import pytest

import simcomplete as sc
from simcomplete import index
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete.errors import FileFormatError, InputError
from test_index import by_index, clustered, faiss, needs_faiss, own_search

pytestmark = needs_faiss


def test_a_file_says_how_to_ask_it(tmp_path):
    rng = np.random.default_rng(0)
    F, signs = rng.standard_normal((90, 5)), np.array([1.0, 1, -1, 1, -1])
    S = SymmetricMatrix(factor=F, signs=signs)
    built = index.over(S, slice(0, 80))
    note = index.export(built, tmp_path / "p.faiss", signs=signs)
    assert json.loads((tmp_path / "p.faiss.json").read_text()) == note
    assert (note["signs"], note["rows"], note["width"]) == ([1, 1, -1, 1, -1], 80, 5)
    assert sorted(file.name for file in tmp_path.iterdir()) == ["p.faiss", "p.faiss.json"]
    # By the note alone, without this package.
    raw = faiss.read_index(str(tmp_path / "p.faiss"))
    ids = raw.search((F[80:] * note["signs"]).astype(np.float32), 4)[1]
    want = own_search(S, np.arange(80, 90), 80, 4)
    np.testing.assert_array_equal(ids, want.ids)
    again = index.read(tmp_path / "p.faiss", F[:80])
    np.testing.assert_array_equal(by_index(S, np.arange(80, 90), 80, 4, again).ids, want.ids)


@pytest.mark.parametrize("kind", ["ivf", "hnsw"])
def test_partial_indexes_come_back_from_files_as_they_were(tmp_path, kind):
    X = clustered(800, 6)
    built = index.build(X, kind, breadth=5)
    index.export(built, tmp_path / "x")
    np.testing.assert_array_equal(
        index.search(index.read(tmp_path / "x", X), X[:50], 5).ids, index.search(built, X[:50], 5).ids
    )


def test_files_are_not_replaced_unasked_nor_read_when_changed(tmp_path):
    X, path = clustered(50, 4), tmp_path / "x"
    built = index.build(X)
    index.export(built, path)
    with pytest.raises(InputError, match="exists already"):
        index.export(built, path)
    index.export(built, path, overwrite=True)
    with pytest.raises(InputError, match="other rows"):
        index.read(path, X[::-1])
    with pytest.raises(InputError, match="does not exist"):
        index.read(tmp_path / "y", X)
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(FileFormatError, match="cut short or changed"):
        index.read(path, X)
    (tmp_path / "x.json").write_text("[]")
    with pytest.raises(FileFormatError, match="not a description"):
        index.read(path, X)


def test_completions_search_and_export_by_name(tmp_path, digits, hide):
    done = sc.complete(digits[:300], hide(digits[300:310], 0.7), method="smcnn", rank=10, progress=False)
    want = done.search(k=5)
    for way in ("faiss", index.over(done.matrix, slice(0, 300))):
        np.testing.assert_array_equal(done.search(k=5, index=way).ids, want.ids)
    np.testing.assert_array_equal(
        done.search(k=400, rows="candidates", index="faiss").ids, done.search(k=400, rows="candidates").ids
    )
    assert index.recall(done.search(k=5, index="faiss-hnsw").ids, want.ids) > 0.9
    assert done.export_index(tmp_path / "p.faiss")["rows"] == 300
    again = index.read(tmp_path / "p.faiss", done.factor[:300])
    np.testing.assert_array_equal(done.search(k=5, index=again).ids, want.ids)
    with pytest.raises(InputError, match="before clip"):
        done.view(clip=True).export_index(tmp_path / "q.faiss")


def test_an_index_is_built_once_and_kept(tmp_path, digits, hide, monkeypatch):
    done = sc.complete(digits[:300], hide(digits[300:310], 0.7), method="smcnn", rank=10, progress=False)
    want = done.search(k=5)
    built = []
    make = index._completed.build
    monkeypatch.setattr(
        index._completed, "build", lambda rows, kind, **own: built.append(kind) or make(rows, kind, **own)
    )
    for _ in range(3):
        np.testing.assert_array_equal(done.search(k=5, index="faiss").ids, want.ids)
        done.search(k=2, rows="candidates", index="faiss-hnsw")
    done.export_index(tmp_path / "p.faiss")
    assert built == ["flat", "hnsw"]
    # A view is another matrix; a copy builds its own; nothing of it is saved.
    done.view(unit_diagonal=True).search(k=5, index="faiss")
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(done)).search(k=5, index="faiss").ids, want.ids)
    assert built == ["flat", "hnsw", "flat", "flat"]
    done.save(tmp_path / "done")
    assert {file.name for file in (tmp_path / "done").iterdir()} == {"completion.json", "factor.npy", "candidates.npy"}
    with pytest.raises(InputError, match="'faiss-ivf'"):
        done.search(k=5, index="annoy")
