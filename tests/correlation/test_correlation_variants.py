"""Shrinking, covariances, a rank and factors: against closed forms and the definition."""

import numpy as np
import pandas as pd
import pytest

import simcomplete as sc


def noisy(n, seed=0):
    rng = np.random.default_rng(seed)
    A = rng.uniform(-1, 1, (n, n))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1)
    return A


@pytest.mark.parametrize("floor", [0.0, 0.05])
def test_shrinking_is_the_smallest_that_is_valid(floor):
    A = noisy(15)
    repair = sc.shrink_to_valid(A, min_eigenvalue=floor)
    w = np.linalg.eigvalsh(A)[0]
    assert repair.alpha == pytest.approx((floor - w) / (1 - w))  # (1 - alpha) w + alpha = floor
    assert repair.min_eigenvalue_after == pytest.approx(floor, abs=1e-12)
    np.testing.assert_allclose(repair.matrix, (1 - repair.alpha) * A + repair.alpha * np.eye(15), atol=1e-14)
    assert repair.distance >= sc.nearest_correlation(A, min_eigenvalue=floor).distance


def test_shrinking_towards_another_target_and_what_is_valid_already():
    A, T = noisy(6), np.full((6, 6), 0.3) + 0.7 * np.eye(6)
    repair = sc.shrink_to_valid(pd.DataFrame(A, columns=list("abcdef")), target=T)
    assert isinstance(repair.matrix, pd.DataFrame)
    assert repair.min_eigenvalue_after == pytest.approx(0, abs=1e-12)
    assert sc.shrink_to_valid(T).alpha == 0
    np.testing.assert_array_equal(sc.shrink_to_valid(T).matrix, T)


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"target": "zero"}, "target='zero' is unknown"),
        ({"target": np.ones((6, 6))}, "target has a smallest eigenvalue of"),
        ({"target": 2 * np.eye(6)}, "target must be a correlation matrix"),
        ({"block": 9}, "block=9"),
        ({"block": 2, "target": np.eye(6)}, "cannot be combined"),
    ],
)
def test_targets_that_cannot_be(more, message):
    with pytest.raises(sc.errors.InputError, match=message):
        sc.shrink_to_valid(noisy(6), **more)


def test_shrinking_needs_every_entry():
    A = noisy(4)
    A[0, 2] = A[2, 0] = np.nan
    with pytest.raises(sc.errors.InputError, match=r"A\[0, 2\] is unknown"):
        sc.shrink_to_valid(A)


def covariance(n=8, seed=1):
    sd = np.linspace(0.1, 4, n)
    return noisy(n, seed) * np.outer(sd, sd), sd


def test_variances_stay_and_the_matrix_is_the_nearest():
    C, sd = covariance()
    repair = sc.nearest_covariance(C)
    np.testing.assert_array_equal(np.diag(repair.matrix), np.diag(C))
    assert repair.min_eigenvalue_after > -1e-9
    assert repair.certificate.relative_gap < 1e-8
    rng = np.random.default_rng(0)
    for _ in range(50):  # <C - X, Y - X> <= 0 for every covariance matrix Y of these variances
        F = rng.standard_normal((8, rng.integers(1, 9)))
        F *= (sd / np.linalg.norm(F, axis=1))[:, None]
        assert np.sum((C - repair.matrix) * (F @ F.T - repair.matrix)) < 1e-6


def test_through_the_correlation_matrix():
    C, sd = covariance()
    repair = sc.nearest_covariance(C, through="correlation", min_eigenvalue=1e-6)
    expected = sc.nearest_correlation(C, rescale=True, min_eigenvalue=1e-6).matrix * np.outer(sd, sd)
    np.testing.assert_allclose(repair.matrix, expected, atol=1e-8)
    assert repair.cholesky().shape == (8, 8)


def test_keeping_nothing_raises_eigenvalues():
    C, _ = covariance()
    w, U = np.linalg.eigh(C)
    repair = sc.nearest_covariance(C, keep="nothing", min_eigenvalue=0.01)
    np.testing.assert_allclose(repair.matrix, (U * np.maximum(w, 0.01)) @ U.T, atol=1e-12)
    assert repair.distance < sc.nearest_covariance(C, min_eigenvalue=1e-3).distance


def test_units_do_not_matter():
    C, _ = covariance()
    small, large = sc.nearest_covariance(1e-8 * C), sc.nearest_covariance(C)
    np.testing.assert_allclose(small.matrix, 1e-8 * large.matrix, rtol=1e-6)
    floored = sc.nearest_covariance(1e-8 * C, min_eigenvalue=1e-11).min_eigenvalue_after
    assert floored == pytest.approx(1e-11, rel=1e-3)
    assert large.certificate.objective == pytest.approx(large.distance**2)
    assert small.certificate.objective == pytest.approx(small.distance**2, rel=1e-9, abs=0)


def test_a_variance_of_zero_has_no_covariances():
    C, _ = covariance(4)
    C[2, 2] = 0
    repair = sc.nearest_covariance(pd.DataFrame(C, index=list("abcd"), columns=list("abcd")))
    assert (repair.values[2] == 0).all()
    assert "1 variances are 0 ('c')" in repair.notes[0]
    assert repair.min_eigenvalue_after > -1e-9
    assert (sc.nearest_covariance(np.zeros((2, 2))).matrix == 0).all()


@pytest.mark.parametrize(
    ("given", "more", "message"),
    [
        (np.diag([1.0, -2.0]), {}, r"A\[1, 1\] = -2 is a negative variance"),
        (pd.DataFrame(np.diag([1.0, -2]), list("ab"), list("ab")), {}, r"A\['b', 'b'\] = -2 is a negative variance"),
        (np.array([[1.0, 0.5], [0.5, np.nan]]), {}, r"A\[1, 1\] is unknown, and a variance is needed"),
        (np.eye(2), {"keep": "all"}, "keep='all' is unknown"),
        (np.eye(2), {"through": "time"}, "through='time' is unknown"),
        (np.eye(2), {"min_eigenvalue": 1.5}, "not below the smallest variance"),
    ],
)
def test_covariances_that_cannot_be(given, more, message):
    with pytest.raises(sc.errors.InputError, match=message):
        sc.nearest_covariance(given, **more)


def test_a_rank_that_is_there_is_found_and_proved():
    F = np.random.default_rng(0).standard_normal((20, 3))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    repair = sc.nearest_correlation(F @ F.T, rank=3)
    assert repair.distance < 1e-5
    assert repair.factors.shape == (20, 3)
    assert repair.certificate.starts == 5


def test_a_rank_bound_is_at_least_the_convex_one_and_no_other_is_nearer():
    A = noisy(12, 3)
    repair, full = sc.nearest_correlation(A, rank=4), sc.nearest_correlation(A)
    assert full.certificate.objective <= repair.certificate.lower_bound + 1e-9
    assert repair.certificate.lower_bound <= repair.certificate.objective
    rng = np.random.default_rng(1)
    for _ in range(200):
        V = repair.factors + 0.05 * rng.standard_normal((12, 4))
        V /= np.linalg.norm(V, axis=1, keepdims=True)
        assert np.sum((V @ V.T - A) ** 2) > repair.certificate.objective
    assert "starts ended here" in repair.status.message


def test_a_weighted_rank():
    A = noisy(8, 4)
    H = np.ones((8, 8))
    H[0, 1] = H[1, 0] = 30
    repair = sc.nearest_correlation(A, rank=2, weights=H)
    assert abs(repair.matrix[0, 1] - A[0, 1]) < 0.01 < abs(sc.nearest_correlation(A, rank=2).matrix[0, 1] - A[0, 1])


def test_factors_that_are_there_are_found():
    rng = np.random.default_rng(2)
    V = rng.uniform(-0.6, 0.6, (15, 2))
    A = V @ V.T
    np.fill_diagonal(A, 1)
    repair = sc.factor_correlation(pd.DataFrame(A), 2)
    assert repair.distance < 1e-5
    np.testing.assert_allclose(repair.factors @ repair.factors.T, V @ V.T, atol=1e-3)
    assert repair.certificate.agreed >= 3
    assert isinstance(repair.matrix, pd.DataFrame)
    with pytest.raises(sc.errors.InputError, match="k=0 is not a number of factors"):
        sc.factor_correlation(A, 0)


def test_factors_use_the_border_of_the_ball():
    A = noisy(10, 5)
    repair = sc.factor_correlation(A, 3)
    lengths = np.linalg.norm(repair.factors, axis=1)
    assert lengths.max() <= 1 + 1e-12
    assert lengths.max() > 1 - 1e-6
    assert np.linalg.eigvalsh(repair.matrix)[0] > -1e-10


@pytest.mark.parametrize("unknown", [False, True])
def test_a_result_that_did_not_converge_is_valid_also_with_entries_held(unknown):
    # Entries that are held next to -1 and 1 leave next to no positive definite matrix, and multipliers grow for long.
    A = np.sign(np.random.default_rng(3).standard_normal((10, 10)))
    A, fixed = np.triu(A, 1) + np.triu(A, 1).T + np.eye(10), np.zeros((10, 10), dtype=bool)
    for i, j in ((0, 2), (0, 5), (5, 9), (6, 8)):
        fixed[i, j] = fixed[j, i] = True
    A[fixed] *= 1 - 1e-8
    if unknown:
        A[3, 4] = A[4, 3] = np.nan
    with pytest.warns(sc.errors.NotConvergedWarning, match=None if unknown else "give 1 or -1 itself there"):
        done = sc.nearest_correlation(A, fixed=fixed, max_iter=12)
    assert np.linalg.eigvalsh(done.values)[0] > -1e-12
    assert np.abs(done.values - A)[fixed].max() < 0.3
    with pytest.warns(sc.errors.NotConvergedWarning, match=None if unknown else "does not meet all fixed entries"):
        bounded = sc.nearest_correlation(A, lower=0.0, max_iter=1)
    assert np.linalg.eigvalsh(bounded.values)[0] > -1e-12
    with pytest.warns(sc.errors.NotConvergedWarning):
        done = sc.nearest_covariance(9 * A, fixed=fixed, max_iter=12)
    assert np.linalg.eigvalsh(done.values)[0] > -1e-11


@pytest.mark.parametrize("more", [{"lower": 0.0}, {"upper": 0.3}, {"lower": -0.2, "weights": "elements"}])
@pytest.mark.parametrize("seed", range(4))
def test_a_loose_tol_leaves_a_valid_matrix_within_its_bounds(more, seed):
    rng = np.random.default_rng(seed)
    A, H = rng.uniform(-1, 1, size=(8, 8)), rng.random((8, 8))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1.0)
    own = more | {"weights": (H + H.T) / 2} if "weights" in more else more
    X = sc.nearest_correlation(A, tol=1e-2, progress=False, **own).values
    assert np.linalg.eigvalsh(X)[0] > -1e-8
    assert X.min() >= own.get("lower", -1.0) and X[~np.eye(8, dtype=bool)].max() <= own.get("upper", 1.0)


def test_bounds_leave_a_valid_matrix_whatever_the_weights_of_rows():
    """Where weights of rows are a thousand times others, entries that miss a bound by little cost eigenvalues."""
    rng = np.random.default_rng(100304)
    w = np.array([0.06, 40.0, 0.9, 2.5, 0.07, 35.0, 1.0])
    for _ in range(20):
        A = rng.uniform(-1, 1, (7, 7))
        A = (A + A.T) / 2
        np.fill_diagonal(A, 1.0)
        repair = sc.nearest_correlation(A, weights=w, lower=-0.65, upper=0.1, progress=False)
        assert repair.status.ok
        assert np.linalg.eigvalsh(repair.values)[0] > -2e-8
