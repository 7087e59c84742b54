"""What sets probabilities of a threshold right, worked out by hand or once more in plain loops."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import load_digits

import simcomplete as sc
from simcomplete._result.intervals import IntervalModel, RankedErrors
from simcomplete._result.pairs import Pairs
from simcomplete._result.probabilities import correction_of, set_right
from simcomplete._result.recalibration import how_far, logistic, logit, of_threshold, regress, simulated_pairs
from simcomplete._result.thresholds import Correction, known_correction, learn_correction

LEVELS = np.linspace(0, 1, 201)


def test_thresholds_are_regressed_on_simulated_pairs_that_are_open():
    """Once more with plain loops: P(similarity > t) of every simulated pair by its own kind, where it is not clear."""
    X = load_digits().data[:330]
    Q = np.where(np.random.default_rng(1).random((30, 64)) < 0.3, np.nan, X[300:])
    done = sc.complete(X[:300], Q, method="posterior", effort="fast", random_state=0)
    ranked = done.interval_model.ranked
    estimate, truth = simulated_pairs(ranked, done.factor[:300])
    z, edges = done.interval_model.table(LEVELS, 300), RankedErrors.edges(300)
    correction = correction_of(done)
    np.testing.assert_allclose(
        correction.thresholds, np.nanquantile(truth, [0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.996])
    )
    t, found = correction.thresholds[4], correction.coefficients[4]
    rows, y, query = [], [], []
    for i, (S, T) in enumerate(zip(estimate, truth, strict=True)):
        falling = np.sort(S)[::-1]
        for s, true in zip(S, T, strict=True):
            if not np.isfinite(s):
                continue
            kind = np.sum(s.round(12) < falling[edges - 1].round(12))
            p = 1 - np.interp((t - s) / ranked.spread[i], z[kind], LEVELS)
            if 1e-4 < p < 1 - 1e-4:
                rows.append((p, ranked.spread[i]))
                y.append(float(true > t))
                query.append(i)
    assert len(rows) < 20_000  # else only some of them are used
    p, spread = np.array(rows).T
    X, y = of_threshold(p, spread), np.array(y)
    far = how_far(X, y, np.array(query))
    np.testing.assert_allclose(found, far * regress(X, y) + (1 - far) * np.eye(4)[0], rtol=1e-6)


def simulated(n_queries, n):
    """Simulated queries of which nothing is exact: every pair with one of n candidates is open."""
    rng = np.random.default_rng(0)
    vectors, residuals = 0.1 * rng.standard_normal((2, n_queries, 5))
    ranked = RankedErrors(np.array([1.0]), np.linspace(-3, 3, 9)[None], residuals, vectors)
    unit = rng.standard_normal((n, 5))
    return IntervalModel(np.zeros(1), np.linspace(0, 3, 1001), ranked), unit / np.linalg.norm(unit, axis=1)[:, None]


@pytest.mark.parametrize(("n_queries", "n", "known"), [(13, 23, False), (10, 30, True)])
def test_thresholds_are_regressed_on_three_hundred_pairs_at_least(n_queries, n, known):
    """13 x 23 = 299 pairs are too few, 10 x 30 = 300 are enough."""
    assert (learn_correction(*simulated(n_queries, n)) is not None) == known


def test_of_many_pairs_only_some_are_regressed_on():
    """Of 400 x 310 = 124,000 pairs, 124,000 // 10,000 = 12: as if only every twelfth pair were there."""
    model, unit = simulated(400, 310)
    estimate, truth = simulated_pairs(model.ranked, unit)
    z = (LEVELS - 0.5) * 6  # errors of every rank are uniform from -3 to 3 spreads
    t = np.quantile(truth, 0.7)
    p = np.stack([1 - np.interp((t - S) / s, z, LEVELS) for S, s in zip(estimate, model.ranked.spread, strict=True)])
    assert ((p > 1e-4) & (p < 1 - 1e-4)).all()
    some = np.arange(0, estimate.size, 12)
    X = of_threshold(p.ravel()[some], np.repeat(model.ranked.spread, 310)[some])
    y = (truth.ravel()[some] > t).astype(float)
    far, correction = how_far(X, y, some // 310), learn_correction(model, unit)
    assert correction.thresholds[1] == t
    np.testing.assert_allclose(correction.coefficients[1], far * regress(X, y) + (1 - far) * np.eye(4)[0], rtol=1e-9)


def test_of_very_many_pairs_some_are_looked_at():
    """600 x 1000 pairs, three times as many as are looked at: thresholds are those of every third pair."""
    model, unit = simulated(600, 1000)
    _, truth = simulated_pairs(model.ranked, unit)
    correction = learn_correction(model, unit)
    assert correction.thresholds[0] == np.median(truth.ravel()[::3])


def test_a_correction_is_learnt_once():
    model, unit = simulated(2, 3)
    known = []
    assert known_correction(known, model, lambda: unit) is None  # 6 pairs are few
    assert known_correction(known, model, lambda: 1 / 0) is None  # known already: nothing is read
    learnt = Correction(np.zeros(1), np.eye(4)[:1])
    assert known_correction([learnt], model, lambda: 1 / 0) is learnt


def p_of(correction, t, estimate=0.6, spread=0.5, half=1.0):
    """P(similarity > t) of a pair whose error is uniform from -half to half spreads."""
    pairs = Pairs(np.array([[estimate]]), np.array([[spread]]), np.array([[0]]))
    z = np.tile(np.linspace(-half, half, 201), (26, 1))
    return float(set_right(pairs, t, z, LEVELS, correction)[0, 0])


def test_thresholds_between_those_learnt_by_hand():
    """P(> .4) = .7, P(> .5) = .6, P(> .6) = .5, P(> .7) = .4 for the pair before they are set right."""
    lower, upper = np.array([1.0, 0.5, 0.0, 0.0]), np.array([2.0, -1.0, 0.0, 0.0])
    correction = Correction(np.array([0.5, 0.6]), np.stack([lower, upper]))
    assert p_of(correction, 0.4) == pytest.approx(logistic(logit(0.7) + 0.5))
    assert p_of(correction, 0.5) == pytest.approx(logistic(logit(0.6) + 0.5))
    x = logit(0.55)
    assert p_of(correction, 0.55) == pytest.approx(logistic(0.5 * (x + 0.5) + 0.5 * (2 * x - 1)))
    assert p_of(correction, 0.6) == pytest.approx(logistic(-1))
    assert p_of(correction, 0.7) == pytest.approx(logistic(2 * logit(0.4) - 1))
    assert p_of(correction, 0.05) == 1 and p_of(correction, 1.05) == p_of(correction, 1.1, 0.7) == 0


def test_a_threshold_that_was_learnt_to_be_likelier_than_a_lower_one():
    """Then the lower one, and all that are lower still, have at least its probability."""
    correction = Correction(np.array([0.5, 0.6]), np.array([[1.0, -2.0, 0.0, 0.0], [1.0, 1.0, 0.0, 0.0]]))
    upper = logistic(logit(0.5) + 1)
    assert p_of(correction, 0.6) == pytest.approx(upper)
    assert p_of(correction, 0.5) == p_of(correction, 0.55) == p_of(correction, 0.4) == pytest.approx(upper)
    assert p_of(correction, 0.12) == pytest.approx(logistic(logit(0.98) - 2))  # which is more


@pytest.mark.parametrize("seed", range(5))
def test_larger_thresholds_never_have_larger_probabilities(seed):
    rng = np.random.default_rng(seed)
    coefficients = rng.normal(size=(6, 4)) * [1, 2, 1, 1]
    coefficients[:, 0] = np.abs(coefficients[:, 0])
    coefficients[:, 2] = np.maximum(coefficients[:, 2], -coefficients[:, 0])
    correction = Correction(np.sort(rng.uniform(-0.2, 1, size=6)), coefficients)
    pairs = Pairs(rng.uniform(-0.5, 1, (20, 30)), rng.uniform(0.05, 1, (20, 30)), rng.integers(0, 24, (20, 30)))
    z = np.sort(2 * rng.standard_normal((26, 201)), axis=1)
    p = np.stack([set_right(pairs, t, z, LEVELS, correction) for t in np.linspace(-1, 1, 201)])
    assert np.diff(p, axis=0).max() < 1e-12
    assert (p >= 0).all() and (p <= 1).all() and ((p > 0) & (p < 1)).mean() > 0.3


@pytest.mark.parametrize("slope", [1.0, 1.5, 4.0])
def test_of_few_queries_it_goes_the_quarters_of_the_way_that_others_lose_least_by(slope):
    x = logit(np.tile(np.linspace(0.05, 0.95, 40), 30))
    X, query = np.column_stack([x, np.ones(len(x))]), np.repeat(np.arange(30), 40)
    rng = np.random.default_rng(0)
    y = (rng.random(len(x)) < logistic(slope * x + rng.normal(size=30)[query])).astype(float)
    loss = np.zeros(5)
    for fold in range(5):
        seen, new = query % 5 != fold, query % 5 == fold

        def penalised(b, seen=seen):
            return np.sum(np.logaddexp(0, X[seen] @ b) - y[seen] * (X[seen] @ b)) + 0.5 * np.sum((b - [1, 0]) ** 2)

        whole = X[new] @ scipy.optimize.minimize(penalised, [1.0, 0.0]).x
        for i in range(5):
            p = logistic(x[new] + i / 4 * (whole - x[new]))
            loss[i] -= np.sum(np.log(np.where(y[new] == 1, p, 1 - p)))
    assert how_far(X, y, query) == np.argmin(loss) / 4


def test_both_halves_of_the_queries_are_asked():
    """Of even queries all are likelier than said, of odd ones none: either's regression is wrong for the other."""
    x = logit(np.tile(np.linspace(0.05, 0.95, 40), 100))
    X, query = np.column_stack([x, np.ones(len(x))]), np.repeat(np.arange(100), 40)
    steep, right = ((np.arange(len(x)) % 20 < 20 * logistic(c * x)).astype(float) for c in (6, 1))

    def far(even, odd):
        return how_far(X, np.where(query % 2 == 0, even, odd), query)

    assert far(steep, steep) == 1.0
    assert far(right, steep) == far(steep, right) == 0.5  # one half alone would say so, and the other would not
