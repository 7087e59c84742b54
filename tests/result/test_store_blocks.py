"""Saving and loading go block by block, keep candidates once, and notice what happens to the files."""

import json
import shutil
import tracemalloc
from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result import archive, store
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.source import SourceRows
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import FileFormatError, InputError


class Made:
    """Rows that are made when they are asked for; remembers the most that were asked for at once."""

    def __init__(self, n, d):
        self.shape, self.dtype, self.most = (n, d), np.dtype(np.float64), 0
        self.pace = 1 + np.random.default_rng(0).random(d)

    def __getitem__(self, rows):
        start, stop, _ = rows.indices(self.shape[0])
        self.most = max(self.most, stop - start)
        return 5 + np.sin(np.outer(np.arange(start, stop), self.pace))


def as_zarr(X, room):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(room / "p.zarr"), shape=X.shape, dtype=X.dtype, chunks=(97, 20))[:] = X
    return room / "p.zarr"


def as_npy(X, room):
    np.save(room / "p.npy", X)
    return room / "p.npy"


KINDS = {
    "array": lambda X, room: X,
    "float32": lambda X, room: X.astype(np.float32),
    ".npy": as_npy,
    ".zarr": as_zarr,
    "memory map": lambda X, room: np.load(as_npy(X, room), mmap_mode="r"),
    "dask": lambda X, room: pytest.importorskip("dask.array").from_array(X, chunks=(130, 20)),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


@pytest.fixture
def in_files(monkeypatch):
    """Every table stays in its file, as large ones do."""
    monkeypatch.setattr(archive, "READ_BELOW_BYTES", 0)


def completed(P, Q, method="posterior"):
    """A completion; that of posterior with a factor that is made of the candidates, as large ones are."""
    Q = Q.astype(np.float32) if P.__class__ is np.ndarray and P.dtype == np.float32 else Q
    done = sc.complete(P, Q, method=method, **SETTINGS[method])
    if method != "posterior":
        return done
    below = done.matrix.factor[done.n_candidates :, :]
    return replace(done, matrix=replace(done.matrix, factor=UnitRows(done.exact.source, below)))


SETTINGS = {"smcnn": {"rank": 10}, "posterior": {"effort": "fast"}, "overlap": {}}


@pytest.mark.parametrize("view", [{}, {"unit_diagonal": True}, {"clip": True}])
@pytest.mark.parametrize("method", SETTINGS)
def test_every_kind_comes_back(imagelike, kind, method, view, tmp_path, in_files):
    P, Q = imagelike
    before = completed(kind(P, tmp_path), Q, method).view(**view)
    before.save(tmp_path / "done")
    after = sc.load(tmp_path / "done")
    rounding = 1e-6 if after.similarity([0]).dtype == np.float32 else 1e-12  # blocks are products of other shapes
    np.testing.assert_allclose(np.asarray(after.similarity()), np.asarray(before.similarity()), atol=rounding)
    np.testing.assert_array_equal(after.search(4).ids, before.search(4).ids)
    assert after.evidence == before.evidence
    assert after.rank == before.rank
    for name, check in vars(before.validity).items():
        assert getattr(after.validity, name).ok == check.ok
    if after.interval_model is not None:
        np.testing.assert_allclose(after.interval()[0], before.interval()[0], atol=rounding)


def test_candidates_are_stored_once(imagelike, kind, tmp_path):
    P, Q = imagelike
    done = completed(kind(P, tmp_path), Q)
    assert isinstance(done.factor, UnitRows)
    done.save(tmp_path / "done")
    tables = {f.name: np.load(f).shape for f in (tmp_path / "done").glob("*.npy") if np.load(f).ndim == 2}
    simulated = {"rank_quantiles.npy": (8, 201), "residuals.npy": (200, 50), "simulated.npy": (200, 50)}
    model = {"model.model.spaces.0.statistics.outer.npy": (50, 50), "model.tables.1.npy": (40, 50)}
    model |= {"model.model.copying.classes.weights.npy": (21, 4), "match_probabilities.npy": (40, 3)}
    assert tables == {"candidates.npy": (900, 50), "factor_below.npy": (40, 50), **simulated, **model}
    np.testing.assert_allclose(np.load(tmp_path / "done" / "candidates.npy"), P, rtol=1e-6)
    after = sc.load(tmp_path / "done")
    assert after.exact.source is after.matrix.factor.source
    after.save(tmp_path / "again")
    assert {f.name for f in (tmp_path / "again").iterdir()} == {f.name for f in (tmp_path / "done").iterdir()}


def test_without_candidates_the_factor_is_whole(imagelike, tmp_path):
    done = completed(*imagelike)
    done.save(tmp_path / "done", candidates=False)
    assert np.load(tmp_path / "done" / "factor.npy").shape == (940, 50)
    assert not (tmp_path / "done" / "candidates.npy").exists()
    np.testing.assert_allclose(sc.load(tmp_path / "done").similarity(), done.similarity(), atol=1e-12)


def test_other_candidates_do_not_stand_for_the_factor(imagelike, tmp_path):
    # A factor made of other rows than the exact block: both are stored.
    P, Q = imagelike
    done = completed(P, Q)
    object.__setattr__(done.matrix, "factor", UnitRows(P[::-1].copy(), np.asarray(done.factor[900:])))
    done.save(tmp_path / "done")
    np.testing.assert_array_equal(sc.load(tmp_path / "done").factor, np.asarray(done.factor))


@pytest.mark.parametrize("method", ["smcnn", "posterior"])
def test_memory_is_that_of_a_block(method, tmp_path, monkeypatch):
    rows = Made(40_000, 32)  # 10 MB
    Q = np.where(np.random.default_rng(1).random((5, 32)) < 0.5, np.nan, rows[0:5])
    done = sc.complete(rows, Q, method=method, memory="500 KB", **SETTINGS[method])
    rows.most = 0
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "4000000")
    tracemalloc.start()
    try:
        done.save(tmp_path / "done")
        done.summary()
        after = sc.load(tmp_path / "done")
        found = after.search(3)
        assert after.summary() == done.summary()
        block = after.similarity("queries", slice(0, 100))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert rows.most < 2000
    assert peak < 6e6
    np.testing.assert_array_equal(found.ids, done.search(3).ids)
    np.testing.assert_allclose(block, done.similarity("queries", slice(0, 100)), atol=1e-12)
    assert isinstance(after.exact.source, SourceRows)


def test_files_are_read_once_to_write_their_checksum(imagelike, tmp_path, monkeypatch):
    rows = Made(900, 50)
    done = sc.complete(rows, imagelike[1], method="smcnn", rank=5)
    asked = []
    get = Made.__getitem__
    monkeypatch.setattr(Made, "__getitem__", lambda self, which: asked.append(which) or get(self, which))
    done.save(tmp_path / "done")
    assert sum(len(range(*which.indices(900))) for which in asked) == 900 + 1  # and one row for its type
    index = json.loads((tmp_path / "done" / "completion.json").read_text())
    for name, entry in index["arrays"].items():
        assert archive.file_digest(tmp_path / "done" / f"{name}.npy") == entry["sha256"]


def test_small_blocks_write_the_same_files(imagelike, tmp_path, monkeypatch):
    done = sc.complete(*imagelike, method="smcnn", rank=5)
    done.save(tmp_path / "a")
    monkeypatch.setattr("simcomplete._rows.budget.BLOCK_BYTES", 5000)
    done.save(tmp_path / "b")
    for file in (tmp_path / "a").iterdir():
        assert file.read_bytes() == (tmp_path / "b" / file.name).read_bytes()


@pytest.fixture
def loaded(imagelike, tmp_path, in_files):
    completed(*imagelike).save(tmp_path / "done")
    return sc.load(tmp_path / "done")


def changed(file):
    data = bytearray(file.read_bytes())
    data[-3] ^= 1
    file.write_bytes(bytes(data))


def replaced(file):
    X = np.load(file)
    file.unlink()
    np.save(file, X)


@pytest.mark.parametrize(
    "change", [changed, replaced, lambda f: f.unlink(), lambda f: f.write_bytes(f.read_bytes()[:-8])]
)
def test_files_that_change_after_loading_are_noticed(loaded, change, tmp_path):
    loaded.search(3)
    change(tmp_path / "done" / "candidates.npy")
    with pytest.raises(InputError, match=r"candidates\.npy was changed, replaced or removed.*load it again"):
        loaded.search(3)


def test_a_loaded_one_can_be_saved_over_itself(loaded, tmp_path):
    expected = loaded.view(unit_diagonal=True).similarity("queries")
    loaded.view(unit_diagonal=True).save(tmp_path / "done", overwrite=True)
    np.testing.assert_allclose(sc.load(tmp_path / "done").similarity("queries"), expected, atol=1e-12)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["done"]


def test_a_folder_can_be_moved_before_loading(loaded, tmp_path):
    shutil.move(tmp_path / "done", tmp_path / "there")
    assert sc.load(tmp_path / "there").search(3).ids.shape == (40, 3)


def test_longer_files_are_refused(loaded, tmp_path):
    with (tmp_path / "done" / "candidates.npy").open("ab") as stream:
        stream.write(b"more")
    with pytest.raises(FileFormatError, match=r"candidates\.npy was cut short or changed"):
        sc.load(tmp_path / "done")


def test_exchanged_files_are_refused(imagelike, tmp_path):
    P, Q = imagelike
    for name, rows in (("a", P), ("b", P[::-1])):
        sc.complete(rows, Q, method="smcnn", rank=5).save(tmp_path / name)
    shutil.copy(tmp_path / "b" / "candidates.npy", tmp_path / "a" / "candidates.npy")
    with pytest.raises(FileFormatError, match=r"candidates\.npy was cut short or changed"):
        sc.load(tmp_path / "a")


def test_a_factor_that_is_nowhere_is_refused(loaded, tmp_path):
    file = tmp_path / "done" / "completion.json"
    index = json.loads(file.read_text())
    index["facts"]["factor"] = store.AS_IT_IS
    index["sha256"] = archive.digest_of(index)
    file.write_text(json.dumps(index))
    with pytest.raises(FileFormatError, match="factor"):
        sc.load(tmp_path / "done")


def test_a_refused_target_is_refused_before_any_work(imagelike, tmp_path):
    (tmp_path / "done").mkdir()
    done = completed(*imagelike)
    object.__setattr__(done, "evidence_source", lambda: pytest.fail("evidence was counted first"))
    with pytest.raises(InputError, match="exists already"):
        done.save(tmp_path / "done")


@pytest.mark.array_library
@pytest.mark.parametrize("method", ["smcnn", "posterior"])
def test_every_array_library(library, imagelike, method, tmp_path):
    P, Q = imagelike
    done = completed(library.array(P), library.array(Q), method)
    done.save(tmp_path / "done")
    np.testing.assert_allclose(sc.load(tmp_path / "done").similarity(), to_numpy(done.similarity()), atol=1e-12)


def test_a_dense_result_in_its_file(small, tmp_path, in_files):
    before = sc.complete(*small[:2], method="dmc")
    before.save(tmp_path / "done")
    after = sc.load(tmp_path / "done")
    assert isinstance(after.matrix.dense, SourceRows)
    np.testing.assert_array_equal(after.similarity([70, 3], slice(2, 9)), before.similarity([70, 3], slice(2, 9)))
    np.testing.assert_array_equal(after.matrix.diag(), np.diag(before.similarity()))
    np.testing.assert_array_equal(after.search(3).ids, before.search(3).ids)
    np.testing.assert_allclose(after.similarity(unit_diagonal=True), before.similarity(unit_diagonal=True), atol=1e-12)
    np.testing.assert_array_equal(after.similarity(keep_candidates=True), before.similarity(keep_candidates=True))
    assert after.validity == before.validity
