"""done.factor can be used as an array, wherever its rows are."""

import numpy as np
import pytest

import simcomplete as sc


def sliced(X):
    class Sliced:
        shape, dtype = X.shape, X.dtype

        def __getitem__(self, rows):
            return X[rows]

    return Sliced()


def posterior_in_memory(P, Q, room):
    return sc.complete(P, Q, method="posterior", effort="fast")


def posterior_by_block(P, Q, room):
    return sc.complete(sliced(P), Q, method="posterior", effort="fast")


def posterior_of_dask(P, Q, room):
    da = pytest.importorskip("dask.array")
    return sc.complete(da.from_array(P, chunks=(300, 50)), Q, method="posterior", effort="fast")


def smcnn_of_dask(P, Q, room):
    da = pytest.importorskip("dask.array")
    done = sc.complete(da.from_array(P, chunks=(300, 50)), Q, method="smcnn", rank=10)
    assert isinstance(done.factor, da.Array)
    return done


def to_npy(P, Q, room):
    return sc.complete(P, Q, method="smcnn", rank=10, out=room / "factor.npy")


def to_zarr(P, Q, room):
    pytest.importorskip("zarr")
    return sc.complete(P, Q, method="smcnn", rank=10, out=room / "factor.zarr")


def loaded(P, Q, room):
    sc.complete(P, Q, method="smcnn", rank=10).save(room / "done")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("simcomplete._result.archive.READ_BELOW_BYTES", 0)
        return sc.load(room / "done")


KINDS = [
    posterior_in_memory,
    posterior_by_block,
    posterior_of_dask,
    smcnn_of_dask,
    to_npy,
    to_zarr,
    loaded,
]


def assert_array_like(F, rtol=1e-10):
    """Everything that users do with a factor, against the same with an array in memory."""
    A = np.asarray(F)
    n, r = A.shape
    assert F.shape == (n, r)
    assert F.ndim == 2
    rng = np.random.default_rng(0)
    x, y, Y = rng.random(r), rng.random(n), rng.random((n, 3))
    for ours, expected in [
        (F @ x, A @ x),
        (y @ F, y @ A),
        (Y.T @ F, Y.T @ A),
        (F.T @ Y, A.T @ Y),
        (F.T @ F, A.T @ A),
        (x @ F.T, x @ A.T),
        (F.mean(), A.mean()),
        (F.mean(axis=0), A.mean(axis=0)),
        (np.mean(F), A.mean()),
        (np.mean(F, axis=1), A.mean(axis=1)),
        (np.sum(F, axis=0), A.sum(axis=0)),
        (F.sum(axis=1), A.sum(axis=1)),
        (F[2:5], A[2:5]),
        (F[-1], A[-1]),
        (2 * F[:3] + 1, 2 * A[:3] + 1),
        ((F**2)[:4], A[:4] ** 2),
        (np.abs(F).max(), np.abs(A).max()),
        (F.T[:2], A.T[:2]),
        (F.T[0] * 2, A[:, 0] * 2),
        (np.linalg.norm(F), np.linalg.norm(A)),
    ]:
        np.testing.assert_allclose(np.asarray(ours), expected, rtol=rtol, atol=1e-10)
    assert F.T.shape == (r, n)
    assert np.asarray(F.T).shape == (r, n)
    assert F.size == n * r
    assert len(list(F[:7])) == 7


@pytest.mark.parametrize("make", KINDS)
def test_factors_of_every_kind(make, imagelike, tmp_path):
    assert_array_like(make(*imagelike, tmp_path).factor)


@pytest.mark.parametrize("make", [posterior_by_block, to_zarr, loaded])
def test_a_row_that_is_not_there(make, imagelike, tmp_path):
    F = make(*imagelike, tmp_path).factor
    with pytest.raises(IndexError, match="940"):
        F[940]
    assert sum(1 for _ in F) == 940


def test_a_large_one_in_memory():
    rng = np.random.default_rng(0)
    P, Q = rng.random((66_000, 64), dtype=np.float32), rng.random((8, 64), dtype=np.float32)
    assert P.size > 2**22
    Q[rng.random(Q.shape) < 0.5] = np.nan
    done = sc.complete(P, Q, method="posterior", effort="fast")
    assert_array_like(done.factor, rtol=1e-3)
    assert done.factor.dtype == np.float32
    assert done.search(2).scores.dtype == np.float32


def test_products_from_the_left_read_blocks(imagelike, monkeypatch):
    monkeypatch.setattr("simcomplete._posterior.candidates.fitting.STREAM_ABOVE_VALUES", 1000)
    done = posterior_by_block(*imagelike, None)
    monkeypatch.setattr(type(done.factor), "whole", lambda self: pytest.fail("all rows were read at once"))
    F = done.factor
    assert (np.ones((2, 940)) @ F).shape == (2, 50)
    assert (np.ones((2, 50)) @ F.T).shape == (2, 940)
    assert (F.T @ F).shape == (50, 50)
    assert np.isfinite(np.mean(F))
