"""Eigenpairs from products: how large the basis is, what it costs, and its parts by hand."""

import numpy as np
import pytest

from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.eigen import krylov
from simcomplete._spectral.eigen.krylov import largest_by_products
from simcomplete._spectral.penalties import NoPenalty, SpectralProblem
from simcomplete._spectral.solvers import steps
from simcomplete._spectral.solvers.steps import Backtracking, Point, Safe


class Counting(DenseSimilarity):
    """A dense S0 that remembers how many vectors it was multiplied with."""

    def matmul(self, X):
        self.__dict__.setdefault("widths", []).append(X.shape[1])
        return super().matmul(X)


@pytest.mark.parametrize(
    ("n", "rank", "block"),
    [(400, 10, 14), (2000, 10, 32), (850, 9, 32), (849, 9, 31), (30, 2, 1), (30, 3, None)],
)
def test_the_size_of_the_basis(n, rank, block, monkeypatch):
    """Blocks of 32 vectors, or as many as leave room for twelve of them and one that waits in half of S0."""
    asked = []
    monkeypatch.setattr(krylov, "require", lambda size, *_: asked.append(size))
    operator = Counting(np.diag(np.append([9.0, 8.0, 7.0], np.zeros(n - 3))))
    if block is None:
        assert largest_by_products(operator, rank) is None
        return
    w, _ = largest_by_products(operator, rank)
    np.testing.assert_allclose(w, [9, 8, 7, *[0] * rank][:rank], atol=1e-9)
    assert asked == [2 * n * (rank + 13 * block) * 8]
    assert set(operator.widths) == {block}


def test_a_look_after_every_third_product():
    """Three eigenvalues are found by the first product with 32 vectors; nobody looks before the third."""
    operator = Counting(np.diag(np.append([9.0, 8.0, 7.0], np.zeros(997))))
    largest_by_products(operator, 2)
    assert operator.widths == [32] * 3
    many = Counting(np.diag(np.append(np.arange(2000.0, 1800, -10), np.zeros(1980))))
    largest_by_products(many, 100)  # a basis of 100 is full enough after four products, and looked at after six
    assert many.widths == [32] * 6


@pytest.mark.parametrize("in_size", [False, True])
def test_eigenpairs_after_restarts(in_size):
    w = np.linspace(-1.2, 1, 120)
    Q = np.linalg.qr(np.random.default_rng(0).standard_normal((120, 120)))[0]
    S = (Q * w) @ Q.T
    operator = Counting((S + S.T) / 2)
    found, U = largest_by_products(operator, 4, in_size=in_size)
    expected = w[:4] if in_size else w[::-1][:4]
    np.testing.assert_allclose(found, expected, atol=1e-10)
    np.testing.assert_allclose(S @ U, U * found, atol=1e-9)
    np.testing.assert_allclose(U.T @ U, np.eye(4), atol=1e-10)
    block = (60 - 4) // 13
    assert sum(operator.widths) > 4 + 13 * block  # more than the basis holds
    assert sum(operator.widths) < 120 * 5  # and yet restarts lead on


def test_what_lies_in_a_span_is_taken_away():
    rng = np.random.default_rng(0)
    K = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    W = rng.standard_normal((9, 2)) + 1e8 * K[:, :2]
    left, H = krylov._apart(W, K)
    assert np.abs(K.T @ left).max() < 1e-14 * 1e8
    np.testing.assert_allclose(K @ H + left, W, rtol=1e-12)


@pytest.mark.parametrize("seed", range(8))
def test_directions_that_are_nothing_are_drawn_anew(seed):
    rng = np.random.default_rng(seed)
    K = np.linalg.qr(rng.standard_normal((9, 3)))[0]
    W = krylov._apart(rng.standard_normal((9, 3)), K)[0]
    W[:, 2] = 0.5 * W[:, 0]  # nothing of its own
    Q, R = krylov._next(W, K, 1e-10, np.random.default_rng(1))
    np.testing.assert_allclose(Q @ R, W, atol=1e-12)
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)
    assert np.abs(K.T @ Q).max() < 1e-12
    assert not R[2].any()
    Q, R = krylov._next(W, K, 1e3, np.random.default_rng(1))  # all are nothing beside this
    assert not R.any()
    np.testing.assert_allclose(Q.T @ Q, np.eye(3), atol=1e-12)


@pytest.mark.parametrize(("scale", "objective"), [(1e6, 1.0), (4.0, 1e6)])
def test_a_rise_within_rounding_is_no_reason_to_halve(scale, objective, monkeypatch):
    """Rounding is eight units in the last place of |S0|_F^2 or of the objective, whichever is larger."""
    here = SpectralProblem(DenseSimilarity(np.array([[np.sqrt(scale)]])), NoPenalty(), weight=0.0, rank=1)
    V = np.ones((1, 1))
    start = Point(V, objective, 0 * V, 0.0, trial=0.5)
    for times, halved in ((7.5, False), (8.5, True)):
        rise = iter([times * np.finfo(np.float64).eps * 1e6, 0.0])
        monkeypatch.setattr(
            steps,
            "evaluate_point",
            lambda problem, V, step, rise=rise: Point(V, objective + next(rise), 0 * V, 0.0, step),
        )
        after = Backtracking(here, Safe(here, np.sqrt(scale)))(start)
        assert after.step == (0.25 if halved else 0.5)
