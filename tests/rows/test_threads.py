"""One thread of BLAS for as long as a call lasts, and afterwards as many as before."""

import threading

import pytest
from threadpoolctl import threadpool_info, threadpool_limits

from simcomplete._rows.budget import SMALL_MATRIX, OneThread, blas_on_one_thread, scipy_on_one_thread


def threads():
    """Threads of every BLAS that was there when one was first limited, by its file; others may be loaded since."""
    known = {pool["filepath"] for pool in blas_on_one_thread._blas.info()}
    return {pool["filepath"]: pool["num_threads"] for pool in threadpool_info() if pool["filepath"] in known}


@pytest.fixture(autouse=True)
def two_threads():
    with threadpool_limits(2, user_api="blas"):
        if set(threads().values()) != {2}:
            pytest.skip("BLAS has one thread here")
        yield


def test_numpys_and_scipys_are_among_them():
    loaded = [pool["filepath"] for pool in threadpool_info() if pool["user_api"] == "blas"]
    assert threads() and not {name for name in loaded if "numpy.libs" in name or "scipy.libs" in name} - set(threads())


def test_every_blas_has_one_thread_inside():
    with blas_on_one_thread():
        assert set(threads().values()) == {1}
    assert set(threads().values()) == {2}


def test_only_scipys_own():
    own = [name for name in threads() if "scipy.libs" in name]
    with scipy_on_one_thread():
        assert threads() == {name: 1 if name in own else 2 for name in threads()}
    assert set(threads().values()) == {2}


def test_large_matrices_keep_their_threads():
    with blas_on_one_thread(SMALL_MATRIX + 1):
        assert set(threads().values()) == {2}
    with blas_on_one_thread(SMALL_MATRIX):
        assert set(threads().values()) == {1}


def test_an_error_inside_restores_the_threads():
    with pytest.raises(ValueError, match="here"), blas_on_one_thread():
        raise ValueError("here")
    assert set(threads().values()) == {2}


def test_calls_that_overlap_leave_the_threads_as_they_were():
    one, entered, leave = OneThread(), threading.Event(), threading.Event()

    def other():
        with one():
            entered.set()
            leave.wait(10)

    worker = threading.Thread(target=other)
    with one():
        worker.start()
        entered.wait(10)
    leave.set()
    worker.join()
    assert set(threads().values()) == {2}
    with one(), one():
        assert set(threads().values()) == {1}
    assert set(threads().values()) == {2}
