"""The same candidates give the same answer, wherever they lie and whether they are kept in memory or read by block."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates import fitting
from simcomplete._posterior.candidates import source as pool_of
from simcomplete._rows.derived import UnitRows
from simcomplete._rows.xp import to_numpy

# Some candidates here are constant, or nearly.
pytestmark = pytest.mark.filterwarnings("ignore:all rows are nearly equal")

EFFORTS = ["full", "fast", "best"]
CLOSE = {"rtol": 0, "atol": 1e-10}


class Slices:
    """No array: a shape, a type and row slices."""

    def __init__(self, X):
        self.X, self.shape, self.dtype = X, X.shape, X.dtype

    def __getitem__(self, rows):
        return self.X[rows]


def as_npy(X, folder):
    np.save(folder / "rows.npy", X)
    return folder / "rows.npy"


def as_zarr(X, folder):
    zarr = pytest.importorskip("zarr")
    zarr.create_array(str(folder / "rows.zarr"), shape=X.shape, dtype=X.dtype, chunks=(97, 20))[:] = X
    return folder / "rows.zarr"


KINDS = {
    "memory map": lambda X, folder: np.load(as_npy(X, folder), mmap_mode="r"),
    ".npy": as_npy,
    ".zarr": as_zarr,
    "dask array": lambda X, folder: pytest.importorskip("dask.array").from_array(X, chunks=(130, 20)),
    "slices": lambda X, folder: Slices(X),
}


@pytest.fixture(params=KINDS.values(), ids=KINDS.keys())
def kind(request):
    return request.param


@pytest.fixture(scope="module")
def data(digits, hide):
    return digits[:220], hide(digits[500:515], 0.7)


@pytest.fixture(scope="module")
def expected(data):
    return {effort: sc.complete(*data, method="posterior", effort=effort) for effort in EFFORTS}


def same(done, other):
    """The same factor, intervals, neighbours and choice; all that depends on the queries to 1e-10."""
    np.testing.assert_allclose(to_numpy(np.asarray(done.factor)), to_numpy(np.asarray(other.factor)), **CLOSE)
    np.testing.assert_allclose(np.asarray(done.diagonal), np.asarray(other.diagonal), **CLOSE)
    np.testing.assert_array_equal(done.search(5).ids, other.search(5).ids)
    if other.interval_model is not None:
        np.testing.assert_allclose(done.interval(0.9), other.interval(0.9), rtol=0, atol=1e-9)
    assert done.choice.keys() == other.choice.keys()
    for name, value in other.choice.items():
        assert done.choice[name] == (value if isinstance(value, (str, bool)) else pytest.approx(value, abs=1e-10))


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_kind_of_rows(data, expected, kind, effort, tmp_path):
    P, Q = data
    same(sc.complete(kind(P, tmp_path), Q, method="posterior", effort=effort), expected[effort])


@pytest.mark.parametrize("effort", EFFORTS)
def test_every_kind_of_rows_read_by_block(data, expected, kind, effort, tmp_path, streaming):
    P, Q = data
    streaming()
    done = sc.complete(kind(P, tmp_path), Q, method="posterior", effort=effort, memory="100 KiB")
    assert isinstance(done.matrix.factor, UnitRows)
    assert done.validity.ok, done.validity
    same(done, expected[effort])


@pytest.mark.parametrize("effort", EFFORTS)
def test_an_array_read_by_block(data, expected, effort, streaming):
    streaming()
    same(sc.complete(*data, method="posterior", effort=effort, memory="100 KiB"), expected[effort])


@pytest.mark.parametrize("stream", [False, True])
def test_any_library(library, data, expected, stream, streaming):
    if stream:
        streaming()
    given = library.array(data[0])
    done = sc.complete(given, library.array(data[1]), method="posterior", effort="fast")
    assert type(done.factor[:2, :]) is type(given)
    np.testing.assert_allclose(to_numpy(done.factor[:, :]), expected["fast"].factor, **CLOSE)
    np.testing.assert_array_equal(done.search(3).ids, expected["fast"].search(3).ids)


@pytest.mark.parametrize("effort", EFFORTS)
def test_a_pool_that_is_not_all_of_them(data, kind, effort, tmp_path, monkeypatch, streaming):
    """Of more candidates a pool is drawn: the same one, whatever they are, and the answer is nearly as good."""
    P, Q = data
    whole = sc.complete(P, Q, method="posterior", effort=effort).choice["expected_squared_error"]
    monkeypatch.setattr(pool_of, "POOL_VALUES", 150 * 64)
    monkeypatch.setattr(pool_of, "POOL_ROWS", 10)
    kept = sc.complete(P, Q, method="posterior", effort=effort)
    assert kept.choice["expected_squared_error"] == pytest.approx(whole, rel=0.5)
    streaming()
    same(sc.complete(kind(P, tmp_path), Q, method="posterior", effort=effort, memory="100 KiB"), kept)


def test_single_precision(data, tmp_path, streaming):
    P, Q = (x.astype(np.float32) for x in data)
    kept = sc.complete(P, Q, method="posterior")
    assert kept.factor.dtype == np.float32
    streaming()
    done = sc.complete(as_npy(P, tmp_path), Q, method="posterior")
    assert done.factor[:2].dtype == np.float32
    np.testing.assert_allclose(done.factor[220:], kept.factor[220:], rtol=0, atol=1e-6)  # the last digit of float32


def test_the_number_of_values_decides_and_nothing_else(data, kind, tmp_path, monkeypatch):
    P, Q = data
    there = kind(P, tmp_path)
    for limit, kept in ((P.size, True), (P.size - 1, False)):
        monkeypatch.setattr(fitting, "STREAM_ABOVE_VALUES", limit)
        for rows in (P, there):
            done = sc.complete(rows, Q, method="posterior", effort="fast")
            assert isinstance(done.matrix.factor, np.ndarray) is kept


def families():
    """Candidates that vary little, repeat, or lie along the axes."""
    rng = np.random.default_rng(5)
    zero = np.zeros((300, 10))
    zero[::40, 3], zero[7, 2] = 1.0, 2.0
    made = {
        "one-hot": np.eye(12)[rng.integers(12, size=200)],
        "one-hot of all lengths": np.eye(12)[rng.integers(12, size=100)] * rng.uniform(0.1, 5, (100, 1)),
        "rank 1": rng.standard_normal((150, 1)) @ rng.standard_normal((1, 9)),
        "rank 1, positive": rng.uniform(0.5, 2, (200, 1)) @ rng.uniform(0.1, 1, (1, 9)),
        "8 distinct rows": rng.random((8, 10))[rng.integers(8, size=200)],
        "1 distinct row": np.tile(rng.random(7), (60, 1)),
        "constant": np.ones((500, 12)),
        "constant but for three zeros": np.ones((45, 12)),
        "almost all zero": zero,
        "all zero": np.zeros((60, 12)),
        "sparse": (rng.random((100, 20)) < 0.05) * 1.0,
        "one feature": rng.standard_normal((100, 1)),
        "two features": rng.integers(0, 3, (90, 2)) * 1.0,
        "one candidate": rng.random((1, 4)),
        "39 candidates": rng.random((39, 5)),
        "every row twice": np.repeat(rng.random((60, 6)), 2, axis=0),
    }
    made["constant but for three zeros"][[0, 1, 2], [1, 3, 4]] = 0.0
    for noise in (1e-6, 1e-9, 1e-14):
        for n in (52, 95):
            made[f"constant + {noise:g}, {n} rows"] = 1 + noise * rng.standard_normal((n, 12))
    return made


FAMILIES = families()


def queries(P):
    """Rows of any scale with half of the values missing, one with nothing, one with a single value, one of zeros."""
    rng = np.random.default_rng(2)
    Q = P[rng.integers(len(P), size=8)] * rng.uniform(0.5, 2, (8, 1))
    Q[rng.random(Q.shape) < 0.5] = np.nan
    Q[0] = np.nan
    Q[1], Q[2] = np.nan, np.where(np.arange(P.shape[1]) % 2, np.nan, 0.0)
    Q[1, P.shape[1] // 3] = 1.0
    return Q


@pytest.mark.parametrize("effort", EFFORTS)
@pytest.mark.parametrize("name", FAMILIES)
def test_degenerate_candidates(name, effort, tmp_path, streaming):
    P, Q = FAMILIES[name], queries(FAMILIES[name])
    path = as_npy(P, tmp_path)
    kept = sc.complete(P, Q, method="posterior", effort=effort)
    assert np.isfinite(kept.factor).all()
    assert kept.validity.ok, kept.validity
    by_path = sc.complete(path, Q, method="posterior", effort=effort)
    streaming()
    streams = [sc.complete(rows, Q, method="posterior", effort=effort, memory="20 KiB") for rows in (P, path)]
    for done in (by_path, *streams):
        np.testing.assert_allclose(np.asarray(done.factor), kept.factor, **CLOSE)
        np.testing.assert_allclose(done.diagonal, kept.diagonal, **CLOSE)
        assert done.validity.ok, done.validity


def test_a_single_value_where_candidates_are_constant_is_no_division_by_nothing():
    P = np.ones((45, 12))
    P[0, 1] = P[1, 3] = P[2, 4] = 0
    Q = np.full((1, 12), np.nan)
    Q[0, 4] = 1
    done = sc.complete(P, Q, method="posterior")
    # All that is known speaks for a row of ones.
    np.testing.assert_allclose(done.similarity("queries", "candidates")[0, 3:], 1, atol=0.05)


@pytest.mark.parametrize("size", [1e-200, 1e150, 1e300])
@pytest.mark.parametrize("n", [1, 60])
def test_a_query_far_out_of_the_candidates_scale(n, size):
    P = np.random.default_rng(0).random((n, 4)) + 0.1
    Q = np.array([[size, np.nan, np.nan, np.nan], [size, 2 * size, size, size]])
    u = sc.complete(P, Q, method="posterior", effort="fast").factor[n:]
    assert np.isfinite(u).all()
    assert u[0, 0] > 0
    np.testing.assert_allclose(u[1], np.array([1, 2, 1, 1]) / np.sqrt(7), rtol=1e-12)
