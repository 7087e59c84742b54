"""What sets probabilities of a threshold right, worked out by hand or once more in plain loops."""

import numpy as np
import pytest
import scipy.optimize
from sklearn.datasets import load_digits

import simcomplete as sc
from simcomplete._result.intervals import IntervalModel, RankedErrors
from simcomplete._result.probabilities import regression_of
from simcomplete._result.recalibration import how_far, logistic, logit, of_threshold, regress, simulated_pairs
from simcomplete._result.thresholds import known_regression, threshold_regression


def test_thresholds_are_regressed_on_simulated_pairs_that_are_open():
    """Once more with plain loops: P(similarity > t) of every simulated pair by its own kind, where it is not clear."""
    X = load_digits().data[:330]
    Q = np.where(np.random.default_rng(1).random((30, 64)) < 0.3, np.nan, X[300:])
    done = sc.complete(X[:300], Q, method="posterior", effort="fast", random_state=0)
    ranked, t, levels = done.interval_model.ranked, 0.7, np.linspace(0, 1, 201)
    estimate, truth = simulated_pairs(ranked, done.factor[:300])
    z, edges = done.interval_model.table(levels, 300), RankedErrors.edges(300)
    rows, y, query = [], [], []
    for i, (S, T) in enumerate(zip(estimate, truth, strict=True)):
        falling = np.sort(S)[::-1]
        for s, true in zip(S, T, strict=True):
            if not np.isfinite(s):
                continue
            kind = np.sum(s.round(12) < falling[edges - 1].round(12))
            p = 1 - np.interp((t - s) / ranked.spread[i], z[kind], levels)
            if 1e-4 < p < 1 - 1e-4:
                rows.append((p, ranked.spread[i]))
                y.append(float(true > t))
                query.append(i)
    assert len(rows) < 40_000  # else only some of them are used
    p, spread = np.array(rows).T
    X, y = of_threshold(p, spread), np.array(y)
    b, far = regression_of(done, t)
    np.testing.assert_allclose(b, regress(X, y), rtol=1e-6)
    assert far == how_far(X, y, np.array(query))


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
    assert (threshold_regression(*arguments(n_queries, n)) is not None) == known


def arguments(n_queries, n, t=0.1):
    model, unit = simulated(n_queries, n)
    return model, t, unit


def test_of_many_pairs_every_second_is_regressed_on():
    """Of 400 x 310 = 124,000 pairs, 124,000 // 60,000 = 2: as if the pairs at odd places were not there."""
    model, t, unit = arguments(400, 310)
    estimate, truth = simulated_pairs(model.ranked, unit)
    levels = np.linspace(0, 1, 201)
    z = (levels - 0.5) * 6  # errors of every rank are uniform from -3 to 3 spreads
    p = np.stack([1 - np.interp((t - S) / s, z, levels) for S, s in zip(estimate, model.ranked.spread, strict=True)])
    assert ((p > 1e-4) & (p < 1 - 1e-4)).all()
    some = np.arange(0, estimate.size, 2)
    X = of_threshold(p.ravel()[some], np.repeat(model.ranked.spread, 310)[some])
    y = (truth.ravel()[some] > t).astype(float)
    b, far = threshold_regression(model, t, unit)
    np.testing.assert_allclose(b, regress(X, y), rtol=1e-9)
    assert far == how_far(X, y, some // 310)


def test_thresholds_are_kept_and_the_oldest_forgotten():
    known = {float(t): None for t in range(64)}
    model, unit = simulated(2, 3)
    assert known_regression(known, model, 5.0, lambda: 1 / 0) is None  # known already: nothing is read
    assert known_regression(known, model, 0.5, lambda: unit) is None  # 6 pairs are few
    assert list(known) == [*map(float, range(1, 64)), 0.5]  # 64 thresholds, the first is gone


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
