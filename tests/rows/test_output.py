"""A factor that is written to a file is there whole, or not at all."""

import errno
import os
import signal
import subprocess
import sys
import time
from contextlib import contextmanager

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows import sink as output
from simcomplete._rows.sink import Output
from simcomplete.errors import DiskFullError, InputError


@pytest.fixture(params=[".npy", ".zarr"])
def path(request, tmp_path):
    if request.param == ".zarr":
        pytest.importorskip("zarr")
    return tmp_path / f"factor{request.param}"


def read(path):
    return np.load(path) if path.suffix == ".npy" else pytest.importorskip("zarr").open_array(str(path), mode="r")[:]


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("verify", [True, False])
def test_the_file_holds_the_factor(imagelike, path, dtype, verify):
    P, Q = (X.astype(dtype) for X in imagelike)
    done = sc.complete(P, Q, method="smcnmf", rank=20, out=path, verify=verify)
    same = sc.complete(P, Q, method="smcnmf", rank=20)
    assert list(path.parent.iterdir()) == [path]
    assert read(path).dtype == done.factor.dtype == dtype
    assert np.array_equal(read(path), np.asarray(done.factor))
    assert np.allclose(read(path), same.factor, atol=1e-5 if dtype == np.float32 else 1e-10)
    assert np.array_equal(done.search(k=3).ids, same.search(k=3).ids)


@pytest.mark.parametrize("method", ["smc_f", "fmc"])
def test_routes_that_hold_their_factor_write_it_too(small, path, method):
    P, Q, _ = small
    given = {"route": "full", "rank": 5} if method == "smc_f" else {}
    done = sc.complete(P, Q, method=method, out=path, **given)
    assert np.array_equal(read(path), sc.complete(P, Q, method=method, **given).factor)
    assert np.array_equal(np.asarray(done.factor), read(path))


def test_methods_without_a_factor_say_so(small, path):
    with pytest.raises(InputError, match="gives no factor to write"):
        sc.complete(*small[:2], method="overlap", out=path)
    assert not list(path.parent.iterdir())


def test_names_that_cannot_be_used(small, tmp_path):
    P, Q, _ = small
    with pytest.raises(InputError, match=r"must end in \.npy or \.zarr"):
        sc.complete(P, Q, method="smcnn", out=tmp_path / "factor.csv")
    np.save(tmp_path / "factor.npy", P)
    with pytest.raises(InputError, match="exists already"):
        sc.complete(P, Q, method="smcnn", out=tmp_path / "factor.npy")
    assert np.array_equal(np.load(tmp_path / "factor.npy"), P)


def test_rows_come_in_order(tmp_path):
    with (
        pytest.raises(InputError, match="rows 1 to 2 of a file were to be written after row 0"),
        Output(tmp_path / "table.npy") as out,
    ):
        out.table((2, 2), np.float64)[slice(1, 2), :] = np.ones((1, 2))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("step", [1, 7, 30, 64, 100])
def test_blocks_need_not_be_chunks(path, step, monkeypatch):
    monkeypatch.setattr(output, "CHUNK", 30 * 3 * 8)
    X = np.random.default_rng(0).random((100, 3))
    with Output(path) as out:
        table = out.table(X.shape, X.dtype)
        for start in range(0, 100, step):
            table[start : start + step, :] = X[start : start + step]
    assert np.array_equal(read(path), X)


def test_a_second_table_takes_the_place_of_an_unfinished_one(path):
    with Output(path) as out:
        out.table((5, 2), np.float64)[slice(0, 3), :] = np.ones((3, 2))
        assert not out.written
        out.copy(np.full((4, 2), 7.0))
        assert out.written
    assert np.array_equal(read(path), np.full((4, 2), 7.0))


@contextmanager
def full_disk(size):
    """No file may grow beyond so many bytes."""
    resource = pytest.importorskip("resource")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [100, 60_000])  # of 940 rows * 20 numbers * 8 bytes = 150 400
def test_a_full_disk(imagelike, path, size):
    with pytest.raises(DiskFullError, match=r"factor.*: 146\.9 KiB needed and .* free in"), full_disk(size):
        sc.complete(*imagelike, method="smcnn", rank=20, out=path, memory="100 KB")
    assert not list(path.parent.iterdir())


def test_a_disk_that_is_full_only_when_asked_to_be_sure(imagelike, tmp_path, monkeypatch):
    def refuse(_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", refuse)
    with pytest.raises(OSError, match="No space left on device"):
        sc.complete(*imagelike, method="smcnn", rank=20, out=tmp_path / "factor.npy")
    assert not list(tmp_path.iterdir())


SLOW = """
import signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's background jobs begin with it ignored
import numpy as np, simcomplete as sc
class Slow:
    shape, dtype, passes = (4000, 8), np.dtype(float), 0
    def __getitem__(self, rows):
        Slow.passes += rows.start == 0
        if Slow.passes == 3 and rows.start:  # a sample of rows, one pass, and the middle of the second
            print("now", flush=True)
            time.sleep(30)
        return np.random.default_rng(rows.start).random((rows.stop - rows.start, 8))
sc.complete(Slow(), np.full((2, 8), 0.5), method="smcnn", rank=4, memory="100 KB", out=sys.argv[1], verify=False)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent differently there")
def test_ctrl_c_leaves_nothing(path):
    run = subprocess.Popen(
        [sys.executable, "-c", SLOW, str(path)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert run.stdout.readline() == "now\n"
    assert len(list(path.parent.iterdir())) == 1  # the draft, under another name
    assert not path.exists()
    time.sleep(0.1)
    run.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in run.communicate(timeout=20)[1]
    assert not list(path.parent.iterdir())
