"""Entries held at 1 or -1: variables that they tie are one, and the answer is exact after a few steps."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete.errors import InputError


def inconsistent(seed, n):
    A = np.random.default_rng(seed).uniform(-1, 1, size=(n, n))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1.0)
    return A


def held(n, **entries):
    F = np.full((n, n), np.nan)
    for name, value in entries.items():
        i, j = int(name[1]), int(name[2])
        F[i, j] = F[j, i] = value
    return F


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_of_three_variables_the_third_entry_is_the_mean_of_two(sign):
    A = np.array([[1.0, 0.3, 0.5], [0.3, 1.0, 0.2], [0.5, 0.2, 1.0]])
    repair = sc.nearest_correlation(A, fixed=held(3, _01=sign), progress=False)
    y = (0.5 + sign * 0.2) / 2
    np.testing.assert_allclose(repair.values, [[1, sign, y], [sign, 1, sign * y], [y, sign * y, 1]], atol=1e-12)
    assert repair.status.ok and repair.certificate.relative_gap < 1e-10
    assert repair.certificate.objective == pytest.approx(np.sum((repair.values - A) ** 2))


@pytest.mark.parametrize("weights", [None, "rows", "elements"])
@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_as_with_one_variable_by_hand(weights, sign):
    n, rng = 8, np.random.default_rng(4)
    A, w = inconsistent(3, n), rng.random(n) + 0.2
    H = {None: np.ones((n, n)), "rows": np.sqrt(np.outer(w, w))}.get(weights)
    if H is None:
        H = rng.random((n, n)) + 0.2
        H = (H + H.T) / 2
    asked = {None: None, "rows": w, "elements": H}[weights]
    repair = sc.nearest_correlation(A, weights=asked, fixed=held(n, _27=sign, _04=0.1), progress=False)
    signs = np.ones(n)
    signs[7] = sign
    B, h = A * np.outer(signs, signs), H**2
    both = h[2, :7] + h[7, :7]
    target, counts = B[:7, :7].copy(), h[:7, :7].copy()
    target[2] = target[:, 2] = (h[2, :7] * B[2, :7] + h[7, :7] * B[7, :7]) / both
    counts[2] = counts[:, 2] = both
    np.fill_diagonal(target, 1.0)
    by_hand = sc.nearest_correlation(target, weights=np.sqrt(counts), fixed=held(7, _04=0.1), progress=False)
    every = [*range(7), 2]
    np.testing.assert_allclose(repair.values, by_hand.values[np.ix_(every, every)] * np.outer(signs, signs), atol=2e-6)
    assert repair.status.ok and repair.n_iter < 100
    assert repair.values[2, 7] == sign and repair.values[0, 4] == 0.1
    assert repair.certificate.relative_gap < 1e-6


def test_it_is_nearer_than_what_comes_close_to_a_tie():
    A = inconsistent(5, 7)
    exact = sc.nearest_correlation(A, fixed=held(7, _16=1.0), progress=False)
    close = sc.nearest_correlation(A, fixed=held(7, _16=1 - 1e-8), progress=False)
    assert exact.n_iter < 10
    np.testing.assert_allclose(exact.values, close.values, atol=1e-3)  # entries may differ by the root of 2e-8 each


def test_chains_of_signs_and_a_whole_block():
    A = inconsistent(6, 6)
    X = sc.nearest_correlation(A, fixed=held(6, _01=-1.0, _12=-1.0, _23=1.0), progress=False).values
    np.testing.assert_array_equal(X[:4, :4], np.outer([1, -1, 1, 1], [1, -1, 1, 1]))
    assert np.linalg.eigvalsh(X)[0] > -1e-9
    A[:3, :3] = 1.0
    block = sc.nearest_correlation(A, block=3, progress=False)
    assert block.status.ok and (block.values[:3, :3] == 1).all()
    np.testing.assert_allclose(block.values[0], block.values[1], atol=1e-9)


def test_all_variables_may_be_one():
    repair = sc.nearest_correlation(inconsistent(7, 4), fixed=held(4, _01=1.0, _02=-1.0, _03=1.0), progress=False)
    np.testing.assert_array_equal(repair.values, np.outer([1, 1, -1, 1], [1, 1, -1, 1]))
    assert repair.status.ok


def test_unknown_pairs_follow_the_known_ones():
    A = inconsistent(8, 5)
    A[0, 3] = A[3, 0] = A[0, 2] = A[2, 0] = A[1, 2] = A[2, 1] = np.nan
    X = sc.nearest_correlation(A, fixed=held(5, _01=1.0), progress=False).values
    np.testing.assert_allclose(X[0], X[1], atol=1e-6)
    assert np.isfinite(X).all()


def test_covariances():
    sd = np.array([1.0, 2.0, 3.0, 4.0])
    S = inconsistent(9, 4) * np.outer(sd, sd)
    F = held(4, _13=8.0)
    repair = sc.nearest_covariance(S, fixed=F, progress=False)
    assert repair.status.ok and repair.values[1, 3] == 8
    np.testing.assert_allclose(repair.values[1] / 2, repair.values[3] / 4, atol=1e-7)


@pytest.mark.parametrize("entries", [{"_02": -1.0}, {"_02": 0.5}, {"_03": 0.2, "_13": 0.3}])
def test_contradictions_are_named(entries):
    with pytest.raises(InputError, match="contradict each other"):
        sc.nearest_correlation(inconsistent(1, 4), fixed=held(4, _01=1.0, _12=1.0, **entries), progress=False)


def test_bounds_of_tied_variables_hold_for_each_other():
    A, upper = inconsistent(2, 5), np.full((5, 5), np.nan)
    upper[1, 3] = upper[3, 1] = -0.4
    X = sc.nearest_correlation(A, fixed=held(5, _01=-1.0), upper=upper, progress=False).values
    assert X[0, 3] >= 0.4 - 1e-7 and X[1, 3] <= -0.4


@pytest.mark.parametrize("away", [1e-15, 1e-12, 1e-9])
def test_a_value_next_to_one_is_taken_for_it_and_told(away):
    A = inconsistent(5, 6)
    near = sc.nearest_correlation(A, fixed=held(6, _01=1 - away, _23=away - 1), progress=False)
    exact = sc.nearest_correlation(A, fixed=held(6, _01=1.0, _23=-1.0), progress=False)
    assert near.status.ok and near.n_iter < 20
    np.testing.assert_allclose(near.values, exact.values, atol=2e-9)
    assert "2 fixed entries are within 1e-09 of 1 or -1, and taken for it" in str(near.notes)
    assert not exact.notes


def test_a_value_next_to_one_stays_where_one_would_contradict_others():
    A, F = inconsistent(6, 3), held(3, _01=1 - 1e-9, _02=0.5, _12=0.5 + 1e-6)  # 4e-5 apart is possible
    repair = sc.nearest_correlation(A, fixed=F, progress=False)
    assert repair.status.ok and not repair.notes
    np.testing.assert_array_equal(repair.values[[0, 0, 1], [1, 2, 2]], F[[0, 0, 1], [1, 2, 2]])


def test_a_covariance_next_to_that_of_its_deviations():
    A, s = inconsistent(7, 4), np.array([1.0, 2.0, 0.5, 3.0])
    C = A * np.outer(s, s)
    F = held(4, _01=1 - 1e-12) * np.outer(s, s)
    repair = sc.nearest_covariance(C, fixed=F, progress=False)
    assert repair.status.ok and "1 fixed entry is within" in repair.notes[-1]
    np.testing.assert_allclose(repair.values[1], 2 * repair.values[0], atol=1e-8)
