"""Classes of copies: by SciPy and by hand."""

import numpy as np
import pytest
import scipy.optimize
import scipy.special

from simcomplete._posterior.shared.copy_classes import RATES, CopyModel, learn_classes, nothing_learnt


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
