"""Classes of copies: by SciPy and by hand."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from simcomplete._posterior.shared.copy_classes import (
    KINDS,
    RATES,
    CopyModel,
    Steps,
    feature_deviations,
    features,
    learn_classes,
    nothing_learnt,
    simulated_kinds,
)


def products(z):
    columns = [np.ones(len(z)), *z.T]
    columns += [z[:, i] * z[:, j] for i in range(z.shape[1]) for j in range(i, z.shape[1])]
    return np.column_stack(columns)


def drawn(n=600, seed=0):
    rng = np.random.default_rng(seed)
    label = rng.integers(4, size=n)
    x = rng.normal(size=(n, 7)) + 0.5 * np.eye(4, 7)[label]
    x[:, 6] = 3.0  # always the same
    return x, label, rng.uniform(0.5, 1.5, n)


@pytest.mark.parametrize("n", [100, 600])
def test_classes_are_a_ridge_regression(n):
    """Scores of the copies relative to fresh rows, by SciPy from the loss alone."""
    x, label, weight = drawn(n)
    model = learn_classes(x, label, weight, RATES)
    np.testing.assert_allclose([model.low, model.high, model.mean], [x.min(axis=0), x.max(axis=0), x.mean(axis=0)])
    np.testing.assert_allclose(model.sd[:6], x[:, :6].std(axis=0))
    assert model.sd[6] == 1 and model.rates is RATES and not model.weights[:, 0].any()
    A = products((x - model.mean) / model.sd)

    def loss(flat):
        W = np.column_stack([np.zeros(A.shape[1]), flat.reshape(A.shape[1], 3)])
        total = scipy.special.logsumexp(A @ W, axis=1) - (A @ W)[np.arange(n), label]
        slope = A.T @ (weight[:, None] * (scipy.special.softmax(A @ W, axis=1) - np.eye(4)[label]))
        ridge = np.full((A.shape[1], 1), 0.3)
        ridge[0] = 1e-6
        return weight @ total + 0.5 * np.sum(ridge * W**2), (slope + ridge * W)[:, 1:].ravel()

    best = scipy.optimize.minimize(loss, np.zeros(3 * A.shape[1]), jac=True, options={"gtol": 1e-8, "maxiter": 5000})
    reached = loss(model.weights[:, 1:].ravel())[0]
    assert best.fun <= reached <= best.fun * (1 + 1e-3)
    np.testing.assert_allclose(model.weights[:, 1:], best.x.reshape(-1, 3), atol=0.05)


def test_newtons_steps_one_at_a_time():
    """From nothing, gradient and Hessian in plain sums, until a step brings less than .003 of the penalised loss."""
    x, label, weight = drawn(60)
    x = x[:, :2]
    A = products((x - x.mean(axis=0)) / x.std(axis=0))
    ridge = np.array([1e-6, *[0.3] * (A.shape[1] - 1)])
    W = np.zeros((A.shape[1], 3))

    def loss(W):
        G = np.column_stack([np.zeros(len(A)), A @ W])
        each = [w * (scipy.special.logsumexp(g) - g[k]) for w, g, k in zip(weight, G, label, strict=True)]
        return sum(each) + 0.5 * np.sum(ridge[:, None] * W**2)

    steps = 0
    while True:
        steps += 1
        P = scipy.special.softmax(np.column_stack([np.zeros(len(A)), A @ W]), axis=1)[:, 1:]
        slope, H = np.diag(ridge) @ W, np.kron(np.eye(3), np.diag(ridge))
        for a, p, w, k in zip(A, P, weight, label, strict=True):
            slope = slope + w * np.outer(a, p - np.eye(4)[k, 1:])
            H += w * np.kron(np.diag(p) - np.outer(p, p), np.outer(a, a))
        before, W = loss(W), W - np.linalg.solve(H, slope.T.ravel()).reshape(3, -1).T
        assert loss(W) < before  # a whole step each
        if before - loss(W) < 3e-3 * before:
            break
    assert steps > 2
    np.testing.assert_allclose(learn_classes(x, label, weight, RATES).weights[:, 1:], W, rtol=1e-8)


@pytest.mark.parametrize("prior", [None, 0.2, (0.3, 0.0, 0.1)])
@pytest.mark.parametrize("odds", [1.0, 3.0])
def test_probabilities_by_hand(prior, odds):
    x, label, weight = drawn()
    model = learn_classes(x, label, weight, RATES)
    rows = np.vstack([x[:5], x[:1] + 100])  # the last beyond the range that was seen
    observed = np.array([0, 1, 2, 5, 9, 9])
    found = model.probabilities(rows, observed[:, None], prior, odds)
    for row, seen, p in zip(rows, observed, found, strict=True):
        z = (np.clip(row, x.min(axis=0), x.max(axis=0)) - model.mean) / model.sd
        score = (products(z[None]) @ model.weights)[0]
        mix = RATES * [1, 1 / 2, 1 / 3]
        rates = RATES if prior is None else np.array(prior) if np.ndim(prior) else mix * prior / mix.sum()
        each = odds * rates / (1 - rates.sum()) * np.exp(np.minimum(score[1:] - score[0], seen))
        np.testing.assert_allclose(p, each / (1 + each.sum()), rtol=1e-10)


def test_nothing_learnt_leaves_the_rates():
    p = nothing_learnt(7).probabilities(np.random.default_rng(0).normal(size=(3, 7)), np.full((3, 1), 9), None)
    np.testing.assert_allclose(p, np.tile(RATES, (3, 1)))
    assert isinstance(nothing_learnt(7), CopyModel)


# What is simulated


@pytest.mark.parametrize("n", [40, 400, 1000])
def test_values_of_features_one_at_a_time(n):
    """Of more than 400 rows some are looked at, evenly spaced. A feature has few values if each has four rows."""
    rng = np.random.default_rng(n)
    rows = np.column_stack([rng.integers(5, size=n), np.arange(n) % 10, np.arange(n), rng.random(n), np.full(n, 7.0)])
    some = rows[np.linspace(0, n - 1, min(n, 400)).astype(int)]
    steps = Steps(rows.astype(float))
    each = [np.unique(column, return_counts=True) for column in some.T]
    np.testing.assert_allclose(steps.coincidences, [-np.log(np.sum((c / len(some)) ** 2)) for _, c in each])
    assert steps.columns.tolist() == [i for i, (values, _) in enumerate(each) if 4 * len(values) <= len(some)]
    columns = rng.integers(5, size=300)
    values = rng.uniform(-3, 13, 300)
    for value, column, found in zip(values, columns, steps.nearest(values, columns), strict=True):
        known = each[column][0]
        expected = known[np.argmin(np.abs(known - value))] if column in steps.columns else value
        assert found == expected


def test_a_feature_with_one_value_too_many_has_not_few():
    """Of 40 rows, 10 values have four rows each; of 44 rows with 12 values, some have fewer."""
    assert Steps(np.arange(40.0)[:, None] % 10).columns.tolist() == [0]
    assert Steps(np.arange(44.0)[:, None] % 12).columns.tolist() == []
    values = np.array([0.3, 4.4])
    assert Steps(np.arange(44.0)[:, None] % 12).nearest(values, np.array([0, 0])) is values


def test_halfway_between_two_values_it_is_the_higher_and_beyond_all_the_last():
    steps = Steps(np.array([[0.0, 5.0], [0.0, 5.0], [0.0, 5.0], [0.0, 5.0], *[[4.0, 5.0]] * 4]))
    found = steps.nearest(np.array([2.0, 1.99, -9.0, 9.0, 4.0, 6.0]), np.array([0, 0, 0, 0, 1, 1]))
    np.testing.assert_array_equal(found, [4.0, 0.0, 0.0, 4.0, 5.0, 5.0])


def test_deviations_of_features_that_hardly_vary():
    """Variances 1, .0001 and 0: at least a twentieth of their mean, .33337 / 20. Where nothing varies they are 1."""
    least = np.sqrt((1 + 1e-4) / 3 / 20)
    np.testing.assert_allclose(feature_deviations(np.array([[0.0, 0.0, 3.0], [2.0, 0.02, 3.0]])), [1.0, least, least])
    np.testing.assert_array_equal(feature_deviations(np.full((4, 2), 3.0)), [1.0, 1.0])


def test_kinds_one_value_at_a_time():
    """Noise of one size for each row, log-uniform in the range of its kind, on what is observed alone."""
    rng = np.random.default_rng(3)
    raw, observed = rng.random((6, 4)), rng.random((6, 4)) < 0.6
    deviations, steps = np.array([1.0, 2.0, 0.5, 1.0]), Steps(rng.random((50, 4)))
    found = simulated_kinds(raw, observed, deviations, steps, np.random.default_rng(9))
    again = np.random.default_rng(9)
    assert [kind for kind, _, _ in KINDS] == [0, 0, 1, 2, 3] and [noise for _, noise, _ in KINDS] == [
        *(None, (0.02, 0.5), None, (0.02, 0.1), (0.1, 0.5))
    ]
    for (_, noise, _), each in zip(KINDS, found, strict=True):
        expected = raw.copy()
        if noise is not None:
            low, high = np.log(noise)
            sizes = np.exp(low + (high - low) * again.random(6))
            draws = iter(again.standard_normal(observed.sum()))
            for i, j in np.argwhere(observed):
                expected[i, j] += sizes[i] * deviations[j] * next(draws)
        np.testing.assert_allclose(each, expected, rtol=1e-12)


def test_noise_on_few_values_stays_among_them():
    raw = np.arange(40.0)[:, None] % 4
    found = simulated_kinds(raw, np.ones((40, 1), dtype=bool), np.array([3.0]), Steps(raw), np.random.default_rng(0))
    assert set(found.ravel()) == {0.0, 1.0, 2.0, 3.0} and (found[4] != raw).any()


def test_the_five_numbers_of_a_row():
    """Logarithms of squared distances + .0001: the first, how far before the second, and before the mean of the rest;
    the distance to the mean of all; and how many values are seen, 1 at least."""
    apart = np.vstack([np.arange(10.0), np.full(10, 2.0)])
    found = features(apart, np.array([0.5, 1e300]), np.array([[True, True, False], [False] * 3]))
    L = np.log(np.arange(10.0) + 1e-4)
    first = [L[0], L[0] - L[1], L[0] - L[2:].mean(), np.log(0.5001), np.log(2)]
    np.testing.assert_allclose(found, [first, [np.log(2.0001), 0, 0, np.log(1e200), 0]], atol=1e-12)


def test_a_share_of_almost_all_leaves_finite_odds():
    """With shares .5, .3 and .2 nothing is left for fresh rows: as if a billionth was."""
    p = nothing_learnt(2).given(np.zeros((1, 3)), (0.5, 0.3, 0.2))
    np.testing.assert_allclose(p, [np.array([0.5, 0.3, 0.2]) / 1e-9 / (1 + 1 / 1e-9)], rtol=1e-12)
