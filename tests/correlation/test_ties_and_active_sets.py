"""Entries held at 1 or -1, against the problem of one row for each set; and bounds that many entries reach."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._correlation import bounded
from simcomplete._correlation.bounded import Bounded
from simcomplete._method.iterate import Limits


def invalid(n, seed=0):
    """Symmetric with unit diagonal, entries from -0.7 to 0.9, not valid."""
    A = np.triu(np.random.default_rng(seed).uniform(-0.7, 0.9, (n, n)), 1)
    A = A + A.T + np.eye(n)
    assert np.linalg.eigvalsh(A)[0] < -0.1
    return A


def tied(n, *pairs):
    """Values to hold, NaN where free."""
    fixed = np.full((n, n), np.nan)
    for i, j, value in pairs:
        fixed[i, j] = value
    return fixed


def weights(kind, n):
    rng = np.random.default_rng(3)
    H = rng.uniform(0.2, 1.0, (n, n))
    return {"none": None, "rows": rng.uniform(0.5, 2.0, n), "elements": (H + H.T) / 2}[kind]


def squares(w, n):
    """Squared weights by element."""
    if w is None:
        return np.ones((n, n))
    return np.outer(w, w) if w.ndim == 1 else w**2


@pytest.mark.parametrize("kind", ["none", "rows", "elements"])
@pytest.mark.parametrize("limits", [{}, {"lower": np.where(np.eye(9) > 0, np.nan, -1.0), "upper": 1.0}])
def test_tied_rows_are_solved_for_once(kind, limits):
    n, A, w = 9, invalid(9), weights(kind, 9)
    repair = sc.nearest_correlation(A, fixed=tied(n, (0, 4, 1), (4, 7, -1), (2, 3, 0.25)), weights=w, **limits)
    X, H2 = repair.matrix, squares(w, n)
    assert repair.status.ok
    assert repair.n_iter < 100
    np.testing.assert_array_equal(X[0], X[4])
    np.testing.assert_array_equal(X[0], -X[7])
    assert X[2, 3] == 0.25
    assert X[0, 7] == -1
    assert np.linalg.eigvalsh(X)[0] > -1e-8
    assert repair.certificate.objective == pytest.approx(np.sum(H2 * (X - A) ** 2), rel=1e-9)
    assert repair.certificate.relative_gap < 1e-6
    # By hand: the mean of the rows, with the weights that belong to it.
    s, rest = np.array([1.0, 1.0, -1.0]), [1, 2, 3, 5, 6, 8]
    S = np.zeros((n, 7))
    S[[0, 4, 7], 0] = s
    S[rest, range(1, 7)] = 1
    W = np.abs(S).T @ H2 @ np.abs(S)
    M = S.T @ (H2 * A) @ S / W
    np.fill_diagonal(M, 1)
    alone = sc.nearest_correlation(M, fixed=tied(7, (2, 3, 0.25)), weights=np.sqrt(W))
    np.testing.assert_allclose(X, S @ alone.matrix @ S.T, atol=1e-5)


def test_ties_agree_with_nearly_tied_entries():
    n, A = 8, invalid(8, 1)
    exact = sc.nearest_correlation(A, fixed=tied(n, (1, 5, 1), (2, 6, -1)))
    nearly = sc.nearest_correlation(A, fixed=tied(n, (1, 5, 1 - 1e-6), (2, 6, -1 + 1e-6)))
    np.testing.assert_allclose(exact.matrix, nearly.matrix, atol=5e-3)
    # Entries nearer to +-1 leave less freedom, so the optimum can only be further away.
    assert nearly.distance <= exact.distance < nearly.distance + 1e-2


def test_unknown_pairs_blocks_covariances_and_bounds_with_ties():
    n, A = 7, invalid(7, 2)
    gaps = A.copy()
    gaps[0, 2] = gaps[2, 0] = np.nan
    X = sc.nearest_correlation(gaps, fixed=tied(n, (0, 1, -1))).matrix
    np.testing.assert_allclose(X[0], -X[1])
    A[:2, :2] = 1.0
    with pytest.raises(sc.errors.InputError, match="smallest eigenvalue"):  # equal rows that differ in the block
        sc.nearest_correlation(A, block=3)
    A[0, 2] = A[2, 0] = A[1, 2]
    X = sc.nearest_correlation(A, block=3).matrix
    np.testing.assert_array_equal(X[:3, :3], A[:3, :3])
    np.testing.assert_allclose(X[0], X[1], atol=1e-8)
    lower = np.full((n, n), np.nan)
    lower[2, 4] = 1.0
    bounded_result = sc.nearest_correlation(A, lower=lower)
    assert bounded_result.status.ok
    np.testing.assert_allclose(bounded_result.matrix[2], bounded_result.matrix[4])
    sd = np.array([1.0, 2.0, 3.0, 0.7, 0.3, 1.1, 5.0])
    C = A * np.outer(sd, sd)
    repair = sc.nearest_covariance(C, fixed=tied(n, (3, 6, 0.7 * 5.0)))
    assert repair.status.ok
    assert repair.values[3, 6] == 0.7 * 5.0


@pytest.mark.parametrize(
    ("pairs", "named"),
    [
        ([(0, 1, 1), (1, 2, 1), (0, 2, -1)], "A[0, 1]"),
        ([(0, 1, 1), (0, 3, 0.5), (1, 3, -0.5)], "A[0, 3]"),
        ([(0, 1, 1), (0, 2, 0.9), (1, 3, -0.9), (2, 3, 0.9)], "A[2, 3]"),
    ],
)
def test_ties_that_contradict_other_entries_are_refused(pairs, named):
    with pytest.raises(sc.errors.InputError, match="contradict each other") as error:
        sc.nearest_correlation(invalid(6), fixed=tied(6, *pairs))
    assert named in str(error.value)


@pytest.mark.parametrize("n", [40, 310])  # the second begins in single precision, and is too crowded for an empty set
def test_both_active_sets_are_the_same(n):
    A = invalid(n, 4)
    low, high = np.full((n, n), -0.15), np.full((n, n), 0.2)
    problem = Bounded(A, np.ones(n), np.zeros((n, n), dtype=bool), low, high, 1e-9, Limits(progress=False))
    X, run = problem.from_splitting()
    off = X[~np.eye(n, dtype=bool)]
    assert np.mean((off < -0.15 + 1e-8) | (off > 0.2 - 1e-8)) > 0.1
    assert off.min() > -0.15 - 1e-8
    assert off.max() < 0.2 + 1e-8
    objective = np.sum((X - A) ** 2)
    assert objective == pytest.approx(2 * problem.weighted.bound(run.best.negative()), rel=1e-7)
    if n < 300:
        np.testing.assert_allclose(X, problem.from_empty_set()[0], atol=1e-7)
    else:
        assert problem.from_empty_set() is None


def test_a_set_that_does_not_settle_is_left_to_splitting(monkeypatch):
    A = invalid(30, 5)
    expected = sc.nearest_correlation(A, lower=-0.2, upper=0.3)
    monkeypatch.setattr(bounded, "ROUNDS", 1)
    monkeypatch.setattr(bounded, "MOST_ROUNDS", 1)
    left = sc.nearest_correlation(A, lower=-0.2, upper=0.3)
    assert left.n_iter > expected.n_iter
    np.testing.assert_allclose(left.matrix, expected.matrix, atol=1e-6)
