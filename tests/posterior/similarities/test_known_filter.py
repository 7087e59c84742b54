"""Filtered similarities against numbers worked out by hand and against a plain re-computation of all of it."""

import numpy as np
import pytest

from simcomplete._posterior.similarities import calibrate, filtering, wiener
from simcomplete._posterior.similarities.wiener import complete_similarities, remainder, semidefinite
from simcomplete.errors import InputError

D = 5


def setup(n=30, n_q=6, seed=0):
    """Exact similarities of rows with lengths of their own, noisy ones to queries, lengths, and counts."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n + n_q, D)) + 0.4
    S = X @ X.T
    s0 = S[:n, n:] + 3.0 * rng.standard_normal((n, n_q))
    counts = np.array([5, 2, 3, 0, 1, 4])[:n_q]
    s0[:, counts == 0] = 0.0
    return S[:n, :n], s0, np.diag(S)[n:], counts


def plain(S, s0, own, counts, d, rng, landmarks=None, effort="full"):
    """The same in the order of the formulas, without `exact`."""
    n, n_q = s0.shape
    p = np.diag(S)
    cosines = S / np.sqrt(np.outer(p, p))
    cosines = (cosines + cosines.T) / 2
    s = s0 / np.sqrt(np.outer(p, own))
    few = np.arange(n) if landmarks is None else np.sort(rng.choice(n, landmarks, replace=False))
    known = cosines[np.ix_(few, few)]
    w, U = np.linalg.eigh(known)
    keep = np.flatnonzero(w > 1e-8 * w[-1])[::-1]
    w, U = w[keep], U[:, keep]
    rows = cosines[:, few] @ U / np.sqrt(w)
    rows /= np.maximum(1.0, np.linalg.norm(rows, axis=1, keepdims=True))
    lam = filtering.population(known, rng)
    own_lam = np.array([lam[min(k, len(lam) - 1)] for k in range(len(w))])
    y = s[few].T @ U / np.sqrt(w)
    scales = np.full(n_q, 1.0) if counts is None else np.array([1 / c - 1 / d if c else np.inf for c in counts])
    seen = np.isfinite(scales)
    scales = scales / scales[seen].mean()
    noise = filtering.fit_noise(np.mean(y[seen] ** 2, axis=0) * w, own_lam, w)
    choice = calibrate.choose_wiener(known, lam, noise, scales, effort, rng)
    prior = filtering.local_prior(rows, s, choice.setting.k)
    spread = np.array([[x * (noise.sig2 + noise.tau2 / v) for v in w] for x in scales])
    v = filtering.filtered(y, prior, own_lam, spread, choice.setting)
    return rows * np.sqrt(p)[:, None], v * np.sqrt(own)[:, None], np.linalg.norm(v, axis=1), noise, choice


@pytest.mark.parametrize("effort", ["full", "fast"])
@pytest.mark.parametrize("landmarks", [None, 20])
@pytest.mark.parametrize("counted", [True, False])
def test_all_of_it_by_its_formulas(effort, landmarks, counted):
    S, s0, own, counts = setup()
    counts = counts if counted else None
    more = {} if landmarks is None else {"landmarks": landmarks}
    done = complete_similarities(
        S, s0, counts, D if counted else None, rng=np.random.default_rng(3), effort=effort, query_diagonal=own, **more
    )
    rows, v, lengths, noise, choice = plain(S, s0, own, counts, D, np.random.default_rng(3), landmarks, effort)
    assert (done.noise.sig2, done.noise.tau2) == (pytest.approx(noise.sig2), pytest.approx(noise.tau2))
    assert done.choice.setting == choice.setting
    assert done.choice.error == pytest.approx(choice.error)
    np.testing.assert_allclose(done.candidates @ done.candidates.T, rows @ rows.T, atol=1e-9)
    np.testing.assert_allclose(done.candidates @ done.queries.T, rows @ v.T, atol=1e-9)
    np.testing.assert_allclose(done.queries @ done.queries.T, v @ v.T, atol=1e-9)
    np.testing.assert_allclose(done.lengths, lengths)
    whole = done.factor @ done.factor.T + np.diag(done.diagonal)
    np.testing.assert_allclose(np.diag(whole), [*np.diag(S), *own])
    assert done.diagonal.min() >= 0
    told = done.as_dict()
    assert (told["k"], told["b"], told["f"]) == choice.setting
    assert (told["noise_of_query"], told["noise_of_pair"]) == (done.noise.sig2, done.noise.tau2)
    assert told["candidate_deviation"] == done.deviation
    root = np.sqrt(np.outer(np.diag(S), np.diag(S)))
    gap = (rows @ rows.T - S) / root
    np.fill_diagonal(gap, 0.0)
    assert done.deviation == pytest.approx(np.abs(gap).max(), abs=1e-12)


def test_scales_go_with_one_over_the_count():
    S, s0, own, _ = setup()
    _, _, diagonal, scales = wiener._checked(S, s0, [1, 2, 4, 4, 2, 1], 4, own)
    np.testing.assert_allclose(scales, np.array([0.75, 0.25, 0, 0, 0.25, 0.75]) * 3)  # the mean is a third
    np.testing.assert_array_equal(diagonal, [*np.diag(S), *own])
    np.testing.assert_allclose(wiener._checked(S, s0, [1, 2, 1, 2, 1, 2], None, None)[3], [4 / 3, 2 / 3] * 3)
    np.testing.assert_allclose(wiener._checked(S, s0, [8, 8, 8, 8, 8, 0], 8, None)[3], [0] * 5 + [np.inf])
    assert np.isinf(wiener._checked(S, s0, [0] * 6, 8, None)[3]).all()
    _, _, diagonal, scales = wiener._checked(S, s0, None, 4, None)
    assert scales.tolist() == diagonal[-6:].tolist() == [1.0] * 6


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"S_pp": np.ones((2, 3))}, "do not fit"),
        ({"S_pp": np.eye(3)}, "do not fit"),
        ({"S0_pq": np.full((2, 1), np.inf)}, "finite"),
        ({"S_pp": np.array([[1.0, np.nan], [np.nan, 1.0]])}, "finite"),
        ({"query_diagonal": [np.nan]}, "finite"),
        ({"query_diagonal": [-1.0]}, "at least 0"),
        ({"query_diagonal": [1.0, 1.0]}, "query_diagonal has shape"),
        ({"counts": [np.nan]}, "0 or more"),
    ],
)
def test_what_is_refused(change, word):
    given = {"S_pp": np.eye(2), "S0_pq": np.zeros((2, 1)), "rng": np.random.default_rng(0)} | change
    with pytest.raises(InputError, match=word):
        complete_similarities(**given)


def test_one_landmark_is_enough_and_a_diagonal_of_zero_is_kept():
    S = np.diag([4.0, 0.0, 1.0])
    done = complete_similarities(S, np.zeros((3, 2)), rng=np.random.default_rng(0), landmarks=1, query_diagonal=[9, 0])
    whole = done.factor @ done.factor.T + np.diag(done.diagonal)
    np.testing.assert_allclose(np.diag(whole), [4, 0, 1, 9, 0], atol=1e-12)


def test_similarities_far_outside_are_cut_where_squares_would_overflow():
    S, _, _, _ = setup(n=4, n_q=1)
    root = np.sqrt(np.diag(S))
    far, cut = (
        complete_similarities(S, value * root[:, None] * [[1.0], [0], [0], [0]], rng=np.random.default_rng(0)).queries
        for value in (1e300, 1e6)
    )
    np.testing.assert_allclose(far, cut)
    below, low = (
        complete_similarities(S, value * root[:, None] * [[1.0], [0], [0], [0]], rng=np.random.default_rng(0)).queries
        for value in (-1e300, -1e6)
    )
    np.testing.assert_allclose(below, low)


def test_negative_eigenvalues_are_clipped_and_the_diagonal_is_restored():
    # Eigenvalues 3 and -1 with directions (1, 1) and (1, -1); what is left, 1.5 everywhere, gets diagonal 1 again.
    found, base = semidefinite(np.array([[1.0, 2.0], [2.0, 1.0]]))
    np.testing.assert_allclose(found, np.ones((2, 2)))
    np.testing.assert_allclose(base.w, [2.0])
    S = np.array([[1.0, 0.5], [0.5, 1.0]])
    assert semidefinite(S)[0] is S
    nearly = np.array([[1.0, 1.0 + 1e-9], [1.0 + 1e-9, 1.0]])  # within 1e-8 of the largest: left as it is
    assert semidefinite(nearly)[0] is nearly
    zero = np.array([[0.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 4.0]])
    np.testing.assert_allclose(semidefinite(zero)[0], np.diag([0.0, 0.0, 4.0]), atol=1e-12)


def test_what_rows_leave_is_put_into_more_columns():
    S = np.array([[2.0, 1.0], [1.0, 5.0]])
    rows = np.array([[1.0], [1.0]])
    more = remainder(S, rows)  # of diag(1, 4)
    np.testing.assert_allclose(np.sort(np.abs(more).sum(axis=0)), [1.0, 2.0])
    np.testing.assert_allclose(np.hstack([rows, more]) @ np.hstack([rows, more]).T, S)
    assert remainder(rows @ rows.T, rows).shape == (2, 0)
    assert remainder(rows @ rows.T + 1e-15 * np.eye(2), 10 * rows).shape == (2, 0)  # rounding is no direction


def test_exact_columns_change_nothing_but_the_candidates():
    S, s0, own, counts = setup()
    plain_, exact = (
        complete_similarities(
            S, s0, counts, D, rng=np.random.default_rng(0), effort="fast", query_diagonal=own, landmarks=3, exact=more
        )
        for more in (False, True)
    )
    r = plain_.queries.shape[1]
    np.testing.assert_allclose(exact.queries[:, :r], plain_.queries)
    assert not exact.queries[:, r:].any()
    np.testing.assert_allclose(exact.candidates @ exact.candidates.T, S, atol=1e-9)
    assert plain_.deviation > 0.1 > 1e-9 > exact.deviation


def test_the_deviation_is_measured_on_256_candidates(monkeypatch):
    monkeypatch.setattr(wiener, "COMPARED", 3)
    S, s0, _, _ = setup(n=9, n_q=1)
    done = complete_similarities(S, s0, rng=np.random.default_rng(0), landmarks=2)
    root = np.sqrt(np.diag(S))
    gap = np.abs((done.candidates @ done.candidates.T - S) / np.outer(root, root))
    np.fill_diagonal(gap, 0.0)
    assert done.deviation == pytest.approx(gap[[0, 4, 8]].max())
