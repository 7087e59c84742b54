"""The local Wiener filter of whatever is given: exact candidates, few rows, other diagonals, clear errors."""

import numpy as np
import pytest
from plain_filter import error, run, unit, valid, whole

from simcomplete._posterior.similarities.calibrate import choose_wiener
from simcomplete._posterior.similarities.filtering import Noise
from simcomplete._posterior.similarities.wiener import semidefinite
from simcomplete.errors import InputError

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
