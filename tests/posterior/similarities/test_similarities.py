"""The local Wiener filter: exact where nothing is unknown, else better than what was given."""

import numpy as np
import pytest
from plain_filter import error, run, unit, valid, whole

from simcomplete._posterior.similarities.calibrate import GRIDS, hold_out_candidates
from simcomplete._posterior.similarities.filtering import (
    Noise,
    WienerSetting,
    filtered,
    fit_noise,
    local_prior,
    population,
)

# Known answers


def test_complete_queries_come_back_exactly(cloud):
    """A count of all features means no noise: whatever was chosen, what was seen is kept."""
    _, S, n = cloud
    done = run(S[:n, :n], S[:n, n:], np.full(40, 8), 8)
    assert done.candidates @ done.queries.T == pytest.approx(S[:n, n:], abs=1e-10)
    assert done.queries @ done.queries.T == pytest.approx(S[n:, n:], abs=1e-10)
    assert done.lengths == pytest.approx(np.ones(40), abs=1e-10)


def test_complete_queries_among_others_come_back_exactly(cloud):
    _, S, n = cloud
    rng = np.random.default_rng(0)
    counts = np.where(np.arange(40) < 5, 8, 2)
    s0 = S[:n, n:] + np.where(counts == 8, 0.0, 0.3) * rng.standard_normal((n, 40))
    done = run(S[:n, :n], s0, counts, 8)
    found = done.candidates @ done.queries.T
    assert found[:, :5] == pytest.approx(S[:n, n : n + 5], abs=1e-10)
    assert np.abs(found[:, 5:] - S[:n, n + 5 :]).max() > 1e-3


def test_without_noise_the_truth_is_nearly_found_unasked(cloud):
    _, S, n = cloud
    done = run(S[:n, :n], S[:n, n:])
    assert np.mean((done.candidates @ done.queries.T - S[:n, n:]) ** 2) < 2e-3 * np.mean(S[:n, n:] ** 2)


def test_independent_noise_nearly_vanishes(cloud):
    """240 noisy similarities tell 8 coordinates: of noise .4^2 about 8/240 is left at most."""
    _, S, n = cloud
    s0 = S[:n, n:] + 0.4 * np.random.default_rng(1).standard_normal((n, 40))
    done = run(S[:n, :n], s0)
    assert np.mean((done.candidates @ done.queries.T - S[:n, n:]) ** 2) < 0.16 * 8 / 240
    assert done.noise.tau2 == pytest.approx(0.16, rel=0.1)
    assert done.noise.sig2 < 0.002


def test_noise_of_both_kinds_is_told_apart():
    """E t^2 = lam w + sig2 w + tau2 with chi-square draws around it."""
    rng = np.random.default_rng(0)
    w = np.geomspace(200, 0.1, 300)
    lam = w / 400
    mean = (lam + 0.02) * w + 0.05
    t2 = np.mean(mean * rng.standard_normal((200, 300)) ** 2, axis=0)
    noise = fit_noise(t2, lam, w)
    assert noise.sig2 == pytest.approx(0.02, rel=0.05)
    assert noise.tau2 == pytest.approx(0.05, rel=0.05)


@pytest.mark.parametrize("t2", [0.0, 1e-300, 1e-3])
def test_noise_is_never_negative(t2):
    noise = fit_noise(np.full(5, t2), np.full(5, 0.2), np.linspace(5, 1, 5))
    assert noise == Noise(0.0, 0.0)


def test_population_variance_is_out_of_sample():
    """Isotropic rows in 100 dimensions: every direction has variance 1/100, in sample the first has far more."""
    X = unit(np.random.default_rng(0).standard_normal((200, 100)))
    S = X @ X.T
    lam = population(S, np.random.default_rng(0))
    assert lam.shape == (100,)
    assert lam == pytest.approx(np.full(100, 0.01), rel=0.5)
    assert np.linalg.eigvalsh(S)[-1] / 200 > 0.02


def test_filter_is_bayes_rule():
    """f lam = 3 and noise 1: three quarters of the way from the prior to what was seen."""
    y, prior = np.array([[0.4, 0.0]]), np.array([[0.1, 0.2]])
    v = filtered(y, prior, np.array([3.0, 3.0]), np.array([[1.0, 1.0]]), WienerSetting(5, 1.0, 1.0))
    assert v == pytest.approx(np.array([[0.325, 0.05]]))
    assert filtered(y, prior, np.ones(2), np.full((1, 2), np.inf), WienerSetting(5, 0.5, 1.0)) == pytest.approx(
        prior / 2
    )
    assert filtered(y, prior, np.ones(2), np.zeros((1, 2)), WienerSetting(5, 1.0, 0.0)) == pytest.approx(y)
    far = filtered(10 * y, prior, np.ones(2), np.zeros((1, 2)), WienerSetting(5, 1.0, 0.0))
    assert np.linalg.norm(far) == pytest.approx(1.0)


def test_a_query_nothing_is_known_of_gets_the_mean(cloud):
    X, S, n = cloud
    s0 = np.where(np.arange(40) == 0, 0.0, S[:n, n:])
    counts = np.where(np.arange(40) == 0, 0, 4)
    done = run(S[:n, :n], s0, counts, 8)
    expected = done.choice.setting.b * S[:n, :n].mean(axis=1)
    assert done.candidates @ done.queries[0] == pytest.approx(expected, abs=1e-10)
    assert local_prior(X[:n], s0[:, :1], 3.0)[0] == pytest.approx(X[:n].mean(axis=0))


def test_queries_with_fewer_features_are_trusted_less(cloud):
    _, S, n = cloud
    s0 = S[:n, n:] + 0.2 * np.random.default_rng(0).standard_normal((n, 40))
    twice = np.hstack([s0, s0])
    done = run(S[:n, :n], twice, np.repeat([2, 7], 40), 8)
    moved = np.linalg.norm(done.candidates @ done.queries.T - twice, axis=0)
    assert np.mean(moved[:40] > moved[40:]) > 0.7


# Figures


def test_digits_figures(masked):
    """Relative squared error of the whole matrix, .114 with 1000 candidates and 200 queries; S0 is 1."""
    T, S0, counts = masked
    n = 300
    done = run(S0[:n, :n], S0[:n, n:], counts, 64)
    S = valid(done)
    assert error(S, S0, T) < 0.17
    assert done.deviation < 1e-9
    real = np.abs(S[:n, n:] - T[:n, n:])
    inside = real <= done.choice.quantiles[900] * np.sqrt(1 - done.lengths**2)
    assert 0.82 < inside.mean() < 0.98
    assert 0.5 < done.choice.error / np.mean(real**2) < 2.0


def test_fast_is_nearly_as_good(masked):
    T, S0, counts = masked
    done = run(S0[:300, :300], S0[:300, 300:], counts, 64, effort="fast")
    assert error(whole(done), S0, T) < 0.18
    assert done.choice.setting.k == 10 and done.choice.setting.b == 1


def test_zero_is_never_the_only_part():
    for grid in GRIDS.values():
        for setting in grid:
            others = {s.f for s in grid if (s.k, s.b) == (setting.k, setting.b)}
            assert {0.0, 1.0} < others


def test_same_seed_same_bits(masked):
    _, S0, counts = masked
    first, second = (run(S0[:300, :300], S0[:300, 300:], counts, 64, effort="fast", seed=5) for _ in range(2))
    assert np.array_equal(first.factor, second.factor)
    assert np.array_equal(first.choice.quantiles, second.choice.quantiles)


def test_plain_values(masked):
    _, S0, _ = masked
    facts = run(S0[:300, :300], S0[:300, 300:], effort="fast").as_dict()
    assert set(facts) >= {"k", "b", "f", "expected_squared_error"}
    assert all(type(value) is float for value in facts.values())


def test_copies_of_held_out_candidates_do_not_play_along(cloud):
    """Every row twice: with its copy among the neighbours a simulated query would find itself."""
    X, _, _ = cloud
    twice = np.concatenate([X[:60], X[:60]])
    S = np.clip(twice @ twice.T, -1, 1)
    rng = np.random.default_rng(0)
    play = hold_out_candidates(S, population(S, rng), Noise(0.05, 0.01), np.ones(4), {5.0}, 20, rng)
    assert play.truth.shape == (80, 20)
    assert play.truth.max() < 1 - 1e-6
