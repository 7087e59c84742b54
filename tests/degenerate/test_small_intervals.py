"""Intervals that were learnt from few simulated queries cover what they promise; those of many stay as they are."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.candidates.grid import ENOUGH_QUERIES, QUANTILES, widened


def problem(digits, seed, n_p):
    """Digits or rows around five directions, with queries that lack 30 to 85 percent."""
    rng = np.random.default_rng(seed)
    if seed % 2:
        X = digits[rng.permutation(len(digits))[: n_p + 8]]
    else:
        X = rng.standard_normal((n_p + 8, 5)) @ rng.standard_normal((5, 20)) + 0.5 * rng.standard_normal((n_p + 8, 20))
    Q = X[n_p:].copy()
    Q[rng.random(Q.shape) < rng.choice([0.3, 0.5, 0.7, 0.85])] = np.nan
    return X, Q


@pytest.mark.parametrize(("form", "n_p"), [("rows", 45), ("rows", 60), ("similarities", 45)])
def test_coverage_of_few_candidates(digits, form, n_p):
    covered = []
    for seed in range(24):
        X, Q = problem(digits, seed, n_p)
        if form == "rows":
            done = sc.complete(X[:n_p], Q, method="posterior", effort="fast")
        else:
            S0 = sc.overlap_similarity(np.concatenate([X[:n_p], Q]))
            done = sc.complete_similarity(S0, candidates=n_p, method="posterior", effort="fast")
        low, high = done.interval(0.9, "queries", "candidates")
        truth = sc.overlap_similarity(X)[n_p:, :n_p]
        covered.append(np.mean((low <= truth) & (truth <= high)))
    assert 0.87 <= np.mean(covered) <= 0.97, np.mean(covered)


def test_few_widen_and_many_do_not():
    errors = np.sort(np.random.default_rng(0).exponential(size=1001))
    np.testing.assert_array_equal(widened(errors, ENOUGH_QUERIES), errors)
    np.testing.assert_array_equal(widened(errors, 4 * ENOUGH_QUERIES), errors)
    few, fewer = widened(errors, 20), widened(errors, 10)
    assert (np.diff(few) >= 0).all()
    assert (fewer[1:] > few[1:]).all()
    assert (few[1:] > errors[1:]).all()
    assert widened(QUANTILES, 10)[900] == pytest.approx(0.9 * (1 + 3.6 * 0.9 * (10**-0.5 - 50**-0.5)))
