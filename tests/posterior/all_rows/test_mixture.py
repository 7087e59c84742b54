"""The stack of members beside the single model, where every row is incomplete."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.all_rows.combine import variance_weights
from simcomplete._posterior.all_rows.em import FLOOR, KAPPA, fit
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.all_rows.members import FeatureUnits, OverFeatures
from simcomplete._posterior.all_rows.mixture import RowsMixture
from simcomplete._posterior.all_rows.pair_errors import PairErrors
from simcomplete._posterior.all_rows.scored_pairs import RowMoments, ScoredPairs
from simcomplete._posterior.all_rows.tilt import estimate_tilt
from simcomplete._posterior.incomplete_rows import fit_all_rows
from simcomplete.errors import InputError


def drawn(n=120, d=16, rank=3, seed=0):
    rng = np.random.default_rng(seed)
    X = 0.5 + rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + 0.1 * rng.standard_normal((n, d))
    return X * rng.uniform(0.2, 3.0, d)


def with_gaps(X, share=0.4, seed=1):
    return np.where(np.random.default_rng(seed).random(X.shape) < share, np.nan, X)


@pytest.fixture(scope="module")
def fitted():
    X = with_gaps(drawn())
    return X, fit_all_rows(X, np.random.default_rng(0), "full")


def test_rows_lose_at_most_half_and_copies_lose_the_same():
    X = with_gaps(drawn())
    X[1] = X[0]
    lost = HiddenValues.of(X, None, np.random.default_rng(0))
    gone = ~np.isnan(X) & np.isnan(lost.X)
    assert 0 < gone.sum() <= 0.25 * (~np.isnan(X)).sum()
    assert (gone.sum(axis=1) <= 0.5 * (~np.isnan(X)).sum(axis=1)).all()
    np.testing.assert_array_equal(gone[0], gone[1])
    np.testing.assert_array_equal(gone[lost.scored], lost.lost)
    np.testing.assert_array_equal(lost.truth[lost.lost], X[lost.scored][lost.lost])
    assert not (0 in lost.scored and 1 in lost.scored)
    assert (~np.isnan(lost.X)).any(axis=0).all()
    assert HiddenValues.of(X[:5], None, np.random.default_rng(0)) is None


def test_a_model_over_features_is_the_m_step_of_the_transposed_table():
    Y = with_gaps(drawn())
    rows = OverFeatures.rows(Y, None)
    factors, _ = fit(rows, 3)
    member = OverFeatures.of(rows, None, factors)
    found = member.expect(Y, np.ones(len(Y)))
    known = ~np.isnan(Y)
    np.testing.assert_array_equal(found.mean[known], Y[known])
    assert not found.variance[known].any() and (found.variance[~known] > 0).all()
    # One row by least squares with the ridges, written out.
    z, i = member.scores, 7
    at = known[i]
    second = np.zeros((4, 4))
    for f in np.flatnonzero(at):
        own = np.zeros((4, 4))
        own[np.triu_indices(4)] = member.moments[f]
        second += own + np.triu(own, 1).T
    centre = Y[i, at].mean()
    theta = np.linalg.solve(second + np.diag([*factors.ridge, 1e-3]), z[at].T @ (Y[i, at] - centre))
    np.testing.assert_allclose(found.mean[i, ~at], centre + z[~at] @ theta, rtol=1e-8)
    # And its variance: noise drawn to the usual one, loadings and scores that are uncertain.
    A = second + np.diag([*factors.ridge, 1e-3])
    residual = np.sum((Y[i, at] - centre) ** 2) - (z[at].T @ (Y[i, at] - centre)) @ theta
    noise = max((residual + KAPPA * member.variance) / (at.sum() + KAPPA), FLOOR * member.variance)
    for f in np.flatnonzero(~at):
        own, uncertain = np.zeros((4, 4)), np.zeros((3, 3))
        own[np.triu_indices(4)] = member.moments[f]
        uncertain[np.triu_indices(3)] = member.spread[f]
        own, uncertain = (M + np.triu(M, 1).T for M in (own, uncertain))
        expected = noise * (1 + np.sum(np.linalg.inv(A) * own)) + theta[:3] @ uncertain @ theta[:3]
        assert found.variance[i, f] == pytest.approx(expected, rel=1e-8)
    alone = member.expect(Y[i : i + 1], np.ones(1))
    np.testing.assert_allclose(alone.mean[0], found.mean[i], rtol=1e-9)


def test_standard_units_go_there_and_back():
    Y = with_gaps(drawn())
    units = FeatureUnits.of(Y)
    rows = OverFeatures.rows(Y, units)
    member = OverFeatures.of(rows, units, fit(rows, 3)[0])
    other = 1000.0 * Y
    larger = FeatureUnits.of(other)
    again = OverFeatures.of(OverFeatures.rows(other, larger), larger, fit(OverFeatures.rows(other, larger), 3)[0])
    one = np.ones(len(Y))
    np.testing.assert_allclose(again.expect(other, one).mean, 1000 * member.expect(Y, one).mean, rtol=1e-6)


def test_variances_that_are_right_have_weight_one():
    rng = np.random.default_rng(0)
    variance = rng.uniform(0.5, 2.0, (200, 1)) * rng.uniform(0.5, 2.0, 30)
    squares = variance * rng.chisquare(1, variance.shape)
    found = variance_weights(np.stack([variance, np.ones_like(variance)]), squares, np.ones(variance.shape, dtype=bool))
    np.testing.assert_allclose(found, [1.0, 0.0], atol=0.15)


def test_values_missing_at_random_are_not_tilted():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((300, 20))
    missing = rng.random(x.shape) < rng.uniform(0.1, 0.9, 20) * rng.uniform(0.5, 1.0, (300, 1))
    assert estimate_tilt(x, missing, np.ones_like(missing)).beta == 0
    assert estimate_tilt(x, np.zeros_like(missing), np.ones_like(missing)) == (0.0, 0.0, False)


def test_the_best_weight_is_that_of_the_truth():
    X = drawn(60)
    lost = HiddenValues.of(with_gaps(X), None, np.random.default_rng(0))
    others = np.arange(60)
    pairs = ScoredPairs.of(lost, others, X, np.ones(16))
    right = RowMoments.of(lost.truth, np.zeros_like(lost.truth))
    wrong = RowMoments.of(np.roll(lost.truth, 1, axis=0), np.ones_like(lost.truth))
    assert pairs.best_weight(right, wrong) == 1.0
    assert pairs.best_weight(wrong, right) == 0.0
    np.testing.assert_allclose(pairs.gaps(pairs.products(right.mean), pairs.sums(right.square)), 0.0, atol=1e-12)
    errors = PairErrors.of(lost, others, X, wrong, np.zeros((16, 1)))
    assert (np.diff(errors.quantiles) >= 0).all() and errors.quantiles[900] > 0


def test_vectors_of_fitted_rows_are_those_found_and_values_are_kept(fitted):
    X, done = fitted
    assert isinstance(done, RowsMixture) and done.weight > 0
    np.testing.assert_allclose(done.vectors(X[5:9]).u, done.U[5:9], rtol=1e-9, atol=1e-12)
    found, known = done.values(X), ~np.isnan(X)
    np.testing.assert_array_equal(found.mean[known], X[known])
    truth = drawn()
    assert np.mean((found.mean - truth)[~known] ** 2) < 0.2 * np.mean((truth - truth.mean(axis=0))[~known] ** 2)
    assert (np.sum(done.U**2, axis=1) <= 1 + 1e-12).all()


def test_the_order_of_rows_does_not_matter(fitted):
    X, done = fitted
    turned = fit_all_rows(X[::-1], np.random.default_rng(0), "full")
    np.testing.assert_allclose(turned.U[::-1], done.U, atol=1e-6)


def test_values_missing_because_of_what_they_are_are_moved():
    truth = drawn(200)
    ranks = np.argsort(np.argsort(truth, axis=0), axis=0) / 199
    X = np.where(np.random.default_rng(2).random(truth.shape) < 1 / (1 + np.exp(8 * (ranks - 0.4))), np.nan, truth)
    X[np.isnan(X).all(axis=1), 0] = 1.0
    auto, random = (sc.complete(X, method="posterior", mechanism=how) for how in ("auto", "random"))
    assert auto.choice["z"] < -4 and auto.choice["beta"] < 0 and auto.choice["stack"] == 1.0
    assert random.choice["beta"] == 0.0
    unit = truth / np.linalg.norm(truth, axis=1, keepdims=True)
    errors = [np.sum((np.asarray(done.similarity()) - unit @ unit.T) ** 2) for done in (auto, random)]
    assert errors[0] < errors[1]


def test_restricted_to_known_features_is_the_overlap_similarity():
    X = with_gaps(drawn(60))
    done = sc.complete(X, method="posterior")
    S, low, high = done.restricted(level=0.9)
    np.testing.assert_allclose(S, sc.overlap_similarity(X), atol=1e-9)
    common = sc.overlap_counts(X) > 0
    assert not common.all()
    np.testing.assert_allclose((high - low)[common], 0.0, atol=1e-5)
    assert (low[~common] == -1).all() and (high[~common] == 1).all()


def test_restricted_to_all_features_is_the_similarity():
    X = with_gaps(drawn(60))
    done = sc.complete(X, method="posterior")
    every = np.ones(16, dtype=bool)
    S, low, high = done.restricted(every, level=0.9)
    np.testing.assert_allclose(S, done.similarity(), atol=1e-9)
    wanted = done.interval(0.9)
    np.testing.assert_allclose(low, wanted[0], atol=1e-6)
    np.testing.assert_allclose(high, wanted[1], atol=1e-6)
    per_row = np.broadcast_to(every, X.shape)
    found = done.restricted(per_row, rows=[3], cols=[4, 5], mechanism="auto")
    np.testing.assert_allclose(found, S[3:4, 4:6])
    as_lost = done.restricted(every, rows=[3], cols=[4, 5], mechanism="random")
    np.testing.assert_allclose(done.restricted(per_row, rows=[3], cols=[4, 5]), as_lost)  # what each row once had


def test_restricted_says_what_it_needs():
    X = with_gaps(drawn(60))
    with pytest.raises(InputError, match="only those of 'posterior' for samples"):
        sc.complete(X, method="overlap").restricted()
    done = sc.complete(X, method="posterior", effort="fast")
    with pytest.raises(InputError, match=r"booleans of shape \(16,\)"):
        done.restricted(np.ones(5, dtype=bool))
    with pytest.raises(InputError, match="metric='cosine'"):
        sc.complete(X, method="posterior", effort="fast", metric="pearson").restricted()
