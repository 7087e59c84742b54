"""What kfmc does: gradients, codes and fills by a second route, and data whose answer is known."""

from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._baselines.imputation import kfmc_offline, kfmc_online, lr
from simcomplete._baselines.imputation.kernels import BANDWIDTH_ROWS, Polynomial, Rbf, bandwidth
from simcomplete._method.iterate import Limits

# kfmc

KERNELS = [Rbf(1.7), Polynomial(0.5, 2), Polynomial(1.0, 3)]


def slope(f, A, i, j, h=1e-6):
    up, down = A.copy(), A.copy()
    up[i, j] += h
    down[i, j] -= h
    return (f(up) - f(down)) / (2 * h)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kfmc_gradients_are_those_of_the_objective(kernel):
    rng = np.random.default_rng(0)
    X, D, Z = rng.standard_normal((5, 3)), rng.standard_normal((4, 3)), rng.standard_normal((5, 4))
    settings = kfmc_online.KfmcSettings(kernel, alpha=0.3, beta=0.2)

    def objective(X, D):
        return kfmc_online.facts(kfmc_online.OnlineKernel(X, D, Z), settings)["objective"]

    # The programs leave out a factor: 1/width or the degree.
    by_x, by_d = (1 / kernel.width, 1.0) if isinstance(kernel, Rbf) else (kernel.degree, kernel.degree)
    by_sample = by_x * kernel.pull(X, D, kernel.base(X, D), Z)[0]
    by_atom = by_d * kernel.atoms(X, D, (kernel.base(X, D), kernel.base(D, D)), Z, 0.3, size=False)[0]
    for i in range(4):
        for j in range(3):
            assert by_sample[i, j] == pytest.approx(slope(lambda A: objective(A, D), X, i, j), rel=1e-5, abs=1e-7)
            assert by_atom[i, j] == pytest.approx(slope(lambda A: objective(X, A), D, i, j), rel=1e-5, abs=1e-7)


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
def test_kfmc_codes_minimise_the_objective(kernel):
    rng = np.random.default_rng(0)
    X, D = rng.standard_normal((5, 3)), rng.standard_normal((4, 3))
    settings = kfmc_online.KfmcSettings(kernel, beta=0.2)
    Z = kfmc_online.encoder(kernel.value(kernel.base(D, D)), 0.2)(kernel.value(kernel.base(X, D)))
    best = kfmc_online.facts(kfmc_online.OnlineKernel(X, D, Z), settings)["objective"]
    for _ in range(20):
        near = kfmc_online.OnlineKernel(X, D, Z + 1e-3 * rng.standard_normal(Z.shape))
        assert kfmc_online.facts(near, settings)["objective"] > best


def test_kfmc_codes_of_singular_atoms_are_finite_and_fit():
    K = np.full((3, 3), 1e25)  # three equal atoms of a huge kernel: beta is lost in rounding
    Z = kfmc_online.encoder(K, 1e-3)(np.full((2, 3), 1e25))
    np.testing.assert_allclose(K @ Z.T, 1e25)


def test_kfmc_fills_many_samples_as_it_fills_each(small):
    P, Q, _ = small
    X = np.nan_to_num(Q) / 50
    mask = ~np.isnan(Q)
    settings = kfmc_online.KfmcSettings(Rbf(bandwidth(P / 50, 3.0)), inner=40)
    filled, codes = kfmc_online.extend(X, mask, P[:15] / 50, settings)
    np.testing.assert_array_equal(filled[mask], X[mask])
    for i in range(len(X)):
        one, code = kfmc_online.extend(X[i : i + 1], mask[i : i + 1], P[:15] / 50, settings)
        np.testing.assert_allclose(filled[i], one[0], atol=1e-9)
        np.testing.assert_allclose(codes[i], code[0], atol=1e-7)


@pytest.mark.parametrize(("kernel", "relax"), [("rbf", 1.1), ("poly", 1.0)])
def test_kfmc_extend_learns_from_candidates_then_fills_queries(small, kernel, relax):
    """With fixed atoms the public program relaxes the step of the rbf kernel, not that of the polynomial."""
    P, Q, _ = small
    X, mask = np.concatenate([P, np.nan_to_num(Q)]), np.concatenate([~np.isnan(P), ~np.isnan(Q)])
    way = Rbf(bandwidth(P, 3.0)) if kernel == "rbf" else Polynomial(1.0, 2)
    settings = kfmc_online.KfmcSettings(way, alpha=0.0 if kernel == "rbf" else 0.01, inner=5)
    D = kfmc_online.online(P, mask[:60], P[:10], settings, Limits(2, progress=False)).state.D
    filled, _ = kfmc_online.extend(X[60:], mask[60:], D, replace(settings, relax=relax))
    given = {"atoms": P[:10], "start": "zero", "norm": None, "inner": 5, "bounded": False}
    done = sc.complete(P, Q, method="kfmc", variant="extend", kernel=kernel, progress=False, **given)
    want = sc.overlap_similarity(np.concatenate([P, np.clip(filled, 0, 16)]))
    np.testing.assert_allclose(done.similarity(), want, atol=1e-9)


@pytest.mark.parametrize("kernel", [Rbf(0.3), Polynomial(1.0, 2)], ids=repr)
def test_kfmc_offline_goes_downhill_and_converges(kernel, small):
    P, Q, _ = small
    X = np.concatenate([P, np.nan_to_num(Q)]) / 60
    mask = np.concatenate([~np.isnan(P), ~np.isnan(Q)])
    settings = kfmc_online.KfmcSettings(kernel, beta=1e-2, alpha=1e-2, tol=1e-3)
    run = kfmc_offline.offline(X, mask, P[:10] / 60, settings, Limits(500, progress=False))
    values = [facts["objective"] for facts in run.history[1:]]
    assert run.status.code == "converged" and run.facts["change"] < 1e-3
    assert values[-1] < 0.9 * values[0] and max(np.diff(values)) < 1e-3 * values[0]


def test_kfmc_curvature_that_cannot_be_inverted_gives_a_plain_step():
    G = np.array([[3.0, 4.0], [1.0, 2.0]])
    np.testing.assert_allclose(kfmc_offline._divided(G, np.diag([2.0, 0.0]), 1.0), G / 2)
    np.testing.assert_allclose(kfmc_offline._divided(G, np.diag([2.0, -4.0]), 0.5), G / [[1.0], [-2.0]])
    np.testing.assert_array_equal(kfmc_offline._divided(G, np.zeros((2, 2)), 1.0), 0 * G)


def test_kfmc_stands_still_where_atoms_are_out_of_reach():
    """K = 0 between sample and atoms: the public program divides 0 by 0."""
    X, mask = np.array([[0.0, 0.0]]), np.array([[True, False]])
    settings = kfmc_online.KfmcSettings(Rbf(1e-6))
    with np.errstate(all="raise", under="ignore"):
        filled, codes = kfmc_online.extend(X, mask, np.array([[5.0, 5.0]]), settings)
    np.testing.assert_array_equal(filled, X)
    np.testing.assert_array_equal(codes, [[0.0]])


def test_kfmc_follows_a_curve_that_no_line_does():
    """Points (t, t^2): the second value of a query is found to a tenth of what regression leaves."""
    t = np.linspace(-1, 1, 60)
    P = np.column_stack([t, t**2])
    Q = np.column_stack([np.array([-0.75, -0.35, 0.15, 0.55]), np.full(4, np.nan)])
    truth = Q[:, 0] ** 2
    mask = np.concatenate([np.ones((60, 2), bool), ~np.isnan(Q)])
    X = np.concatenate([P, np.column_stack([Q[:, 0], np.full(4, P[:, 1].mean())])])
    settings = kfmc_online.KfmcSettings(Rbf(bandwidth(P, 0.5)), inner=500, tol=1e-8)
    filled = kfmc_online.online(X, mask, P[::4], settings, Limits(2, progress=False)).state.X[60:, 1]
    line = lr.impute(Q, P.mean(axis=0), lr.by_feature(P))[:, 1]
    assert np.abs(filled - truth).max() < 0.1 * np.abs(line - truth).max()


def test_kfmc_bandwidth_of_many_rows_is_that_of_some():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2 * BANDWIDTH_ROWS + 1, 2))
    assert bandwidth(X, 1.0) == bandwidth(X[::3], 1.0)
    assert bandwidth(np.ones((3, 2)), 1.0) == 1.0


def test_kfmc_without_queries_learns_from_incomplete_rows(digits, hide):
    X = digits[:80]
    table = hide(X, 0.3)
    truth, S0 = sc.overlap_similarity(X), sc.overlap_similarity(table)
    done = sc.complete(table, method="kfmc", variant="offline", atoms=30, progress=False)
    other = sc.complete(table, method="mean")
    have, plain = (sc.metrics.relative_squared_error(d.similarity(), S0, truth) for d in (done, other))
    assert done.status.code == "converged" and have < plain / 2
