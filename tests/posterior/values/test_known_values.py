"""The model of values by hand: units, weights, hidden values, levels, joint draws, conditional means."""

import numpy as np
import pytest

from simcomplete._posterior.candidates import moments
from simcomplete._posterior.candidates.covariance import Dense
from simcomplete._posterior.candidates.moments import Statistics, WideStatistics
from simcomplete._posterior.values import holdout as holdout_module
from simcomplete._posterior.values import members as members_module
from simcomplete._posterior.values import model as model_module
from simcomplete._posterior.values.draws import JointDraws
from simcomplete._posterior.values.holdout import ValueHoldout, shrunk_level
from simcomplete._posterior.values.members import CandidateMembers, Expectations
from simcomplete._posterior.values.model import StandardUnits, ValueModel, masks_to_expect
from simcomplete._posterior.values.stacking import stacked_weights

NAN = np.nan


def correlated(n, d=5, seed=0):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, 2)) @ rng.standard_normal((2, d)) + 0.3 * rng.standard_normal((n, d)) + 1.0


def test_units_of_observed_values():
    X = np.array([[1.0, 5.0, 1e300], [3.0, 5.0, 3e300], [NAN, NAN, NAN], [5.0, 5.0, NAN]])
    units = StandardUnits.of(X)
    np.testing.assert_allclose(units.mean, [3.0, 5.0, 2e300])
    np.testing.assert_allclose(units.deviation, [np.sqrt(8 / 3), 1.0, 1e300])
    np.testing.assert_allclose(units.to(X)[:, 2], [-1.0, 1.0, NAN, NAN])
    np.testing.assert_allclose(units.back(units.to(X)), X)
    # Squares of these would be 0, and they are not constant.
    np.testing.assert_allclose(StandardUnits.of(X[:, :1] * 1e-200).deviation, [np.sqrt(8 / 3) * 1e-200])
    # Half of the smallest number is 0, and no deviation to divide by.
    assert StandardUnits.of(np.array([[0.0], [5e-324]])).deviation == [1.0]


def test_weights_by_the_normal_equations():
    """Without the bound: (A A' + 50 diag(mean squares)) w = A t + 50 (mean square of the best) e_best."""
    rng = np.random.default_rng(3)
    truth = rng.standard_normal(300)
    A = np.stack([truth + 0.5 * rng.standard_normal(300), 2 * truth + rng.standard_normal(300)])
    size = 50 * np.mean(A**2, axis=1)
    w = np.linalg.solve(A @ A.T + np.diag(size), A @ truth + size * [1, 0])
    assert (w > 0).all()
    for unit in (1.0, 1e-9, 1e9):
        np.testing.assert_allclose(stacked_weights(unit * A, unit * truth), w, rtol=1e-9)
    assert stacked_weights(np.stack([truth, -3 * truth]), truth)[1] == pytest.approx(0.0, abs=1e-12)


def test_hidden_values_are_those_that_were_there():
    X = correlated(80)
    X[40:, :2] = NAN
    masks = np.array([[True, False, False, True, True]])
    found = ValueHoldout.of(X, masks, np.random.default_rng(0))
    hidden = ~np.isnan(found.truth)
    assert len(found.held_out) == 20 and len(set(found.held_out)) == 20
    assert (found.held_out < 40).all()  # complete rows first
    np.testing.assert_array_equal(hidden, np.tile(~masks[0], (20, 1)))
    np.testing.assert_array_equal(found.truth[hidden], X[found.held_out][hidden])
    assert np.isnan(found.rows[found.held_out][hidden]).all()
    again = found.rows.copy()
    again[found.held_out] = np.where(hidden, found.truth, again[found.held_out])
    np.testing.assert_array_equal(again, X)


def test_incomplete_rows_lose_half_at_most_and_complete_ones_keep_one_value():
    X = correlated(60, d=8)
    X[:, 0] = NAN
    found = ValueHoldout.of(X, np.zeros((1, 8), dtype=bool), np.random.default_rng(0))
    np.testing.assert_array_equal((~np.isnan(found.truth)).sum(axis=1), 3)  # of seven
    whole = ValueHoldout.of(correlated(60, d=8), np.zeros((1, 8), dtype=bool), np.random.default_rng(0))
    np.testing.assert_array_equal((~np.isnan(whole.truth)).sum(axis=1), 7)


def test_too_little_to_hide():
    few = ValueHoldout.of(correlated(19), np.zeros((1, 5), dtype=bool), np.random.default_rng(0))
    assert few is None  # a quarter of the rows is under five
    assert ValueHoldout.of(correlated(20), np.zeros((1, 5), dtype=bool), np.random.default_rng(0)) is None  # 20 values
    assert ValueHoldout.of(correlated(32), np.zeros((1, 5), dtype=bool), np.random.default_rng(0)) is not None  # 32
    assert ValueHoldout.of(correlated(400), np.ones((1, 5), dtype=bool), np.random.default_rng(0)) is None


def test_a_feature_that_nobody_has_any_more_comes_back():
    X = correlated(60)
    X[15:, 4] = NAN  # fifteen rows have it, all complete: they come first
    found = ValueHoldout.of(X, np.array([[True, True, False, False, False]]), np.random.default_rng(0))
    assert np.isnan(found.truth[:, 4]).all()
    np.testing.assert_array_equal(found.rows[:15, 4], X[:15, 4])
    assert not np.isnan(found.truth[:, 2]).any()


def test_of_many_rows_some_are_held_out(monkeypatch):
    monkeypatch.setattr(holdout_module, "ROWS", 50)
    monkeypatch.setattr(holdout_module, "MAX_HELD_OUT", 10)
    X = correlated(200)
    found = ValueHoldout.of(X, np.array([[True, False, False, False, True]]), np.random.default_rng(0))
    assert found.rows.shape == (50, 5) and len(found.held_out) == 10
    kept = found.rows[np.setdiff1d(np.arange(50), found.held_out)]
    assert all((row == X).all(axis=1).any() for row in kept)


class Told:
    """Two members that say the same of every row."""

    count = 2

    def __init__(self, mean, variance, calibrated=False):
        self.calibrated = calibrated
        self.found = Expectations(np.stack([mean, np.zeros_like(mean)]), variance)

    def expect(self, Z):
        return self.found


def test_levels_stretch_deviations_to_the_errors():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((400, 2))
    truth[:, 1] = np.where(np.arange(400) < 15, truth[:, 1], NAN)
    mean, variance = np.nan_to_num(truth) + [[0.2, 0.4]] * rng.choice([-1, 1], (400, 2)), np.full((400, 2), 0.01)
    found = ValueHoldout(np.zeros((400, 2)), np.arange(400), truth)
    weights, level = found.learn(Told(mean, variance))
    hidden = ~np.isnan(truth)
    w = stacked_weights(np.stack([mean, 0 * mean])[:, hidden], truth[hidden])
    np.testing.assert_allclose(weights, w)
    ratios = np.abs(truth - w[0] * mean) / 0.1
    own = [np.quantile(ratios[hidden[:, f], f], 0.9) / 1.6448536269514722 for f in range(2)]
    common = np.quantile(ratios[hidden], 0.9) / 1.6448536269514722
    expected = own[0] ** (400 / 430) * common ** (30 / 430), own[1] ** (15 / 45) * common ** (30 / 45)
    np.testing.assert_allclose(level, expected)
    wide = [found.learn(Told(mean, 9 * variance, calibrated))[1] for calibrated in (False, True)]
    np.testing.assert_allclose(wide[0], level / 3)
    np.testing.assert_allclose(wide[1], wide[0] / np.sqrt(common / 3))  # narrower than they were by half of it
    np.testing.assert_allclose(found.learn(Told(mean, variance, True))[1], level)  # wider by all of it


def test_levels_have_bounds_and_one_member_needs_no_weights():
    assert shrunk_level(np.full(1000, 1e9), 20.0) == pytest.approx(20.0)
    assert shrunk_level(np.zeros(1000), 0.05) == pytest.approx(0.05)
    truth = np.ones((40, 1))

    class Alone(Told):
        def expect(self, Z):
            return Expectations(np.zeros((1, 40, 1)), np.zeros((40, 1)))

    weights, level = ValueHoldout(truth, np.arange(40), truth).learn(Alone(truth, truth))
    np.testing.assert_array_equal(weights, [1.0])
    np.testing.assert_allclose(level, 20.0)


def test_masks_are_those_of_incomplete_rows_or_random_ones():
    X = correlated(12)
    X[3, 1] = NAN
    np.testing.assert_array_equal(masks_to_expect(X, np.random.default_rng(0)), [[True, False, True, True, True]])
    made = masks_to_expect(correlated(5, d=400), np.random.default_rng(0))
    rates = 1 - made.mean(axis=1)
    assert made.shape == (200, 400)
    assert 0.05 < rates.min() < 0.15 and 0.9 < rates.max() < 1 and abs(rates.mean() - 0.525) < 0.06


def test_draws_have_the_covariance_of_what_is_missing_given_the_rest():
    rng = np.random.default_rng(0)
    A = rng.standard_normal((4, 4))
    C = A @ A.T + np.eye(4)
    observed = np.array([True, False, True, False])
    drawn = JointDraws(np.zeros(4), Dense(C)).deviations(np.tile(observed, (40000, 1)), rng)
    assert not drawn[:, observed].any()
    u, o = np.ix_([1, 3], [1, 3]), np.ix_([0, 2], [0, 2])
    given = C[u] - C[np.ix_([1, 3], [0, 2])] @ np.linalg.solve(C[o], C[np.ix_([0, 2], [1, 3])])
    np.testing.assert_allclose(
        np.cov(drawn[:, ~observed].T)[0, 1], given[0, 1] / np.sqrt(given[0, 0] * given[1, 1]), atol=0.02
    )
    np.testing.assert_allclose(drawn.std(axis=0)[~observed], 1.0, atol=0.02)


def test_the_gaussian_of_incomplete_rows_is_that_of_the_complete_ones():
    X = correlated(3000, seed=4)
    Z = np.where(np.random.default_rng(1).random(X.shape) < 0.3, NAN, X)
    model = ValueModel.fit(Z[:600], np.random.default_rng(0), "fast")
    learnt = JointDraws.learn(Z, model.values(Z), np.random.default_rng(0))
    plain = JointDraws.of(X)
    np.testing.assert_allclose(learnt.mean, plain.mean, atol=0.1)
    np.testing.assert_allclose(learnt.covariance.C, plain.covariance.C, atol=0.25)
    assert np.linalg.norm(learnt.covariance.C - plain.covariance.C) < 0.1 * np.linalg.norm(plain.covariance.C)


def test_samples_are_about_the_expected_values(monkeypatch):
    X = correlated(300)
    X[::3, 1] = NAN
    model = ValueModel.fit(X, np.random.default_rng(0))
    rows = X[:9]
    found, drawn = model.values(rows), model.sample(rows, 2000, np.random.default_rng(1))
    np.testing.assert_array_equal(drawn[:, ~np.isnan(rows)], np.tile(rows[~np.isnan(rows)], (2000, 1)))
    np.testing.assert_allclose(drawn.mean(axis=0)[0, 1], found.mean[0, 1], atol=0.1 * found.std[0, 1])
    np.testing.assert_allclose(drawn.std(axis=0)[0, 1], found.std[0, 1], rtol=0.1)
    assert not found.std[~np.isnan(rows)].any()
    monkeypatch.setattr(model_module, "KEPT_ROWS", 20)
    assert ValueModel.fit(X, np.random.default_rng(0)).rows.shape == (20, 5)


def test_members_are_conditional_means_of_several_shrinkages(monkeypatch):
    """Those without neighbours: mean + C_uo C_oo^-1 (x - mean), C shrunk halfway to its diagonal and its mean."""
    P = correlated(200)
    Z = correlated(7, seed=1)
    Z[:, 2:4] = NAN
    Z[6] = correlated(1, seed=2)
    monkeypatch.setattr(members_module, "BATCH", 4)
    members = CandidateMembers.fit(P)
    found = members.expect(Z)
    assert len(found.means) == members.count == 16
    np.testing.assert_array_equal(found.means[:, 6], np.tile(Z[6], (16, 1)))
    assert not found.variance[6].any()
    o, u = [0, 1, 4], [2, 3]
    S, mean = np.cov(P.T, bias=True), P.mean(axis=0)

    def shrunk(delta):
        return (1 - delta) * S + delta * np.diag(np.diag(S) / 2 + np.trace(S) / 10)

    for k, delta in enumerate((0.3, 0.1, 0.03, 0.005)):
        C = shrunk(delta)
        expected = mean[u] + (Z[:6][:, o] - mean[o]) @ np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, u)])
        clipped = np.clip(expected, P.min(axis=0)[u], P.max(axis=0)[u])
        np.testing.assert_allclose(found.means[3 * k, :6][:, u], clipped, rtol=1e-8)
    C = shrunk(0.1)
    given = C[np.ix_(u, u)] - C[np.ix_(u, o)] @ np.linalg.solve(C[np.ix_(o, o)], C[np.ix_(o, u)])
    np.testing.assert_allclose(found.variance[:6][:, u], np.tile(np.diag(given), (6, 1)), rtol=1e-8)


def test_members_with_neighbours_have_five_and_twenty_of_them(monkeypatch):
    """The effective number of neighbours that every member smooths over, and the shrinkage it conditions with."""
    asked, deltas = [], []
    weights, means = members_module.smoothing_weights, members_module.ConditionalMeans

    def noted(space, queries, delta):
        deltas.append((space.name, delta))
        return means(space, queries, delta)

    monkeypatch.setattr(members_module, "smoothing_weights", lambda near, k: asked.append(k) or weights(near, k))
    monkeypatch.setattr(members_module, "ConditionalMeans", noted)
    Z = correlated(3, seed=1)
    Z[:, 2] = NAN
    CandidateMembers.fit(correlated(200)).expect(Z)
    assert asked == [5.0, 20.0]
    assert deltas == [("raw", 0.3), ("raw", 0.1), ("raw", 0.03), ("raw", 0.005), ("unit", 0.1)]


def test_another_model_than_the_rehearsed_one_has_all_members_alike(monkeypatch):
    X = correlated(200)
    X[::2, 1] = np.nan
    counts = iter([1, 2])

    class Elected:
        calibrated = False

        def __init__(self):
            self.count = next(counts)

        def expect(self, Z):
            return Expectations(np.stack([np.nan_to_num(Z) + k for k in range(self.count)]), np.ones(Z.shape))

    monkeypatch.setattr(model_module, "fit_members", lambda *_: Elected())
    model = ValueModel.fit(X, np.random.default_rng(0))
    np.testing.assert_array_equal(model.weights, [0.5, 0.5])
    found = model.values(X[:1])
    assert found.mean[0, 1] == pytest.approx(0.5 * model.units.deviation[1] + model.units.mean[1])


@pytest.mark.parametrize(("features", "kind"), [(5, Statistics), (6, WideStatistics)])
def test_the_covariance_of_wide_rows_is_no_matrix(features, kind, monkeypatch):
    monkeypatch.setattr(moments, "WIDE", 5)
    found = CandidateMembers.fit(np.random.default_rng(0).random((30, features)))
    assert {type(space.statistics) for space in found.spaces.values()} == {kind}
