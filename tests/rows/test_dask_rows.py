"""Rows of dask arrays: the same passes where the rows are, on threads and on a cluster of processes that may die."""

import os
import signal

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._rows import dask as dask_rows
from simcomplete._rows.budget import working_memory
from simcomplete._rows.files import open_rows
from simcomplete._rows.progress import one_bar
from simcomplete.errors import InputError

da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

RANK = 20


@pytest.fixture(scope="module")
def expected(imagelike):
    return sc.complete(*imagelike, method="smcnn", rank=RANK, route="full")


@pytest.fixture(scope="module")
def cluster():
    """Two processes of one thread. Port 0: the usual one may be taken by another cluster, which would be a warning."""
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as workers,
        distributed.Client(workers, set_as_default=False) as client,
    ):
        yield client


def close(factor, expected):
    return np.allclose(np.asarray(factor), expected.factor, rtol=0, atol=1e-8)


@settings(max_examples=10, deadline=None)
@given(cuts=st.lists(st.integers(1, 899), unique=True), columns=st.integers(1, 50))
def test_no_chunks_change_the_answer(cuts, columns, imagelike, expected):
    P, Q = imagelike
    chunks = tuple(np.diff([0, *sorted(cuts), 900]).tolist())
    rows = da.from_array(P, chunks=(chunks, columns))
    done = sc.complete(rows, Q, method="smcnn", rank=RANK)
    assert isinstance(done.factor, da.Array)
    assert done.certificate.verified
    assert close(done.factor, expected)


def test_sums_are_merged_in_the_order_of_rows():
    rows = open_rows(da.from_array(np.arange(100.0)[:, None], chunks=(3, 1)), "X", complete=True)
    found = rows.fold(lambda X, start: [(start, len(X))], lambda a, b: a + b, bytes_per_row=8, label="rows")
    assert found == [(k, min(3, 100 - k)) for k in range(0, 100, 3)]


def test_memory_is_told_where_the_work_is_done(monkeypatch):
    monkeypatch.setattr("simcomplete._rows.passes._threads", lambda: 1)  # who share it among them
    rows = open_rows(da.from_array(np.ones((100, 2)), chunks=(50, 2)), "X", complete=True)
    with working_memory(2000):
        found = rows.fold(lambda X, start: [len(X)], lambda a, b: a + b, bytes_per_row=100, label="rows")
    assert found == [20, 20, 10, 20, 20, 10]


def test_shapes_must_be_known(imagelike):
    rows = da.from_array(imagelike[0], chunks=300)
    with pytest.raises(InputError, match="compute_chunk_sizes"):
        sc.complete(rows[rows[:, 0] > 0], imagelike[1], method="smcnn")


@pytest.fixture
def impatient(monkeypatch):
    monkeypatch.setitem(one_bar.__wrapped__.__kwdefaults__, "patience", 0.0)
    monkeypatch.setattr("simcomplete._rows.progress.REDRAW", 0.0)


def test_progress_of_dask_is_part_of_the_bar(imagelike, impatient, capsys):
    rows = da.from_array(imagelike[0], chunks=100)
    sc.complete(rows, imagelike[1], method="smcnn", rank=5, progress=True)
    shown = capsys.readouterr()
    assert "\rdask #" in shown.err
    assert "Completed" not in shown.err
    assert shown.out == ""
    sc.complete(rows, imagelike[1], method="smcnn", rank=5, progress=False)
    assert capsys.readouterr() == ("", "")


def made_by(make, n, d, size):
    """A dask array whose chunks are made on the workers by ``make(start, stop)``."""

    def chunk(block_info=None):
        (start, stop), _ = block_info[None]["array-location"]
        return make(start, stop)

    chunks = tuple([size] * (n // size) + [n % size] * (n % size > 0))
    return da.map_blocks(chunk, chunks=(chunks, (d,)), dtype=np.float64)


def test_a_cluster_gives_the_same(imagelike, expected, cluster, tmp_path, impatient, capsys):
    P, Q = imagelike
    with cluster.as_current():
        done = sc.complete(da.from_array(P, chunks=(100, 50)), Q, method="smcnn", rank=RANK, progress=True)
        assert "\rdask " in capsys.readouterr().err
        assert isinstance(done.factor, da.Array)
        assert close(done.factor, expected)
        assert np.array_equal(done.search(k=5).ids, expected.search(k=5).ids)


def test_a_path_and_a_cluster(imagelike, expected, cluster, tmp_path):
    zarr = pytest.importorskip("zarr")
    P, Q = imagelike
    zarr.create_array(str(tmp_path / "rows.zarr"), shape=P.shape, dtype=P.dtype, chunks=(200, 50))[:] = P
    with cluster.as_current():
        done = sc.complete(tmp_path / "rows.zarr", Q, method="smcnn", rank=RANK, out=tmp_path / "factor.zarr")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["factor.zarr", "rows.zarr"]
    assert close(zarr.open_array(str(tmp_path / "factor.zarr"), mode="r")[:], expected)
    assert close(done.factor, expected)


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="no way to kill a process here")
@pytest.mark.parametrize("visit", [2, 3])  # the sample looks twice at these rows, then come the sums and the factor
def test_a_worker_that_dies(visit, imagelike, expected, cluster, tmp_path):
    P, Q = imagelike
    marks = str(tmp_path)

    def make(start, stop):
        if start == 500:
            seen = len(os.listdir(marks))  # noqa: PTH208 - made on the worker, of text alone
            with open(f"{marks}/{seen}", "w"):  # noqa: PTH123
                pass
            if seen == visit:
                os.kill(os.getpid(), signal.SIGKILL)
        return P[start:stop]

    rows = made_by(make, 900, 50, 100)
    with cluster.as_current():
        done = sc.complete(rows, Q, method="smcnn", rank=RANK, verify=False)
        factor = np.asarray(done.factor)
    assert len(list(tmp_path.iterdir())) > 4  # one died, and another made the rows again
    assert close(factor, expected)


def test_what_is_wrong_on_a_worker_is_said_here(imagelike, cluster, tmp_path):
    P, Q = np.array(imagelike[0]), imagelike[1]
    P[450, 3] = np.nan
    with cluster.as_current(), pytest.raises(InputError, match=r"candidates\[450, 3\] is nan; candidates must be"):
        sc.complete(da.from_array(P, chunks=(100, 50)), Q, method="smcnn", rank=5, out=tmp_path / "factor.zarr")
    assert not list(tmp_path.iterdir())


def test_nothing_large_goes_through_the_client(cluster):
    """Rows are made on the workers: neither they nor the factor may come here whole."""
    n, d, rank = 40_000, 20, 10

    def make(start, stop):
        return 1 + np.random.default_rng(start).random((stop - start, d))

    Q = np.where(np.random.default_rng(1).random((5, d)) < 0.5, np.nan, 1.5)
    brought = []
    with cluster.as_current():
        kept = dask_rows.computed
        try:
            dask_rows.computed = lambda value, progress=False: brought.append(kept(value, progress)) or brought[-1]
            done = sc.complete(made_by(make, n, d, 4000), Q, method="smcnn", rank=rank, verify=True)
            done.search(k=3)
        finally:
            dask_rows.computed = kept
    sizes = [sum(np.size(part) for part in found) if isinstance(found, tuple) else found.size for found in brought]
    assert max(sizes) <= 1024 * d
    assert done.certificate.residual < 1e-6
