"""The factor model against a plain re-computation: one row and one feature at a time, matrices not folded."""

from itertools import product

import numpy as np
import pytest

from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows import em, packing
from simcomplete._posterior.all_rows.em import Factors, IncompleteRows, fit


def incomplete(n=14, d=6, seed=0, share=0.35):
    rng = np.random.default_rng(seed)
    X = (
        rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) * 2
        + rng.uniform(1, 3, d)
        + rng.standard_normal((n, d))
    )
    X[rng.random(X.shape) < share] = np.nan
    X[1] = X[0]  # two rows that share a mask
    return X


def whole(flat, q):
    """A symmetric matrix from its upper triangle, row by row."""
    M = np.zeros((q, q))
    M[np.triu_indices(q)] = flat
    return M + np.triu(M, 1).T


class Plain:
    """(w_f, mean_f) of every feature, its noise, and the covariance of (w_f, mean_f) over the noise (or zeros)."""

    def __init__(self, W, mean, noise, spread=None):
        self.W, self.mean, self.noise = W, mean, noise
        self.d, self.r = W.shape
        self.spread = np.zeros((self.d, self.r + 1, self.r + 1)) if spread is None else spread

    def latent(self, x):
        """Expected factors of a row, their covariance, misfit and bound."""
        seen, r = np.flatnonzero(~np.isnan(x)), self.r
        G, side, misfit, known = np.eye(r), np.zeros(r), 0.0, 0.0
        for f in seen:
            gap, psi = x[f] - self.mean[f], self.noise[f]
            G = G + np.outer(self.W[f], self.W[f]) / psi + self.spread[f, :r, :r]
            side = side + self.W[f] * gap / psi - self.spread[f, :r, r]
            misfit += gap**2 / psi
            known += np.log(2 * np.pi * psi) + self.spread[f, r, r]
        C = np.linalg.inv(G)
        z = C @ side
        misfit -= side @ z
        return z, C, misfit, -0.5 * (known + misfit + np.log(np.linalg.det(G)))

    def complete(self, X):
        values, variance, misfit = X.copy(), np.zeros_like(X), []
        for i, x in enumerate(X):
            z, C, off, _ = self.latent(x)
            E = np.block([[C + np.outer(z, z), z[:, None]], [z[None], np.ones((1, 1))]])
            for f in np.flatnonzero(np.isnan(x)):
                values[i, f] = self.mean[f] + self.W[f] @ z
                loadings = self.noise[f] * np.trace(self.spread[f] @ E)
                variance[i, f] = self.noise[f] + self.W[f] @ C @ self.W[f] + loadings
            misfit.append((off + 1) / (np.sum(~np.isnan(x)) + 1))
        return values, variance, np.array(misfit)

    def sums(self, X):
        """Per feature: E[(z, 1)(z, 1)^T] and x (z, 1) over the rows that have it; and the bound."""
        q = self.r + 1
        A, b, bound = np.zeros((self.d, q, q)), np.zeros((self.d, q)), 0.0
        for x in X:
            z, C, _, own = self.latent(x)
            one = np.append(z, 1.0)
            E = np.outer(one, one)
            E[:-1, :-1] += C
            bound += own
            for f in np.flatnonzero(~np.isnan(x)):
                A[f] += E
                b[f] += x[f] * one
        return A, b, bound


def drawn_model(r=2, d=6, averaged=True, seed=1):
    """A model, and the same in plain form."""
    rng = np.random.default_rng(seed)
    W, mean, noise = rng.standard_normal((d, r)), rng.standard_normal(d), rng.uniform(0.3, 1.5, d)
    B = 0.3 * rng.standard_normal((d, r + 1, r + 1))
    spread = B @ B.transpose(0, 2, 1)
    flat = np.array([M[np.triu_indices(r + 1)] for M in spread])
    if not averaged:
        return Factors(mean, W, noise), Plain(W, mean, noise)
    return Factors(mean, W, noise, flat), Plain(W, mean, noise, spread)


@pytest.mark.parametrize("r", [1, 2, 3])
@pytest.mark.parametrize("averaged", [False, True])
@pytest.mark.parametrize("block", [2**25, 1])
def test_the_e_step_in_a_loop(r, averaged, block, monkeypatch):
    monkeypatch.setattr(packing, "BLOCK", block)
    X, (model, plain) = incomplete(), drawn_model(r, averaged=averaged)
    X[5] = np.nan
    filled = model.complete(IncompleteRows.of(X))
    for found, expected in zip(filled, plain.complete(X), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)
    latent = model.expect(IncompleteRows.of(X))
    moments = latent.moments()
    for i, x in enumerate(X):
        z, C, misfit, _ = plain.latent(x)
        np.testing.assert_allclose(latent.z[i], z, atol=1e-12)
        np.testing.assert_allclose(whole(latent.spread[i], r), C, atol=1e-12)
        one = np.append(z, 1.0)
        np.testing.assert_allclose(whole(moments[i], r + 1), np.outer(one, one) + np.pad(C, (0, 1)), atol=1e-12)
        assert latent.misfit[i] == pytest.approx(misfit, abs=1e-12)
    A, b, bound = plain.sums(X)
    sums = model.sums(IncompleteRows.of(X))
    np.testing.assert_allclose([whole(flat, r + 1) for flat in sums.moments], A, atol=1e-10)
    np.testing.assert_allclose(sums.cross, b, atol=1e-10)
    assert sums.bound == pytest.approx(bound)
    assert latent.bound == pytest.approx(bound)


def plain_fit(X, r, pooled, averaged, iterations):
    """EM as the formulas stand; returns mean, loadings, noise and the objective of every iteration."""
    n, d = X.shape
    seen = ~np.isnan(X)
    counts = seen.sum(axis=0)
    centre = np.nansum(X, axis=0) / np.maximum(counts, 1)
    Y = X - centre
    squares = np.nansum(Y**2, axis=0)
    variance = max(np.mean(squares / np.maximum(counts, 1)), 1e-12 * np.nanmax(np.abs(X)) ** 2)
    _, s, Vt = np.linalg.svd(np.nan_to_num(Y) / seen.mean(), full_matrices=False)
    noise = 0.3 * np.maximum(squares / np.maximum(counts, 1), 1e-3 * variance)
    noise = np.full(d, noise.mean()) if pooled else noise
    model, ridge = Plain(Vt[:r].T * s[:r] / np.sqrt(n), np.zeros(d), noise), np.full(r, 1e-3 * n / r)
    objectives = []
    A, b, _ = model.sums(Y)
    for _ in range(iterations + 1):
        both, inverse, systems = np.zeros((d, r + 1)), np.zeros_like(A), A + np.diag([*ridge, 1e-3])
        for f in range(d):
            inverse[f] = np.linalg.inv(systems[f])
            both[f] = inverse[f] @ b[f]
        residual = np.array([max(squares[f] - b[f] @ both[f], 0.0) for f in range(d)])
        if pooled:
            noise = np.full(d, (residual.sum() + 5 * variance) / (counts.sum() + 5))
        else:
            noise = (residual + 5 * variance) / (counts + 5)
        noise = np.maximum(noise, 1e-3 * variance)
        prior = -np.sum(2.5 * (variance / noise + np.log(noise))[: 1 if pooled else d])
        if averaged:
            own = sum(np.diag(M) for M in inverse)
            ridge = np.array([d / (np.sum(both[:, k] ** 2 / noise) + own[k]) for k in range(r)])
        weights = np.diag([*ridge, 1e-3])
        for f in range(d):
            prior -= 0.5 * both[f] @ weights @ both[f] / noise[f]
            if averaged:  # Kullback-Leibler divergence of two Gaussians, less the term above
                logs = np.log(np.linalg.det(systems[f])) - np.log(np.linalg.det(weights))
                prior -= 0.5 * (np.trace(weights @ inverse[f]) - (r + 1) + logs)
        model = Plain(both[:, :r], both[:, r], noise, inverse if averaged else None)
        A, b, bound = model.sums(Y)
        objectives.append(-(bound + prior) / seen.sum())
    return model.mean + centre, model.W, model.noise, objectives


@pytest.mark.parametrize(("pooled", "averaged"), list(product([False, True], repeat=2)))
@pytest.mark.parametrize(("r", "iterations"), [(2, 3), (1, None)])
def test_em_in_a_loop(pooled, averaged, r, iterations):
    X = incomplete(seed=3)
    X[1:, 5] = np.nan  # seen once: no variance of its own
    X[0, 5] = 2.0
    limits = None if iterations is None else Limits(iterations)
    model, run = fit(IncompleteRows.of(X), r, pooled=pooled, averaged=averaged, limits=limits)
    mean, W, noise, objectives = plain_fit(X, r, pooled, averaged, iterations or 25)
    np.testing.assert_allclose([facts["objective"] for facts in run.history], objectives, rtol=1e-7)
    np.testing.assert_allclose(model.mean, mean, rtol=1e-6)
    np.testing.assert_allclose(model.noise, noise, rtol=1e-6)
    np.testing.assert_allclose(model.loadings @ model.loadings.T, W @ W.T, rtol=1e-5, atol=1e-7)
    assert run.history[-1]["noise"] == pytest.approx(model.noise.mean())


def test_one_noise_for_each_feature_and_averaged_loadings_unless_told():
    X = incomplete(seed=4)
    told, _ = fit(IncompleteRows.of(X), 2, pooled=False, averaged=True)
    model, _ = fit(IncompleteRows.of(X), 2)
    np.testing.assert_array_equal(model.noise, told.noise)
    assert model.spread is not None


def test_features_without_variance_have_the_least_noise():
    X = np.tile([3.0, 0.0, -2.0, 1.0], (8, 1))
    X[:, 3] += np.arange(8)
    X[0, 0] = np.nan
    X[:, 1] = np.nan  # seen nowhere: no variance, mean 0
    model, _ = fit(IncompleteRows.of(X), 1)
    _, _, noise, _ = plain_fit(X, 1, False, True, 25)
    np.testing.assert_allclose(model.noise, noise, rtol=1e-6)
    constant, _ = fit(IncompleteRows.of(np.full((6, 3), 1e3)), 1, limits=Limits(1))
    assert constant.mean == pytest.approx([1e3] * 3)
    # No variance at all: that of the smallest parts of the values, 1e-12 of their square.
    assert constant.noise == pytest.approx([5 * 1e-6 / 11] * 3)
    nothing, _ = fit(IncompleteRows.of(np.zeros((6, 3))), 1, limits=Limits(1))
    assert nothing.noise == pytest.approx([5 * 1e-12 / 11] * 3)


def test_noise_stays_above_its_floor():
    """A feature that many rows have without any residual: its noise is a thousandth of the mean variance."""
    rows = IncompleteRows.of(np.ones((20000, 2)))
    problem = em.FactorProblem(rows, np.zeros(2), np.full(2, 20000.0), np.zeros(2), 4.0, False, False)
    assert problem._noise(np.array([0.0, 20005 * 3.0 - 20])).tolist() == [pytest.approx(0.004), pytest.approx(3.0)]
    pooled = em.FactorProblem(rows, np.zeros(2), np.full(2, 20000.0), np.zeros(2), 4.0, True, False)
    assert pooled._noise(np.zeros(2)).tolist() == [pytest.approx(0.004)] * 2
    assert pooled._noise(np.full(2, 1e5)).tolist() == [pytest.approx((2e5 + 20) / 40005)] * 2


def test_memory_that_a_fit_asks_for(monkeypatch):
    """4 tables of the rows, 2 systems of r + 1 unknowns and 3 of its triangles for each feature, and two blocks."""
    asked = []
    monkeypatch.setattr(em, "require", lambda size, *_: asked.append(size))
    fit(IncompleteRows.of(incomplete()), 2, limits=Limits(1))
    assert asked == [8 * (4 * 14 * 6 + 2 * 6 * 9 + 3 * 6 * 6) + 2 * 2**25]
    model, _ = drawn_model(3)
    assert model.row_bytes == 8 * (5 * 16 + 4 * 6)
    assert model.rank == 3
