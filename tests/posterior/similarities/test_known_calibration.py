"""How the Wiener filter is calibrated, against numbers worked out by hand and against plain loops."""

import numpy as np
import pytest
import scipy.optimize

from simcomplete._posterior.similarities import calibrate, filtering
from simcomplete._posterior.similarities.filtering import Directions, Noise, WienerSetting


def rows_of(n, d, seed):
    X = np.random.default_rng(seed).standard_normal((n, d)) + 0.5
    return X / np.linalg.norm(X, axis=1, keepdims=True)


def eigen(S):
    """Eigenpairs above 1e-8 of the largest, largest first."""
    w, U = np.linalg.eigh(S)
    keep = [k for k in reversed(range(len(w))) if w[k] > 1e-8 * w[-1] and w[k] > 0]
    return w[keep], U[:, keep]


def repeated(values, size):
    return np.array([values[min(k, len(values) - 1)] for k in range(size)])


def weighted_mean(rows, scores, k):
    """Mean of the rows with the largest scores, 64 and all but one at most, weights of k effective neighbours."""
    order = sorted(range(len(rows)), key=lambda i: (-scores[i], i))[: max(1, min(64, len(rows) - 1))]
    D = np.array([2 * scores[order[0]] - 2 * scores[i] for i in order])
    low, high = 1e-4, 100.0
    for _ in range(12):
        middle = np.sqrt(low * high)
        w = np.exp(-D / (middle * D.mean()))
        if w.sum() ** 2 / (w @ w) < min(k, 0.8 * len(order)):
            low = middle
        else:
            high = middle
    return w / w.sum() @ rows[order]


# Directions


def test_eigenvalues_near_zero_and_below_are_dropped():
    w, U = np.array([-1.0, 0.9e-8, 1.1e-8, 1.0]), np.eye(4)
    found = Directions.kept(w, U)
    assert found.w.tolist() == [1.0, 1.1e-8]
    assert found.U.tolist() == np.eye(4)[:, [3, 2]].tolist()
    assert Directions.kept(np.array([-2.0, -1.0]), np.eye(2)).w.size == 0
    assert Directions.kept(np.array([0.0, 0.0]), np.eye(2)).w.size == 0


def test_rows_and_coordinates_by_hand():
    base = Directions.of(np.diag([4.0, 9.0]))
    assert np.abs(base.rows).tolist() == [[0.0, 2.0], [3.0, 0.0]]
    # A query of similarities 2 and 6: 6/3 along the first direction, 2/2 along the second.
    assert np.abs(base.coordinates(np.array([[2.0], [6.0]]))).tolist() == [[2.0, 1.0]]
    assert Noise(0.5, 3.0).along(np.array([1.0, 6.0])).tolist() == [3.5, 1.0]


def test_values_are_extended_by_the_last_one():
    assert filtering.padded(np.array([3.0, 2.0]), 4).tolist() == [3, 2, 2, 2]
    assert filtering.padded(np.array([3.0, 2.0, 1.0]), 2).tolist() == [3, 2]
    assert filtering.padded(np.empty(0), 2).tolist() == [1, 1]
    assert filtering.padded(np.empty(0), 2, 0.0).tolist() == [0, 0]


@pytest.mark.parametrize("n", [12, 13])
def test_population_variances_in_a_loop(n):
    X = rows_of(n, 4, 0)
    S = X @ X.T
    found = filtering.population(S, np.random.default_rng(1))
    rng, size, splits = np.random.default_rng(1), n // 2, []
    for _ in range(2):
        order = rng.permutation(n)
        w, U = eigen(S[np.ix_(order[:size], order[:size])])
        seen = [[U[:, k] @ S[order[:size], h] / np.sqrt(w[k]) for k in range(len(w))] for h in order[size:]]
        splits.append(repeated(np.mean(np.square(seen), axis=0), size))
    np.testing.assert_allclose(found, np.mean(splits, axis=0), rtol=1e-9)
    assert filtering.population(np.ones((1, 1)), rng).shape == (0,)
    assert filtering.population(np.ones((2, 2)), rng).tolist() == [1.0]
    assert filtering.population(np.zeros((2, 2)), rng).tolist() == [0.0]  # no direction: no variance


# Noise


def plain_noise(t2, lam, w):
    skip = -(-2 * len(w) // 100)
    if len(w) - skip < 2:
        skip = 0
    w, known, t2 = w[skip:], (lam * w)[skip:], t2[skip:]
    variance = [max(a, b) for a, b in zip(known, t2, strict=True)]
    for _ in range(8):
        variance = [max(v, 1e-12 * max(variance)) for v in variance]
        A = np.array([[x / v, 1 / v] for x, v in zip(w, variance, strict=True)])
        sig2, tau2 = scipy.optimize.nnls(A, (t2 - known) / variance)[0]
        variance = [k + sig2 * x + tau2 for k, x in zip(known, w, strict=True)]
    return sig2, tau2


@pytest.mark.parametrize("size", [1, 2, 3, 40, 120])
def test_noise_is_fitted_as_in_a_loop(size):
    rng = np.random.default_rng(size)
    w = np.sort(rng.uniform(0.5, 20, size))[::-1]
    lam = 0.02 * rng.uniform(0.5, 1.5, size)
    t2 = ((lam + 0.05) * w + 0.1) * rng.uniform(0.2, 2.5, size)
    if size == 40:
        t2[5], lam[5] = 0.0, 0.0  # nothing is seen along it, and nothing expected
    noise = filtering.fit_noise(t2, lam, w)
    np.testing.assert_allclose([noise.sig2, noise.tau2], plain_noise(t2, lam, w), rtol=1e-9, atol=1e-14)


def test_noise_of_nothing_is_zero():
    assert filtering.fit_noise(np.zeros(4), np.zeros(4), np.arange(4.0, 0, -1)) == Noise(0.0, 0.0)
    assert filtering.fit_noise(np.empty(0), np.empty(0), np.empty(0)) == Noise(0.0, 0.0)


def test_the_first_direction_of_each_fifty_is_left_out():
    w = np.linspace(60, 1, 51)
    t2 = 0.03 * w + 0.5
    t2[:2] = 1e3  # of 51 directions two are left out
    noise = filtering.fit_noise(t2, np.zeros(51), w)
    assert (noise.sig2, noise.tau2) == (pytest.approx(0.03), pytest.approx(0.5))
    t2[2] = 1e3
    assert filtering.fit_noise(t2, np.zeros(51), w).sig2 > 0.04


def test_noise_of_queries_by_hand():
    found = filtering.noise_of(Noise(1.0, 2.0), np.array([0.5, np.inf, 0.0]), np.array([4.0, 1.0]))
    assert found.tolist() == [[0.75, 1.5], [np.inf, np.inf], [0.0, 0.0]]


# The prior and the filter


@pytest.mark.parametrize("n", [2, 5, 70])
def test_the_local_prior_in_a_loop(n):
    rng = np.random.default_rng(n)
    rows, s0 = rng.standard_normal((n, 3)), rng.standard_normal((n, 4))
    s0[:, 3] = 0.25  # tells none apart
    found = filtering.local_prior(rows, s0, 3.0)
    for q in range(3):
        expected = rows[np.argmax(s0[:, q])] if n == 2 else weighted_mean(rows, s0[:, q], 3.0)
        np.testing.assert_allclose(found[q], expected, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(found[3], rows.mean(axis=0))


def test_vectors_are_shortened_to_length_one_and_never_made_longer():
    found = filtering.shortened(np.array([[3.0, 4.0], [0.3, 0.4], [0.0, 0.0]]))
    np.testing.assert_allclose(found, [[0.6, 0.8], [0.3, 0.4], [0.0, 0.0]])


def test_the_filter_in_a_loop():
    rng = np.random.default_rng(0)
    y, prior = 0.3 * rng.standard_normal((2, 5, 3))
    lam, noise = rng.random(3), rng.random((5, 3))
    noise[0] = 0.0
    found = filtering.filtered(y, prior, lam, noise, WienerSetting(5.0, 0.75, 0.3))
    for q in range(5):
        for k in range(3):
            g = 0.3 * lam[k] / (0.3 * lam[k] + noise[q, k]) if noise[q, k] else 1.0
            mu = 0.75 * prior[q, k]
            assert found[q, k] == pytest.approx(mu + g * (y[q, k] - mu))


# Candidates that are held out


@pytest.fixture
def played():
    """Twenty rows of four features, two of them copies, and what `hold_out_candidates` makes of them."""
    X = rows_of(20, 4, 3)
    X[7], X[11] = X[2], X[13]
    S = np.minimum(X @ X.T, 1.0)
    lam, noise, scales = np.array([0.4, 0.3, 0.2]), Noise(0.02, 0.05), np.array([0.0, 1.0, 2.0, np.inf])
    return (
        S,
        lam,
        noise,
        scales,
        calibrate.hold_out_candidates(S, lam, noise, scales, {3.0, 5.0}, 8, np.random.default_rng(5)),
    )


def test_a_holdout_in_a_loop(played):
    S, lam, _, scales, play = played
    rng = np.random.default_rng(5)
    distinct = [i for i in range(20) if i not in (7, 13)]  # each copy comes after its first
    held = [distinct[i] for i in rng.choice(18, 8, replace=False)]
    rest = [i for i in range(20) if max(S[i, h] for h in held) <= 1 - 1e-6]
    w, U = eigen(S[np.ix_(rest, rest)])
    np.testing.assert_allclose(play.others.w, w)
    truth = S[np.ix_(rest, held)]
    np.testing.assert_array_equal(play.truth, truth)
    scale = scales[rng.integers(4, size=8)]
    assert {0.0, np.inf} <= set(scale.tolist())
    z = rng.standard_normal((8, len(w)))
    V = play.others.U  # eigenvectors up to their signs
    np.testing.assert_allclose(np.abs(V), np.abs(U), atol=1e-9)
    pairs = rng.standard_normal(truth.shape)
    s0 = np.zeros_like(truth)
    for q in range(8):
        true = truth[:, q] @ V / np.sqrt(w)
        true /= np.sqrt(true @ true)
        turned = z[q] - true * (true @ z[q])
        moved = np.sqrt(0.02) * (V * np.sqrt(w)) @ turned + np.sqrt(0.05) * pairs[:, q]
        s0[:, q] = 0 if np.isinf(scale[q]) else truth[:, q] + np.sqrt(scale[q]) * moved
        wanted = np.full(len(w), np.inf) if np.isinf(scale[q]) else scale[q] * (0.02 + 0.05 / w)
        np.testing.assert_allclose(play.noise[q], wanted)
    np.testing.assert_allclose(play.y, s0.T @ V / np.sqrt(w), atol=1e-9)
    np.testing.assert_allclose(play.lam, repeated(lam, len(w)))
    assert set(play.priors) == {3.0, 5.0}
    for k, prior in play.priors.items():
        np.testing.assert_allclose(prior, filtering.local_prior(V * np.sqrt(w), s0, k), atol=1e-9)


def test_copies_stay_where_too_few_would_be_left():
    X = rows_of(3, 2, 0)[[0, 0, 0, 0, 0, 1, 2]]
    play = calibrate.hold_out_candidates(
        np.minimum(X @ X.T, 1), np.ones(2), Noise(0, 0), np.ones(1), {5.0}, 3, np.random.default_rng(0)
    )
    assert play.truth.shape == (4, 3)  # the copies of the first row are its neighbours


def test_squared_errors_in_coordinates_are_those_of_similarities(played):
    play = played[-1]
    settings = [WienerSetting(3.0, 0.75, 0.3), WienerSetting(5.0, 1.0, 1.0), WienerSetting(5.0, 0.0, 0.0)]
    for setting, total in zip(settings, play.total(settings), strict=True):
        v = play.vectors(setting)
        errors, gap = play.errors(setting)
        np.testing.assert_allclose(errors, v @ play.others.rows.T - play.truth.T, atol=1e-12)
        assert total == pytest.approx(np.sum(errors**2))
        length = np.minimum(np.sqrt(np.sum(v**2, axis=1)), np.sqrt(1 - 1e-4))
        np.testing.assert_allclose(gap[:, 0], np.sqrt(1 - length**2))
    # Similarities that no vector has count as well: here others are two of three equal angles apart.
    far = calibrate.SimilaritiesHoldout(
        Directions.of(np.ones((2, 2))),
        np.array([[1.0], [-1.0]]),
        np.zeros((1, 1)),
        {5.0: np.zeros((1, 1))},
        np.ones(1),
        np.ones((1, 1)),
    )
    assert far.total([WienerSetting(5.0, 1.0, 1.0)]).tolist() == pytest.approx([2.0])


# The choice


@pytest.mark.parametrize(("effort", "rounds", "count"), [("full", 20, 4), ("fast", 20, 4)])
def test_the_choice_in_a_loop(effort, rounds, count):
    X = rows_of(22, 5, 1)
    S, lam, noise, scales = X @ X.T, np.array([0.3, 0.2, 0.1]), Noise(0.05, 0.02), np.array([0.5, 1.5])
    grid = [WienerSetting(10.0, 1.0, f) for f in (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)]
    if effort == "full":
        tries = [(10.0, 0.0), *((k, b) for k in (3.0, 5.0, 10.0, 20.0) for b in (0.75, 1.0))]
        grid = [WienerSetting(k, b, f) for k, b in tries for f in (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)]
    assert set(calibrate.GRIDS[effort]) == set(grid)
    found = calibrate.choose_wiener(S, lam, noise, scales, effort, np.random.default_rng(2))
    rng, ks = np.random.default_rng(2), {s.k for s in grid}
    plays = [calibrate.hold_out_candidates(S, lam, noise, scales, ks, count, rng) for _ in range(rounds)]
    errors = {s: np.concatenate([play.errors(s)[0].ravel() for play in plays]) for s in grid}
    best = min(grid, key=lambda s: np.sum(errors[s] ** 2))
    assert found.setting == best
    assert found.error == pytest.approx(np.mean(errors[best] ** 2))
    ratios = np.concatenate([np.abs(e / gap).ravel() for e, gap in (play.errors(best) for play in plays)])
    # Every candidate is simulated several times: 22 of them count for a third as many rows.
    at = np.arange(1001) / 1000
    wider = 1 + 3.6 * at * ((22 / 3) ** -0.5 - 50**-0.5)
    np.testing.assert_allclose(found.quantiles, np.quantile(ratios, at) * wider)


@pytest.mark.parametrize(
    ("n", "effort", "rounds", "count"), [(104, "fast", 10, 20), (125, "full", 16, 25), (40, "full", 20, 8)]
)
def test_how_often_candidates_play(n, effort, rounds, count, monkeypatch):
    """A fifth plays at a time, until there were 200 (fast) or 400 (full), twenty times at most."""
    asked = []
    plain = calibrate.hold_out_candidates

    def plain_holdout(S, lam, noise, scales, ks, count, rng):
        asked.append(count)
        return plain(S[:9, :9], lam, noise, scales, ks, 2, rng)

    monkeypatch.setattr(calibrate, "hold_out_candidates", plain_holdout)
    X = rows_of(n, 3, 0)
    calibrate.choose_wiener(X @ X.T, np.ones(3), Noise(0.1, 0.1), np.ones(1), effort, np.random.default_rng(0))
    assert asked == [count] * rounds


def test_with_one_candidate_what_was_seen_is_kept():
    found = calibrate.choose_wiener(np.eye(1), np.empty(0), Noise(0, 0), np.ones(1), "full", np.random.default_rng(0))
    assert found.setting[1:] == (0.0, 1.0)
    assert found.error == 1.0
    assert found.quantiles.tolist() == [1.0] * 1001
    two = calibrate.choose_wiener(np.eye(2), np.ones(1), Noise(0.1, 0.1), np.ones(1), "fast", np.random.default_rng(0))
    assert two.setting in calibrate.GRIDS["fast"]  # of two candidates one can play
