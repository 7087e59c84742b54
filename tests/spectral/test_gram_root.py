"""The root of a Gram matrix: a Cholesky factor or eigenvectors, which agree where both can answer."""

import numpy as np
import pytest

from simcomplete._rows.xp import like, to_numpy
from simcomplete._spectral.eigen import reduced
from simcomplete._spectral.eigen.reduced import root_of_gram


def rows(n=60, m=12):
    rng = np.random.default_rng(0)
    return rng.standard_normal((n, m)) * 10.0 ** rng.integers(-3, 4, m)


def assert_root(H, root):
    """R^T R is the Gram matrix, and H x has the coordinates y in an orthonormal basis."""
    R = to_numpy(root.R)
    lengths = np.linalg.norm(H, axis=0)
    lengths[lengths == 0] = 1
    np.testing.assert_allclose((R / lengths).T @ (R / lengths), (H / lengths).T @ (H / lengths), atol=1e-12)
    y = np.random.default_rng(1).standard_normal((len(R), 3))
    x = to_numpy(root.solve(like(y, root.R)))
    np.testing.assert_allclose(R @ x, y, atol=1e-9)
    np.testing.assert_allclose((H @ x).T @ (H @ x), y.T @ y, rtol=1e-7)


def test_independent_columns_have_a_triangular_root(library):
    H = rows()
    root = root_of_gram(library.array(H.T @ H), len(H))
    assert np.abs(np.tril(to_numpy(root.R), -1)).max() == 0
    assert_root(H, root)


def test_columns_of_zeros_are_left_out(library):
    H = rows()
    H[:, [0, 5, 11]] = 0
    root = root_of_gram(library.array(H.T @ H), len(H))
    assert root.R.shape == (9, 12)
    assert np.abs(to_numpy(root.R)[:, [0, 5, 11]]).max() == 0
    assert_root(H, root)
    x = to_numpy(root.solve(library.array(np.ones((9, 1)))))
    assert np.abs(x[[0, 5, 11]]).max() == 0


@pytest.mark.parametrize(
    "change",
    [lambda H: H[:7], lambda H: np.concatenate([H, H[:, :1] + H[:, 1:2]], axis=1), lambda H: H * 0],
    ids=["few rows", "a dependent column", "nothing"],
)
def test_what_depends_is_left_to_eigenvectors(change):
    H = change(rows())
    root = root_of_gram(H.T @ H, len(H))
    assert len(root.R) == np.linalg.matrix_rank(H / np.maximum(np.linalg.norm(H, axis=0), 1e-300))
    if len(root.R):
        assert_root(H, root)


@pytest.mark.parametrize(("apart", "triangular"), [(1e-3, True), (1e-5, False)])
def test_nearly_dependent_columns_are_left_to_eigenvectors(apart, triangular):
    H = np.linalg.qr(np.random.default_rng(2).standard_normal((50, 4)))[0]
    H[:, 3] = H[:, 2] + apart * H[:, 3]  # the squared distance is apart^2, and the limit 1e-8
    root = root_of_gram(H.T @ H, len(H))
    assert (np.abs(np.tril(root.R, -1)).max() == 0) == triangular


def test_both_roots_give_the_same_vectors(monkeypatch):
    import simcomplete as sc

    rng = np.random.default_rng(3)
    P = np.maximum(rng.standard_normal((400, 20)) + 1, 0)
    Q = np.where(rng.random((15, 20)) < 0.6, np.nan, np.maximum(rng.standard_normal((15, 20)) + 1, 0))
    asked = {"method": "smcnn", "rank": 25, "route": "structured"}
    quick = sc.complete(P, Q, **asked)
    monkeypatch.setattr(reduced, "_by_cholesky", lambda G, n: None)
    slow = sc.complete(P, Q, **asked)
    np.testing.assert_allclose(quick.factor, slow.factor, atol=1e-11)
    assert quick.certificate.residual < 1e-10
