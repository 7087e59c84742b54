"""The factor model of incomplete rows: its E step, its objective and what it recovers."""

from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import multivariate_normal
from sparse_rows import drawn, sparse

import simcomplete as sc
from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows import packing as factors_parts
from simcomplete._posterior.all_rows.em import Factors, fit
from simcomplete._posterior.all_rows.packing import IncompleteRows, from_triangles, to_triangles

# The E step


def test_flat_triangles_and_back():
    A = np.arange(32.0).reshape(2, 4, 4)
    A = A + A.transpose(0, 2, 1)
    assert np.array_equal(from_triangles(to_triangles(A), 4), A)


def test_the_e_step_is_gaussian_conditioning():
    X, model = drawn(12, 7, 2, 0.3)
    X = sparse(X)
    X[0], X[1] = np.nan, drawn(1, 7, 2, 0.3, seed=1)[0]
    C = model.loadings @ model.loadings.T + np.diag(model.noise)
    filled = model.complete(IncompleteRows.of(X))
    bound = 0.0
    for i, row in enumerate(X):
        o, u = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gap = row[o] - model.mean[o]
        K = C[np.ix_(u, o)] @ np.linalg.inv(C[np.ix_(o, o)])
        assert np.array_equal(filled.values[i, o], row[o])
        assert np.allclose(filled.values[i, u], model.mean[u] + K @ gap)
        assert np.allclose(filled.variance[i, u], np.diag(C)[u] - np.sum(K * C[np.ix_(u, o)], axis=1))
        assert not filled.variance[i, o].any()
        squared = gap @ np.linalg.solve(C[np.ix_(o, o)], gap)
        assert np.isclose(filled.misfit[i], (squared + 1) / (len(o) + 1))
        if len(o):
            bound += multivariate_normal(model.mean[o], C[np.ix_(o, o)]).logpdf(row[o])
    assert np.isclose(model.expect(IncompleteRows.of(X)).bound, bound)


def test_averaged_loadings_add_their_variance():
    """One factor, one value observed: E over w of exp(-z^2 (1 + w^2/psi)/2 + z w x/psi), by hand."""
    spread = np.array([[0.2, 0.0, 0.0], [0.1, 0.0, 0.0]])  # of (w, mean) over psi, flat: ww, wm, mm
    model = Factors(np.zeros(2), np.array([[1.0], [2.0]]), np.array([0.5, 0.5]), spread)
    filled = model.complete(IncompleteRows.of(np.array([[3.0, np.nan]])))
    G = 1 + 1 / 0.5 + 0.2
    z = 3 / 0.5 / G
    assert np.isclose(filled.values[0, 1], 2 * z)
    assert np.isclose(filled.variance[0, 1], 0.5 + 4 / G + 0.5 * 0.1 * (1 / G + z**2))


def test_masks_that_repeat_and_blocks_change_nothing(monkeypatch):
    X, model = drawn(40, 9, 3, 0.2)
    rows = IncompleteRows.of(np.where(np.isnan(sparse(X[:4]))[np.arange(40) % 4], np.nan, X))
    assert len(np.unique(rows.pattern)) == 4
    alone = IncompleteRows(rows.values, rows.observed, np.arange(40))
    together, apart, whole = model.complete(rows), model.complete(alone), model.sums(rows)
    assert all(np.allclose(a, b) for a, b in zip(together, apart, strict=True))
    monkeypatch.setattr(factors_parts, "BLOCK", 1)
    assert all(np.allclose(a, b) for a, b in zip(model.complete(rows), together, strict=True))
    assert all(np.allclose(a, b) for a, b in zip(model.sums(rows), whole, strict=True))


# EM


@pytest.mark.parametrize(("pooled", "averaged"), list(product([False, True], repeat=2)))
def test_the_objective_never_rises(pooled, averaged):
    X, _ = drawn(80, 12, 3, 0.3)
    _, run = fit(IncompleteRows.of(sparse(X)), 5, pooled=pooled, averaged=averaged, limits=Limits(60))
    values = [facts["objective"] for facts in run.history]
    assert len(values) == 61
    assert all(after <= before + 1e-12 for before, after in pairwise(values))
    assert values[-1] < values[0]


@pytest.mark.parametrize("averaged", [False, True])
def test_a_factor_model_is_recovered(averaged):
    X, true = drawn(1500, 12, 3, 0.3)
    Y = sparse(X)
    model, _ = fit(IncompleteRows.of(Y), 3, averaged=averaged, limits=Limits(100))
    C = model.loadings @ model.loadings.T + np.diag(model.noise)
    known = true.loadings @ true.loadings.T + np.diag(true.noise)
    assert np.linalg.norm(C - known) < 0.1 * np.linalg.norm(known)
    assert np.abs(model.mean - true.mean).max() < 0.2
    missing = np.isnan(Y)
    best, ours = (np.mean((m.complete(IncompleteRows.of(Y)).values - X)[missing] ** 2) for m in (true, model))
    assert ours < 1.05 * best


def test_pooled_noise_is_one_for_all():
    X, _ = drawn(300, 8, 2, 0.3)
    model, _ = fit(IncompleteRows.of(sparse(X)), 2, pooled=True)
    assert np.ptp(model.noise) == 0
    assert 0.2 < model.noise[0] < 0.5


def test_averaging_makes_a_rank_that_is_too_high_harmless():
    X, _ = drawn(120, 40, 2, 1.0)
    Y = sparse(X)
    missing = np.isnan(Y)

    def left(rank, averaged):
        model, _ = fit(IncompleteRows.of(Y), rank, averaged=averaged, limits=Limits(40))
        return np.mean((model.complete(IncompleteRows.of(Y)).values - X)[missing] ** 2)

    right = left(2, averaged=True)
    assert left(15, averaged=True) < 1.05 * right
    assert left(15, averaged=False) > 1.1 * right


def test_a_model_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e6")
    with pytest.raises(sc.errors.MemoryLimitError, match="factors of 50 x 30 values"):
        fit(IncompleteRows.of(np.ones((50, 30))), 3)
