"""Whatever rows come in, the answer is that of the same rows in memory; what is wrong with them is said in words."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._rows.budget import working_memory
from simcomplete._rows.derived import ScaledRows
from simcomplete._rows.files import open_rows
from simcomplete._rows.source import SourceRows
from simcomplete._rows.validate import is_out_of_core
from simcomplete.errors import FileFormatError, InputError

RANK = 30


class Sliced:
    """Nothing but a shape, a type and slices of rows, as few at a time as it likes to give."""

    def __init__(self, X, most=None):
        self.X, self.most, self.asked = X, most, []
        self.shape, self.dtype = X.shape, X.dtype

    def __getitem__(self, rows):
        assert isinstance(rows, slice)
        assert self.most is None or rows.stop - rows.start <= self.most
        self.asked.append(rows)
        return self.X[rows]


def as_npy(X, room):
    np.save(room / "rows.npy", X)
    return room / "rows.npy"


def as_zarr(X, room):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(room / "rows.zarr"), shape=X.shape, dtype=X.dtype, chunks=(97, 20))[:] = X
    return room / "rows.zarr"


KINDS = {
    "memory map": lambda X, room: np.load(as_npy(X, room), mmap_mode="r"),
    ".npy": as_npy,
    ".npy as text": lambda X, room: str(as_npy(X, room)),
    ".zarr": as_zarr,
    "zarr array": lambda X, room: pytest.importorskip("zarr").open_array(str(as_zarr(X, room)), mode="r"),
    "dask array": lambda X, room: pytest.importorskip("dask.array").from_array(X, chunks=(130, 20)),
    "slices": lambda X, room: Sliced(X),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def expected(imagelike):
    return {name: sc.complete(*imagelike, method=name, rank=RANK, route="full") for name in ("smcnn", "smcnmf")}


@pytest.mark.parametrize("method", ["smcnn", "smcnmf"])
def test_every_kind_meets_the_dense_solver(imagelike, expected, kind, method, tmp_path):
    P, Q = imagelike
    done = sc.complete(kind(P, tmp_path), Q, method=method, rank=RANK, memory="200 KB")
    assert done.params["route"] == "structured"
    assert np.allclose(np.asarray(done.factor), expected[method].factor, rtol=0, atol=1e-8)
    assert done.certificate.residual < 1e-6
    assert done.certificate.optimal


def test_every_kind_finds_the_same_neighbours(imagelike, expected, kind, tmp_path):
    P, Q = imagelike
    done = sc.complete(kind(P, tmp_path), Q, method="smcnn", rank=RANK)
    assert np.array_equal(done.search(k=5).ids, expected["smcnn"].search(k=5).ids)


def test_every_kind_has_everything_a_result_has(imagelike, expected, kind, tmp_path):
    P, Q = imagelike
    done, same = sc.complete(kind(P, tmp_path), Q, method="smcnn", rank=RANK), expected["smcnn"]
    assert done.rank == same.rank
    assert done.evidence == same.evidence
    assert done.summary()["validity"].keys() == same.summary()["validity"].keys()
    for view in ({"unit_diagonal": True}, {"clip": True}):
        ours, theirs = done.view(**view), same.view(**view)
        assert np.allclose(ours.similarity(slice(0, 9), "queries"), theirs.similarity(slice(0, 9), "queries"))
        assert ours.validity.unit_diagonal.ok == theirs.validity.unit_diagonal.ok


def test_integers_on_disk_are_not_cast_whole(imagelike, tmp_path):
    P, Q = np.round(imagelike[0]).astype(np.uint8), imagelike[1]
    mapped = np.load(as_npy(P, tmp_path), mmap_mode="r")
    assert is_out_of_core(mapped)
    assert not is_out_of_core(mapped.astype(np.float32))
    done = sc.complete(mapped, Q, method="smcnn", rank=10)
    plain = sc.complete(P, Q, method="smcnn", rank=10)
    assert np.allclose(done.factor, plain.factor, rtol=0, atol=1e-10)


@pytest.mark.parametrize("type_in", [np.float16, np.float32, np.float64, np.int16, ">f4"])
def test_type_of_rows_decides_that_of_the_factor(imagelike, type_in):
    P, Q = imagelike[0].astype(type_in), imagelike[1].astype(np.float32)
    done = sc.complete(Sliced(P), Q, method="smcnn", rank=5)
    assert done.factor.dtype == (np.float32 if type_in in (np.float16, np.float32) else np.float64)
    assert np.allclose(done.factor, sc.complete(P, Q, method="smcnn", rank=5).factor, atol=1e-5)


def test_blocks_follow_from_memory(imagelike):
    P, Q = imagelike
    sizes = {}
    for memory in (100_000, 1_000_000):
        rows = Sliced(P)
        sc.complete(rows, Q, method="smcnn", rank=5, memory=memory, verify=False)
        sizes[memory] = max(part.stop - part.start for part in rows.asked)
    # A row takes 8 bytes for each of 2 d + 5 n_q numbers: 8 * (100 + 200) = 2400. (The first sample takes 128.)
    assert sizes == {100_000: 128, 1_000_000: 416}


@settings(max_examples=15, deadline=None)
@given(memory=st.integers(1, 10**6))
def test_no_block_size_changes_the_answer(memory, imagelike, expected):
    P, Q = imagelike
    done = sc.complete(Sliced(P[:200]), Q, method="smcnn", rank=5, memory=memory, route="structured")
    same = sc.complete(P[:200], Q, method="smcnn", rank=5, route="full")
    assert np.allclose(done.factor, same.factor, rtol=0, atol=1e-8)


def test_slices_and_positions(digits):
    rows = open_rows(Sliced(digits[:50]), "X", complete=True)
    assert np.array_equal(rows[3:40:7], digits[3:40:7])
    assert np.array_equal(rows[[40, 3, 3, -1]], digits[[40, 3, 3, 49]])
    assert np.array_equal(rows[-2], digits[48])
    assert np.array_equal(rows[np.arange(50) % 9 == 0, 2:5], digits[:50:9, 2:5])
    assert np.array_equal(rows[::-1], digits[:50][::-1])
    assert np.array_equal(np.asarray(rows, dtype=np.float32), digits[:50].astype(np.float32))
    twice = ScaledRows(rows, np.arange(50.0))
    assert np.array_equal(twice[[4, 2]], digits[[4, 2]] * [[4], [2]])
    assert np.array_equal(np.asarray(twice), digits[:50] * np.arange(50)[:, None])


def test_the_whole_is_refused_where_it_does_not_fit(digits, monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1000")
    with pytest.raises(sc.errors.MemoryLimitError, match="all 50 x 64 values in memory"):
        np.asarray(SourceRows(digits[:50], "X"))


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_what_is_wrong_in_a_block_is_named(imagelike, kind, value, tmp_path):
    P, Q = np.array(imagelike[0]), imagelike[1]
    P[777, 13] = value
    with pytest.raises(InputError, match=r"candidates\[777, 13\] is|rows 777"):
        sc.complete(kind(P, tmp_path), Q, method="smcnn", rank=5, memory="200 KB", out=tmp_path / "factor.npy")
    assert not list(tmp_path.glob("*factor*"))


def test_a_source_must_not_change_its_shape(imagelike, tmp_path):
    P, Q = imagelike

    class Shrinks(Sliced):
        def __getitem__(self, rows):
            found = super().__getitem__(rows)
            if rows.stop == 900:
                self.shape = (800, 50)
            return found

    with pytest.raises(InputError, match=r"had shape \(900, 50\) and now has \(800, 50\)"):
        sc.complete(Shrinks(P), Q, method="smcnn", rank=5, out=tmp_path / "factor.npy")
    assert not list(tmp_path.iterdir())


def test_a_source_must_give_what_it_promises(imagelike):
    P, Q = imagelike
    rows = Sliced(P)
    rows.shape = (950, 50)
    with pytest.raises(InputError, match="is the source whole"):
        sc.complete(rows, Q, method="smcnn", rank=5)


def test_infinities_of_both_signs_are_refused_without_a_warning(tmp_path):
    path = as_npy(np.array([[1.0, np.inf], [-np.inf, 2.0]]), tmp_path)
    with pytest.raises(InputError, match=r"X\[0, 1\] is inf"):
        open_rows(path, "X", complete=False)[0:2]


def test_a_file_must_not_change(digits, tmp_path):
    path = as_npy(digits, tmp_path)
    rows = open_rows(path, "X", complete=True)
    assert np.array_equal(rows[5:7], digits[5:7])
    whole = path.read_bytes()
    path.write_bytes(whole[: len(whole) // 2])
    for some in (slice(5, 7), slice(1700, 1797)):  # also where the rows asked for are still there
        with pytest.raises(FileFormatError, match=r"ends before row 1797 of the shape \(1797, 64\)"):
            rows[some]
    np.save(path, digits[:100])
    with pytest.raises(InputError, match=r"held float64 \(1797, 64\) and now holds float64 \(100, 64\)"):
        rows[5:7]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not a NumPy file|not one of NumPy"),
        (b"\x93NUMPY\x01\x00", "not a NumPy file|not one of NumPy"),
        (b"\x93NUMPY\x09\x00v\x00" + b" " * 118, "not a NumPy file|not one of NumPy"),
        (b"PK\x03\x04 an archive", "not a NumPy file|not one of NumPy"),
    ],
)
def test_files_that_are_no_arrays(content, message, tmp_path):
    (tmp_path / "rows.npy").write_bytes(content)
    with pytest.raises(FileFormatError, match=message):
        sc.complete(tmp_path / "rows.npy", np.ones((1, 2)))


def test_files_of_other_arrays(digits, tmp_path):
    cases = {
        "by columns": np.asfortranarray(digits),
        "2 dimensions": np.ones(5),
        "numbers are needed": np.array([["a"]]),
    }
    for message, X in cases.items():
        np.save(tmp_path / "rows.npy", X)
        with pytest.raises(InputError, match=message):
            sc.complete(tmp_path / "rows.npy", digits[:2])


def test_paths_that_lead_nowhere(tmp_path):
    with pytest.raises(InputError, match=r"there is no .*none\.npy"):
        sc.complete(tmp_path / "none.npy", np.ones((1, 2)))
    (tmp_path / "table.csv").write_text("1,2\n")
    with pytest.raises(InputError, match=r"neither \.npy nor \.zarr; read it first"):
        sc.complete(tmp_path / "table.csv", np.ones((1, 2)))
    pytest.importorskip("zarr")
    (tmp_path / "rows.zarr").mkdir()
    with pytest.raises(FileFormatError, match="not a readable zarr array"):
        sc.complete(tmp_path / "rows.zarr", np.ones((1, 2)))


@pytest.mark.parametrize("estimator", [sc.SMCNN, sc.SMCNmF])
def test_estimators_take_every_kind(imagelike, kind, estimator, tmp_path):
    P, Q = imagelike
    done = estimator(rank=10).complete(kind(P, tmp_path), Q)
    assert np.allclose(np.asarray(done.factor), estimator(rank=10).complete(P, Q).factor, rtol=0, atol=1e-8)


def test_rows_near_each_other_are_read_together(digits, monkeypatch):
    source = Sliced(digits)
    rows = open_rows(source, "X", complete=True)
    asked = np.random.default_rng(0).permutation(1797)[:300]
    assert np.array_equal(rows.take(asked), digits[asked])
    assert len(source.asked) == 1  # not 300: the gaps are short
    source.asked.clear()
    monkeypatch.setattr("simcomplete._rows.table.GAP_BYTES", 3 * 64 * 8)
    assert np.array_equal(rows.take(np.array([900, 2, 5, 8, 12, 900])), digits[[900, 2, 5, 8, 12, 900]])
    assert [(part.start, part.stop) for part in source.asked] == [(2, 9), (12, 13), (900, 901)]
    source.asked.clear()
    with working_memory(100 * 4 * 8 * 64):  # never more than a quarter of a block at once
        assert np.array_equal(rows.take(np.arange(250)), digits[:250])
    assert [(part.start, part.stop) for part in source.asked] == [(0, 100), (100, 200), (200, 250)]
