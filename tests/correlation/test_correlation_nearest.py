"""The nearest correlation matrix by independent routes: Newton, Dykstra, a plain convex solver, the definition."""

import re

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._baselines.psd.alternating import dykstra, onto


def noisy(n, seed=0, noise=0.8):
    """A symmetric matrix with unit diagonal that is not valid."""
    rng = np.random.default_rng(seed)
    F = rng.standard_normal((n, max(n // 3, 1)))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    E = rng.standard_normal((n, n)) * noise / np.sqrt(n)
    A = np.clip(F @ F.T + (E + E.T) / 2, -1, 1)
    np.fill_diagonal(A, 1)
    return A


def by_convex_solver(A, *, weights=None, floor=0.0, held=None, values=None, low=None, high=None):
    """The same problem for cvxpy with Clarabel; an optimum to about 1e-6."""
    cp = pytest.importorskip("cvxpy", reason="cvxpy-base and clarabel are not installed")
    pytest.importorskip("clarabel")
    n = len(A)
    X = cp.Variable((n, n), symmetric=True)
    H = np.ones((n, n)) if weights is None else weights
    limits = [X - floor * np.eye(n) >> 0, cp.diag(X) == 1]
    if held is not None:
        limits.append(cp.multiply(held.astype(float), X) == np.where(held, values, 0.0))
    if low is not None:
        limits += [low <= X, high >= X]
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(H, X - A))), limits)
    problem.solve(solver="CLARABEL")
    return X.value, problem.value


def is_valid(X, floor=0.0):
    assert (X == X.T).all()
    assert (np.diag(X) == 1).all()
    assert np.linalg.eigvalsh(X)[0] >= floor - 1e-9


@pytest.mark.parametrize("n", [2, 7, 30])
def test_newton_dykstra_and_a_convex_solver_agree(n):
    A = noisy(n, seed=n, noise=1.5)
    repair = sc.nearest_correlation(A)
    is_valid(repair.matrix)
    np.testing.assert_allclose(repair.matrix, dykstra(A, onto(np.ones(n)), 1e-11)[0], atol=1e-8)
    X, low = by_convex_solver(A)
    np.testing.assert_allclose(repair.matrix, X, atol=2e-4)
    assert repair.distance**2 <= low * (1 + 1e-6) + 1e-9
    assert repair.certificate.relative_gap < 1e-8
    assert repair.status.code == "optimal"


def test_row_weights_and_floor_agree_with_a_convex_solver():
    A, w = noisy(12, 1), np.linspace(0.2, 5, 12)
    repair = sc.nearest_correlation(A, weights=w, min_eigenvalue=0.05)
    H = np.sqrt(np.outer(w, w))
    X, low = by_convex_solver(A, weights=H, floor=0.05)
    np.testing.assert_allclose(repair.matrix, X, atol=1e-4)
    assert repair.certificate.objective == pytest.approx(np.sum((H * (repair.matrix - A)) ** 2), rel=1e-9)
    assert repair.certificate.objective <= low * (1 + 1e-6)
    assert repair.certificate.relative_gap < 1e-8
    is_valid(repair.matrix, 0.05)


def test_fixed_values_agree_with_a_convex_solver():
    A = noisy(12, 2)
    fixed = np.full((12, 12), np.nan)
    fixed[0, 1] = fixed[1, 0] = 0.5
    fixed[4, 7] = -0.3  # one triangle is enough
    repair = sc.nearest_correlation(A, fixed=fixed, min_eigenvalue=0.01)
    held = ~np.isnan(fixed) | ~np.isnan(fixed.T)
    values = np.where(np.isnan(fixed), np.nan_to_num(fixed.T), fixed)
    X, low = by_convex_solver(A, held=held, values=values, floor=0.01)
    np.testing.assert_allclose(repair.matrix, X, atol=1e-4)
    assert repair.matrix[0, 1] == 0.5
    assert repair.matrix[7, 4] == -0.3
    assert repair.certificate.objective <= low * (1 + 1e-6)
    assert repair.certificate.relative_gap < 1e-7
    is_valid(repair.matrix, 0.01)


def test_a_block_stays_and_is_the_same_as_its_entries():
    A = noisy(20, 3)
    A[:6, :6] = sc.nearest_correlation(A[:6, :6], min_eigenvalue=0.05).matrix
    by_block = sc.nearest_correlation(A, block=6)
    mask = np.zeros((20, 20), dtype=bool)
    mask[:6, :6] = True
    np.testing.assert_allclose(by_block.matrix, sc.nearest_correlation(A, fixed=mask).matrix, atol=1e-12)
    np.testing.assert_array_equal(by_block.matrix[:6, :6], A[:6, :6])
    old = sc.complete_similarity(A, method="dmc", variant="fixed", candidates=6).similarity()
    np.testing.assert_allclose(by_block.matrix, old, atol=1e-7)


@pytest.mark.parametrize("floor", [0.0, 0.02])
def test_bounds_agree_with_a_convex_solver(floor):
    A = noisy(12, 4)
    low, high = np.full((12, 12), -0.2), np.full((12, 12), 0.6)
    np.fill_diagonal(low, -1), np.fill_diagonal(high, 1)
    repair = sc.nearest_correlation(A, lower=-0.2, upper=np.where(np.eye(12) > 0, np.nan, 0.6), min_eigenvalue=floor)
    X, best = by_convex_solver(A, low=low, high=high, floor=floor)
    np.testing.assert_allclose(repair.matrix, X, atol=2e-4)
    off = repair.matrix[~np.eye(12, dtype=bool)]
    assert off.min() >= -0.2
    assert off.max() <= 0.6
    assert repair.certificate.objective <= best * (1 + 1e-6)
    assert repair.certificate.relative_gap < 1e-6
    is_valid(repair.matrix - 0.0, floor - 1e-7)


def test_bounds_by_dykstra():
    A = noisy(25, 5)
    X = sc.nearest_correlation(A, lower=0.0).matrix
    np.testing.assert_allclose(X, dykstra(A, onto(np.ones(25), low=0.0), 1e-10)[0], atol=1e-6)


def test_element_weights_and_unknown_entries_agree_with_a_convex_solver():
    A, rng = noisy(12, 6), np.random.default_rng(0)
    H = rng.uniform(0.2, 2, (12, 12))
    H = np.triu(H, 1) + np.triu(H, 1).T
    H[2, 5] = H[5, 2] = 0
    repair = sc.nearest_correlation(A, weights=H)
    X, low = by_convex_solver(A, weights=H)
    assert repair.certificate.objective <= low * (1 + 1e-5)
    assert repair.certificate.relative_gap < 1e-6
    np.testing.assert_allclose(repair.matrix[H > 0], X[H > 0], atol=1e-3)
    gap = A.copy()
    gap[2, 5] = gap[5, 2] = np.nan
    np.testing.assert_allclose(sc.nearest_correlation(gap, weights=H).matrix[H > 0], repair.matrix[H > 0], atol=1e-5)


def test_equal_element_weights_are_no_weights():
    A = noisy(40, 7)
    X = sc.nearest_correlation(A, weights=np.full((40, 40), 3.0)).matrix
    np.testing.assert_allclose(X, sc.nearest_correlation(A).matrix, atol=1e-6)


def test_everything_at_once():
    A, rng = noisy(15, 8), np.random.default_rng(1)
    H = rng.uniform(0.5, 2, (15, 15))
    H = np.triu(H, 1) + np.triu(H, 1).T
    held = np.zeros((15, 15), dtype=bool)
    held[0, 3] = True
    repair = sc.nearest_correlation(A, weights=H, fixed=held, upper=0.7, min_eigenvalue=0.01)
    both = held | held.T
    high = np.where(np.eye(15) > 0, 1, 0.7)
    _, low = by_convex_solver(A, weights=H, held=both, values=A, low=-np.ones((15, 15)), high=high, floor=0.01)
    assert repair.certificate.objective == pytest.approx(low, rel=1e-5)
    assert repair.matrix[3, 0] == A[3, 0]
    assert repair.certificate.relative_gap < 1e-6


def test_a_valid_matrix_stays():
    F = np.random.default_rng(0).standard_normal((10, 20))
    A = np.corrcoef(F)
    for more in ({}, {"weights": np.arange(1.0, 11)}, {"upper": 0.99}, {"block": 3}, {"rank": 10}):
        repair = sc.nearest_correlation(A, **more)
        assert repair.distance < 1e-7, more
        assert np.abs(repair.matrix - A).max() < 1e-7


def test_the_floored_result_has_a_cholesky_factor():
    """A hundred random matrices of 2 to 250 rows."""
    rng = np.random.default_rng(0)
    sizes = np.concatenate([[2, 3, 4, 250], rng.integers(2, 60, 86), rng.integers(60, 250, 10)])
    for n in sizes:
        A = rng.uniform(-1, 1, (n, n))
        np.fill_diagonal(A, 1.0)
        repair = sc.nearest_correlation((A + A.T) / 2, min_eigenvalue=1e-8)
        L = repair.cholesky()
        np.testing.assert_allclose(L @ L.T, repair.matrix, atol=1e-12)
        assert (np.diag(repair.matrix) == 1).all()


def test_large_matrices_take_the_same_answer_from_single_precision_steps(monkeypatch):
    A = noisy(330, 9)
    X = sc.nearest_correlation(A)
    monkeypatch.setattr("simcomplete._correlation.newton.SINGLE", 10**9)
    monkeypatch.setattr("simcomplete._correlation.direction.SINGLE", 10**9)
    np.testing.assert_allclose(X.matrix, sc.nearest_correlation(A).matrix, atol=1e-9)
    assert X.certificate.relative_gap < 1e-8


def test_a_warm_start_takes_fewer_steps():
    A = noisy(120, 10)
    before = sc.nearest_correlation(A)
    E = np.random.default_rng(1).standard_normal((120, 120)) * 0.01
    B = A + (E + E.T) / 2
    np.fill_diagonal(B, 1)
    cold, warm = sc.nearest_correlation(B), sc.nearest_correlation(B, start=before)
    np.testing.assert_allclose(warm.matrix, cold.matrix, atol=1e-8)
    assert warm.n_iter < cold.n_iter
    assert warm.n_iter <= 3


@pytest.mark.parametrize("bounds", [False, True])
def test_contradictions_are_proved_and_named(bounds):
    A = np.array([[1, 0.9, 0.9, 0], [0.9, 1, -0.9, 0], [0.9, -0.9, 1, 0.1], [0, 0, 0.1, 1.0]])
    if bounds:
        limits = {"lower": np.where(A > 0.5, 0.9, np.nan), "upper": np.where(A < -0.5, -0.9, np.nan)}
    else:
        limits = {"fixed": np.where(np.abs(A) > 0.5, A, np.nan)}
    # 0.5, 0.5 and -0.5 can be, so that 0.4 is what one must move by at least.
    with pytest.raises(sc.errors.InputError, match="contradict each other") as told:
        sc.nearest_correlation(A, **limits)
    least = float(re.search(r"one must move by ([\d.]+) at least", str(told.value))[1])
    assert 0.35 < least <= 0.4
    assert all(name in str(told.value) for name in ("A[0, 1]", "A[0, 2]", "A[1, 2]"))


@settings(max_examples=25, deadline=None)
@given(st.integers(2, 8), st.integers(0, 10**6), st.floats(0, 0.5))
def test_the_definition_of_a_projection(n, seed, floor):
    """<A - X, Y - X> <= 0 for every valid Y with that floor."""
    rng = np.random.default_rng(seed)
    A = rng.uniform(-2, 2, (n, n))
    A = (A + A.T) / 2
    np.fill_diagonal(A, 1)
    X = sc.nearest_correlation(A, min_eigenvalue=floor).matrix
    is_valid(X, floor)
    for _ in range(5):
        F = rng.standard_normal((n, rng.integers(1, n + 1)))
        F /= np.linalg.norm(F, axis=1, keepdims=True)
        Y = (1 - floor) * (F @ F.T) + floor * np.eye(n)
        assert np.sum((A - X) * (Y - X)) < 1e-7


def test_a_singular_block_stays():
    rng = np.random.default_rng(0)
    F = rng.standard_normal((8, 3))
    F /= np.linalg.norm(F, axis=1, keepdims=True)
    A = noisy(20, 11)
    A[:8, :8] = F @ F.T
    np.fill_diagonal(A, 1)
    A = (A + A.T) / 2
    repair = sc.nearest_correlation(A, block=8)
    assert repair.status.code == "optimal"
    np.testing.assert_array_equal(repair.matrix[:8, :8], A[:8, :8])
    assert repair.min_eigenvalue_after > -1e-8
    assert repair.certificate.relative_gap < 1e-7
    held = np.zeros((20, 20), dtype=bool)
    held[:8, :8] = True
    _, low = by_convex_solver(A, held=held, values=A)
    assert repair.certificate.objective == pytest.approx(low, rel=1e-4)
