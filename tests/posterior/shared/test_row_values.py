"""Missing values themselves: what every posterior model says of them, in the units of its rows."""

import numpy as np
import pytest

from simcomplete._posterior.all_rows.select import RowsCompletion
from simcomplete._posterior.all_rows.split import CompleteRowsModel
from simcomplete._posterior.candidates.covariance import Dense, LowRank, conditional_variances
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.incomplete_rows import fit_rows
from simcomplete._rows.table import HeldRows


def drawn(n=300, d=12, rank=2, noise=0.1, seed=0):
    rng = np.random.default_rng(seed)
    return 5.0 + rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))


def with_gaps(X, share, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


def a_model(kind, truth):
    rng = np.random.default_rng(2)
    if kind == "all rows":
        X = with_gaps(truth, 0.3)
        return fit_rows(X, rng, "full", "error"), X
    X = truth.copy()
    X[200:] = with_gaps(truth[200:], 0.4)
    if kind == "complete rows":
        return fit_rows(X, rng, "full", "error"), X
    masks = ~np.isnan(X[200:])
    return CandidateModel.fit(HeldRows(truth[:200]), masks, rng=rng, effort=kind), X


@pytest.mark.parametrize("kind", ["all rows", "complete rows", "full", "fast", "best"])
def test_values_are_found_again_in_the_units_of_the_rows(kind):
    truth = drawn()
    model, X = a_model(kind, truth)
    wanted = {"all rows": RowsCompletion, "complete rows": CompleteRowsModel}.get(kind, CandidateModel)
    assert isinstance(model, wanted)
    found, missing = model.values(X), np.isnan(X)
    np.testing.assert_array_equal(found.mean[~missing], X[~missing])
    assert not found.std[~missing].any()
    assert (found.std[missing] > 0).all()
    error = found.mean[missing] - truth[missing]
    assert np.sqrt(np.mean(error**2)) < 0.4  # the features' deviation is about 1.4
    assert 0.1 < np.mean(error**2) / np.mean(found.std[missing] ** 2) < 10  # models learn lengths, not this level


@pytest.mark.parametrize("kind", ["all rows", "full"])
def test_units_do_not_matter(kind):
    truth = drawn()
    model, X = a_model(kind, truth)
    larger, _ = a_model(kind, 1000 * truth)
    one, other = model.values(X), larger.values(1000 * X)
    np.testing.assert_allclose(other.mean, 1000 * one.mean, rtol=1e-6)
    np.testing.assert_allclose(other.std, 1000 * one.std, rtol=1e-5, atol=1e-9)


def test_rows_by_themselves_and_together_have_the_same_values():
    model, X = a_model("full", drawn())
    together = model.values(X)
    for row in (0, 250):
        alone = model.values(X[row : row + 1])
        np.testing.assert_allclose(alone.mean[0], together.mean[row], rtol=1e-9)
        np.testing.assert_allclose(alone.std[0], together.std[row], rtol=1e-9)
    assert model.values(X[:0]).mean.shape == (0, 12)


def test_nothing_is_known_of_a_feature_that_nobody_has():
    X = with_gaps(drawn(), 0.3)
    X[:, 3] = np.nan
    found = fit_rows(X, np.random.default_rng(0), "fast", "error").values(X)
    assert np.isnan(found.mean[:, 3]).all()
    assert np.isfinite(np.delete(found.mean, 3, axis=1)).all()


def test_conditional_variances_are_those_of_the_textbook():
    rng = np.random.default_rng(3)
    W, psi = rng.standard_normal((6, 2)), rng.random(6) + 0.1
    C = W @ W.T + np.diag(psi)
    for observed in ([True, False, True, False, False, False], [True] * 5 + [False]):
        o = np.array(observed)
        wanted = np.zeros(6)
        wanted[~o] = np.diag(C[np.ix_(~o, ~o)] - C[np.ix_(~o, o)] @ np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, ~o)]))
        np.testing.assert_allclose(conditional_variances(Dense(C), o[None])[0], wanted, atol=1e-12)
        np.testing.assert_allclose(conditional_variances(LowRank(W, psi), o[None])[0], wanted, atol=1e-12)
