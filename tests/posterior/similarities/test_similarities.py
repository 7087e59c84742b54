"""The local Wiener filter: exact where nothing is unknown, else better than what was given, valid whatever that is."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.similarities.calibrate import (
    GRIDS,
    Noise,
    WienerSetting,
    choose_wiener,
    filtered,
    fit_noise,
    hold_out_candidates,
    local_prior,
    population,
)
from simcomplete._posterior.similarities.wiener import complete_similarities, semidefinite
from simcomplete.errors import InputError


def unit(X):
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def run(S, s0, *args, seed=0, **settings):
    return complete_similarities(S, s0, *args, rng=np.random.default_rng(seed), **settings)


def whole(done):
    return done.factor @ done.factor.T + np.diag(done.diagonal)


def valid(done, diagonal=None):
    """Finite, the diagonal asked for, no vector longer than 1, and positive semi-definite."""
    S = whole(done)
    n = len(S)
    wanted = np.ones(n) if diagonal is None else np.asarray(diagonal, dtype=float)
    assert np.isfinite(S).all() and np.isfinite(done.choice.quantiles).all() and np.isfinite(done.deviation)
    assert np.isfinite(done.choice.error) and done.choice.quantiles.shape == (1001,)
    assert (np.diff(done.choice.quantiles) >= 0).all()
    assert np.diag(S) == pytest.approx(wanted, rel=1e-12, abs=1e-300)
    assert (done.diagonal >= 0).all() and (done.lengths <= 1).all()
    scale = np.where(wanted > 0, np.sqrt(wanted), 1.0)
    assert np.linalg.eigvalsh(S / scale[:, None] / scale).min() > -1e-9
    return S


@pytest.fixture(scope="module")
def cloud():
    """Unit rows of 8 features in a few clusters: 240 candidates, 40 queries, and their similarities."""
    rng = np.random.default_rng(3)
    centres = 2 * rng.standard_normal((6, 8))
    X = unit(centres[rng.integers(6, size=280)] + rng.standard_normal((280, 8)))
    return X, X @ X.T, 240


@pytest.fixture(scope="module")
def masked(digits, hide):
    """300 digits as candidates, 80 as queries with .7 missing: truth, overlap similarities, observed features."""
    X = np.concatenate([digits[:300], hide(digits[300:380], 0.7)])
    T = unit(digits[:380])
    return T @ T.T, sc.overlap_similarity(X, progress=False), (~np.isnan(X[300:])).sum(axis=1)


def error(S, S0, T):
    return np.sum((S - T) ** 2) / np.sum((S0 - T) ** 2)


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


# Exactness of the candidates


def test_exact_columns(cloud):
    """20 landmarks of 8-dimensional rows say everything; of rows in 60 dimensions they do not, more columns do."""
    _, S, n = cloud
    done = run(S[:n, :n], S[:n, n:], landmarks=20)
    assert done.deviation < 1e-9
    X = unit(np.random.default_rng(0).standard_normal((130, 60)))
    S = X @ X.T
    rough = run(S[:120, :120], S[:120, 120:], landmarks=20)
    exact = run(S[:120, :120], S[:120, 120:], landmarks=20, exact=True)
    assert rough.deviation > 0.1
    assert exact.deviation < 1e-9
    assert valid(exact)[:120, :120] == pytest.approx(S[:120, :120], abs=1e-9)
    assert valid(exact)[:120, 120:] == pytest.approx(valid(rough)[:120, 120:], abs=1e-9)


def test_landmarks_come_near(masked):
    T, S0, counts = masked
    done = run(S0[:300, :300], S0[:300, 300:], counts, 64, landmarks=150)
    assert error(valid(done), S0, T) < 0.2


def test_indefinite_candidates_are_repaired(cloud):
    _, S, n = cloud
    rng = np.random.default_rng(0)
    E = 0.1 * rng.standard_normal((n, n))
    noisy = S[:n, :n] + (E + E.T) / 2
    np.fill_diagonal(noisy, 1.0)
    assert np.linalg.eigvalsh(noisy).min() < -0.5
    done = run(noisy, S[:n, n:])
    assert valid(done)[:n, :n] == pytest.approx(noisy, abs=done.deviation + 1e-12)
    assert 0 < done.deviation < 0.5
    repaired, base = semidefinite(noisy)
    assert np.diag(repaired) == pytest.approx(np.ones(n))
    assert base.rows @ base.rows.T == pytest.approx(repaired, abs=1e-6)
    assert run(noisy, S[:n, n:], exact=True).deviation == pytest.approx(done.deviation, abs=1e-6)


def test_other_diagonals_are_kept(cloud):
    """Scaling rows and columns scales the answer."""
    _, S, n = cloud
    scale = np.random.default_rng(0).uniform(0.1, 10, len(S))
    s0 = S[:n, n:] + 0.2 * np.random.default_rng(1).standard_normal((n, 40))
    plain = run(S[:n, :n], s0)
    p, q = scale[:n, None], scale[n:]
    done = run(S[:n, :n] * p * p.T, s0 * p * q, query_diagonal=q**2)
    valid(done, scale**2)
    assert whole(done) == pytest.approx(whole(plain) * scale[:, None] * scale, abs=1e-6)
    assert done.lengths == pytest.approx(plain.lengths, abs=1e-8)


# Whatever is given


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 12, 39])
@pytest.mark.parametrize("n_q", [1, 3])
def test_few_candidates(cloud, n, n_q):
    _, S, m = cloud
    rng = np.random.default_rng(n)
    s0 = S[:n, m : m + n_q] + 0.3 * rng.standard_normal((n, n_q))
    for counts in (None, np.full(n_q, 3)):
        valid(run(S[:n, :n], s0, counts, 8))
    valid(run(S[:n, :n], s0, effort="fast"))


CASES = {
    "zero similarities": lambda S, s0: (S, 0 * s0),
    "identity": lambda S, s0: (np.eye(len(S)), s0),
    "all alike": lambda S, s0: (np.ones_like(S), np.ones_like(s0)),
    "nothing known of candidates": lambda S, s0: (np.eye(len(S)), 0 * s0),
    "candidates are zero": lambda S, s0: (0 * S, 0 * s0),
    "one row is zero": lambda S, s0: (S * (np.arange(len(S)) > 0) * (np.arange(len(S)) > 0)[:, None], s0),
    "copies": lambda S, s0: (S[np.ix_(np.arange(len(S)) // 4, np.arange(len(S)) // 4)], s0[np.arange(len(S)) // 4]),
    "far outside": lambda S, s0: (S, 1e200 * s0),
    "signs": lambda S, s0: (np.sign(S), np.sign(s0)),
    "tiny": lambda S, s0: (1e-30 * S, 1e-15 * s0),
    "huge": lambda S, s0: (1e30 * S, 1e15 * s0),
}


@pytest.mark.parametrize("name", CASES)
def test_edge_cases(cloud, name):
    _, S, n = cloud
    given, s0 = CASES[name](S[:40, :40], S[:40, n : n + 4] + 0.1)
    for landmarks in (3000, 15):
        done = run(given, s0, np.array([3, 0, 8, 5]), 8, landmarks=landmarks)
        valid(done, [*np.diag(given), 1, 1, 1, 1])


def test_one_query(masked):
    T, S0, counts = masked
    done = run(S0[:300, :300], S0[:300, 300:301], counts[:1], 64)
    S = valid(done)
    assert np.mean((S[:300, 300] - T[:300, 300]) ** 2) < np.mean((S0[:300, 300] - T[:300, 300]) ** 2)


def test_a_single_candidate_leaves_what_was_seen():
    done = run([[1.0]], [[0.3, -0.2]])
    assert done.candidates @ done.queries.T == pytest.approx(np.array([[0.3, -0.2]]))
    assert choose_wiener(np.eye(1), np.empty(0), Noise(0, 0), np.ones(2), "full", np.random.default_rng(0)).error == 1.0


@pytest.mark.parametrize(
    ("args", "settings", "word"),
    [
        ((np.eye(3), np.zeros((2, 1))), {}, "do not fit"),
        ((np.zeros((0, 0)), np.zeros((0, 1))), {}, "do not fit"),
        ((np.eye(3), np.zeros(3)), {}, "do not fit"),
        ((np.eye(3), np.zeros((3, 0))), {}, "at least one"),
        ((np.eye(3), np.full((3, 1), np.nan)), {}, "finite"),
        ((-np.eye(3), np.zeros((3, 1))), {}, "at least 0"),
        ((np.eye(3), np.zeros((3, 1)), [1, 2]), {}, "counts has shape"),
        ((np.eye(3), np.zeros((3, 1)), [-1]), {}, "0 or more"),
        ((np.eye(3), np.zeros((3, 1))), {"effort": "lazy"}, "'full'"),
        ((np.eye(3), np.zeros((3, 1))), {"landmarks": 0}, "at least 1"),
    ],
)
def test_errors_say_what_to_give(args, settings, word):
    with pytest.raises(InputError, match=word):
        run(*args, **settings)
