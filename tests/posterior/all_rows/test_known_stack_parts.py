"""The parts of the stack by hand or in plain loops: weights, variances, tilt."""

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.optimize
from factor_rows import NAN, drawn

from simcomplete._posterior.all_rows.calibrate import FilledRows
from simcomplete._posterior.all_rows.combine import value_weights, variance_slope, variance_weights
from simcomplete._posterior.all_rows.hidden_values import HiddenValues, stands_for
from simcomplete._posterior.all_rows.members import FeatureUnits, MemberValues, OverRows
from simcomplete._posterior.all_rows.stack import Recipe, RowStack
from simcomplete._posterior.all_rows.tilt import Tilt, clearer_tilt, estimate_tilt

# Combining


def test_values_are_weighted_by_least_squares_with_large_errors_counting_less():
    rng = np.random.default_rng(1)
    A, w = rng.standard_normal((200, 3)), rng.uniform(0.5, 2.0, 200)
    truth = A @ [0.7, 0.2, 0.0] + 0.1 * rng.standard_normal(200)
    truth[:5] += 50
    kept = np.ones(200)
    for _ in range(4):
        by = np.sqrt(w * kept)
        found = scipy.optimize.nnls(A * by[:, None], truth * by)[0]
        gap = np.abs(truth - A @ found) * np.sqrt(w)
        kept = np.minimum(1, 2.5 * 1.4826 * np.median(gap) / gap)
    np.testing.assert_allclose(value_weights(A, truth, w), found, rtol=1e-9)
    np.testing.assert_allclose(found[:2], [0.7, 0.2], atol=0.05)


def test_variances_are_weighted_by_sums_over_rows_and_features():
    rng = np.random.default_rng(2)
    V = rng.uniform(0.5, 2.0, (2, 20, 6))
    lost = rng.random((20, 6)) < 0.6
    lost[3] = False  # nothing is known of this row
    squares = np.where(lost, 0.8 * V[0] * rng.chisquare(1, (20, 6)), 7.0)
    squares[0, lost[0]] = 1e4  # more than 25 times what is expected
    A, b, count, feature = [], [], [], []
    for axis, size in ((0, 20), (1, 6)):
        for i in range(size):
            own = lost[i] if axis == 0 else lost[:, i]
            if own.any():
                A.append([(v[i] if axis == 0 else v[:, i])[own].sum() for v in V])
                b.append((squares[i] if axis == 0 else squares[:, i])[own].sum())
                count.append(own.sum())
                feature.append(axis == 1)
    A, b, count, feature = np.array(A), np.array(b), np.array(count), np.array(feature)
    c = np.full(2, b.sum() / A.sum())
    for _ in range(3):
        base = A @ c
        base = np.maximum(base, 0.01 * base.mean())
        base = base + 0.1 * base[feature].mean() * feature
        by = np.sqrt(count) / base
        c = scipy.optimize.nnls(A * by[:, None], np.minimum(b, 25 * base) * by)[0]
    np.testing.assert_allclose(variance_weights(V, squares, lost), c, rtol=1e-9)


@pytest.mark.parametrize("slope", [-0.6, 0.3, 3.0])
def test_the_slope_of_variances_is_that_of_the_errors_and_at_most_one(slope):
    t = np.linspace(-2, 2, 4001)
    noise = np.random.default_rng(0).chisquare(1, 4001)
    found = variance_slope(4 * np.exp(slope * t) * noise, t)
    assert found == pytest.approx(min(slope, 1.0), abs=0.1)


def test_the_slope_has_no_gradient_left():
    """Few values, not spread evenly: sums of (ratio / expected - 1) and of that times t are 0, ratios at most 25."""
    rng = np.random.default_rng(1)
    t = rng.exponential(size=60)
    ratios = np.exp(0.4 * t) * rng.chisquare(1, 60)
    ratios[:2] *= 100

    def gradient(found):
        gap = np.minimum(ratios / np.exp(found[0] + found[1] * t), 25) - 1
        return [gap.sum(), gap @ t]

    expected = scipy.optimize.root(gradient, [np.log(ratios.mean()), 0.0]).x
    assert (ratios / np.exp(expected[0] + expected[1] * t)).max() > 25
    assert variance_slope(ratios, t) == pytest.approx(expected[1], abs=1e-3)


# The tilt


def plain_means_out(x, scored):
    """The residual of a regression on an indicator of every row and of every feature."""
    rows, columns = np.nonzero(scored)
    D = np.zeros((len(rows), sum(x.shape)))
    D[np.arange(len(rows)), rows] = 1
    D[np.arange(len(rows)), x.shape[0] + columns] = 1
    own = x[scored]
    return own - D @ np.linalg.lstsq(D, own, rcond=None)[0]


def test_the_tilt_is_that_of_a_regression_with_rows_and_features():
    rng = np.random.default_rng(3)
    t = rng.standard_normal((60, 15)) + rng.standard_normal(15)
    scored = rng.random(t.shape) < 0.8
    missing = scored & (rng.random(t.shape) < 1 / (1 + np.exp(-(1.5 * t - 0.5))))
    x, D = (plain_means_out(v, scored) for v in (t, missing.astype(float)))
    delta = x @ D / (D @ D)
    within = x @ x / len(x) - delta**2 * (D @ D) / len(x)
    # A standard error clustered by rows and by features (Cameron, Gelbach and Miller), one cluster after the other.
    scores, at = (x - delta * D) * D, np.nonzero(scored)
    rows, columns = ([scores[at[axis] == k].sum() ** 2 for k in range(t.shape[axis])] for axis in (0, 1))
    clustered = sum(rows) + sum(columns) - scores @ scores
    z = delta * (D @ D) / np.sqrt(max(clustered, sum(rows), sum(columns), within * (D @ D)))
    found = estimate_tilt(t, missing, scored, raw=True)
    assert found.raw and found.z == pytest.approx(z, rel=1e-4)
    assert found.beta == pytest.approx(delta / within * (1 - 1 / z**2), rel=1e-4)
    assert z > 4


def test_gaps_that_go_together_are_no_evidence_of_a_tilt():
    # Values that go together over a row, and blocks of them missing: 30 sizes of z, of which few exceed 2.
    every = []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        t = np.repeat(rng.standard_normal((80, 4)), 10, axis=1)
        missing = np.repeat(rng.random((80, 4)) < 0.4, 10, axis=1)
        every.append(estimate_tilt(t, missing, np.ones_like(missing)))
    z = np.array([one.z for one in every])
    assert (np.abs(z) > 2).mean() <= 0.2 and not any(one.beta for one in every)


def test_the_units_in_which_missing_values_differ_more_are_taken():
    rng = np.random.default_rng(0)
    x = rng.standard_normal((200, 20))
    missing = rng.random(x.shape) < 1 / (1 + np.exp(-x))
    noise, scored = rng.standard_normal(x.shape), np.ones_like(missing)
    assert clearer_tilt(noise, x, missing, scored) == estimate_tilt(x, missing, scored, raw=True)
    assert clearer_tilt(x, noise, missing, scored) == estimate_tilt(x, missing, scored)


def test_a_lost_value_stands_for_more_where_few_are_known():
    known = np.zeros((8, 3), dtype=bool)
    known[:, 0], known[:4, 1] = True, True
    np.testing.assert_allclose(stands_for(known) ** 2, [10 / 9, 2.0, 10.0])


def test_values_move_by_their_variance_and_at_most_one_and_a_half_deviations():
    shift = Tilt(beta=2.0).shift(np.array([[0.5, 9.0, 0.0]]), np.array([[2.0, 1.0, 1.0]]))
    np.testing.assert_allclose(shift, [[2 * 0.5 / 4 * 2, 1.5, 0.0]])


# Members and the stack


@pytest.mark.parametrize("shift", [0.0, np.array([[1.0, 2.0], [3.0, 4.0]])])
def test_rows_of_a_model_in_other_units(shift):
    """Of the first row the model's unit is 6 and ours 2: values, and ways to neighbours, are 3 times as large for us,
    variances 9 times, misfits (ratios) the same. Of the second the ratio is 1e-200, and 1e-100 the smallest taken."""
    filled = FilledRows(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[0.0, 0.5], [0.2, 0.0]]), np.array([4, 5]), shift)
    model = SimpleNamespace(fill=lambda X: filled, scaling=SimpleNamespace(sizes=lambda X: np.array([6.0, 1e-100])))
    found = OverRows(model).expect(np.zeros((2, 2)), np.array([2.0, 1e100]))
    np.testing.assert_allclose(found.mean, [[3.0, 6.0], [3e-100, 4e-100]], rtol=1e-12)
    np.testing.assert_allclose(found.variance, [[0.0, 4.5], [2e-201, 0.0]], rtol=1e-12)
    np.testing.assert_array_equal(found.misfit, [4, 5])
    if isinstance(shift, float):
        assert found.shift is None
    else:
        np.testing.assert_allclose(found.shift, [[3.0, 6.0], [3e-100, 4e-100]], rtol=1e-12)


def test_units_of_features_are_drawn_to_the_mean_variance():
    Y = np.array([[1.0, 5.0], [3.0, NAN], [NAN, NAN], [5.0, 9.0]])
    found = FeatureUnits.of(Y)
    np.testing.assert_allclose(found.mean, [3.0, 7.0])
    np.testing.assert_allclose(found.count, [3, 2])
    common = (8 / 3 + 8 / 2) / 2
    np.testing.assert_allclose(found.deviation, np.sqrt([(8 + 2 * common) / 5, (8 + 2 * common) / 4]))
    np.testing.assert_allclose([found.low, found.high], [[1, 5], [5, 9]])


class Says:
    """A member that says one thing."""

    def __init__(self, mean, variance, misfit=None, shift=None):
        self.told = MemberValues(mean, variance, misfit, shift)

    def expect(self, X, size):
        known = ~np.isnan(X)
        mean = np.where(known, X / size[:, None], self.told.mean)
        return self.told._replace(mean=mean, variance=np.where(known, 0.0, self.told.variance))


@pytest.mark.parametrize("raw", [False, True])
def test_the_stack_by_its_formula(raw):
    rng = np.random.default_rng(5)
    X = drawn(n=30, d=6)[1]
    shape = X.shape
    one = Says(
        rng.standard_normal(shape) * 0.3,
        rng.uniform(0.01, 0.1, shape),
        rng.uniform(0.5, 2, 30),
        0.2 * rng.random(shape),
    )
    two = Says(rng.standard_normal(shape) * 0.3, rng.uniform(0.01, 0.1, shape))
    weights, variances = np.array([0.6, 0.3, 0.5]), np.array([0.7, 0.1, 0.2, 0.0])
    recipe = Recipe(weights, variances, slope=0.4, level=1.3, pairs=1.7, tilt=Tilt(0.8, 9.0, raw))
    stack = RowStack.of(X, [one, two], recipe)
    found = stack.values(X)
    units, size = stack.units, stack.scaling.sizes(X)
    raw_sd = FeatureUnits.of(X).deviation
    low, high = units.low.min(), units.high.max()
    for i in range(30):
        for f in range(6):
            if not np.isnan(X[i, f]):
                assert found.mean[i, f] == X[i, f] / size[i] and found.variance[i, f] == 0 == found.tilted[i, f]
                continue
            mu, sd = units.mean[f], units.deviation[f]
            m = mu + 0.6 * (one.told.mean[i, f] - mu) + 0.3 * (two.told.mean[i, f] - mu) + 0.5 * one.told.shift[i, f]
            more = 3 * sd * 10 / (units.count[f] + 10)
            edges = max(units.low[f] - more, low), min(units.high[f] + more, high)
            m = np.clip(m, *edges)
            v = (0.7 + 0.2 * one.told.misfit[i]) * one.told.variance[i, f] + 0.1 * two.told.variance[i, f]
            v *= 1.3 * np.exp(0.4 * np.clip((m - mu) / sd, -2.5, 2.5))
            deviation = raw_sd[f] / size[i] if raw else sd
            moved = np.clip(m + np.clip(0.8 * v / deviation**2, -1.5, 1.5) * deviation, *edges)
            assert found.mean[i, f] == pytest.approx(moved, rel=1e-9)
            assert found.variance[i, f] == pytest.approx(1.7 * v, rel=1e-9)
            assert found.tilted[i, f] == pytest.approx(moved - m, rel=1e-6, abs=1e-12)


def test_without_a_recipe_members_count_alike():
    X = drawn(n=30, d=6)[1]
    recipe = RowStack.of(X, [Says(0, 0), Says(0, 0)]).recipe
    assert recipe.weights.tolist() == [0.5, 0.5, 0.0] and recipe.variances.tolist() == [0.5, 0.5, 0.0, 0.0]
    assert (recipe.slope, recipe.level, recipe.pairs, recipe.tilt) == (0.0, 1.0, 1.0, Tilt(0.0, 0.0, False))


def test_a_stack_learns_which_member_is_right():
    X = 20 + np.random.default_rng(4).uniform(-1, 1, (120, 12))  # no true value lies out of range
    hidden = np.where(np.isnan(drawn(n=120)[1]), NAN, X)
    lost = HiddenValues.of(hidden, None, np.random.default_rng(0))
    at = lost.scored
    stack = RowStack.of(lost.X, [Says(0, 0)])
    size = stack.scaling.sizes(lost.X[at])[:, None]
    rng = np.random.default_rng(1)
    right = X[at] / size + 0.002 * rng.standard_normal(X[at].shape)
    wrong = 0.2 * rng.standard_normal(X[at].shape)
    variance = np.full(X[at].shape, 0.004**2)
    members = [Says(wrong, variance, np.ones(len(at))), Says(right, variance)]
    recipe = RowStack.of(lost.X, members).learn(lost, tilt=True).recipe
    np.testing.assert_allclose(recipe.weights, [0.0, 1.0, 0.0], atol=0.1)
    # Squared errors are a quarter of the variances that were told.
    mean = recipe.level * (recipe.variances @ [1, 1, 1, 0]) * 0.004**2
    assert mean == pytest.approx(0.002**2, rel=0.25)
    assert recipe.tilt.beta == 0 and recipe.pairs == 1
    assert RowStack.of(lost.X, members).learn(lost, tilt=False).recipe.tilt == Tilt()
