"""Figures from manuals and test files of other programs: NAG, Higham, nearcorr, statsmodels, MATLAB."""

import cvxpy as cp
import numpy as np
import pytest

import simcomplete as sc

TRIDIAGONAL = 2 * np.eye(4) - np.eye(4, k=1) - np.eye(4, k=-1)
HIGHAM = np.array([[1.0, 1, 0], [1, 1, 1], [0, 1, 1]])
FIVE = np.array(
    [
        [1, -0.0991, 0.5665, -0.5653, -0.3441],
        [0, 1, -0.4273, 0.8474, 0.4975],
        [0, 0, 1, -0.1837, -0.0585],
        [0, 0, 0, 1, -0.2713],
        [0, 0, 0, 0, 1],
    ]
)
FIVE = FIVE + FIVE.T - np.eye(5)
# The example of R's nearPD, which statsmodels and skfolio test with.
SIX = np.array(
    [
        [1, 0.477, 0.644, 0.478, 0.651, 0.826],
        [0.477, 1, 0.516, 0.233, 0.682, 0.75],
        [0.644, 0.516, 1, 0.599, 0.581, 0.742],
        [0.478, 0.233, 0.599, 1, 0.741, 0.8],
        [0.651, 0.682, 0.581, 0.741, 1, 0.798],
        [0.826, 0.75, 0.742, 0.8, 0.798, 1],
    ]
)


def upper(X):
    return X[np.triu_indices(len(X), 1)]


def test_nag_g02aa_and_quantlib():
    repair = sc.nearest_correlation(TRIDIAGONAL)
    x, y, z, m = -0.8084124981, 0.1915875019, 0.106775049, -0.6562326948
    np.testing.assert_allclose(upper(repair.matrix), [x, y, z, m, y, x], atol=1e-9)
    assert repair.distance == pytest.approx(2.134, abs=5e-4)
    assert repair.distance_off_diagonal < 1
    assert "4 of 4 diagonal entries were not 1" in repair.notes[0]


def test_higham_2002():
    X = sc.nearest_correlation(HIGHAM).matrix
    np.testing.assert_allclose(upper(X), [0.76068985, 0.15729811, 0.76068985], atol=1e-8)


def test_nearcorr_row_weights():
    X = sc.nearest_correlation(HIGHAM, weights=[1, 2, 3]).matrix
    np.testing.assert_allclose(upper(X), [0.66774961, 0.16723692, 0.84557496], atol=1e-8)


def test_nag_g02ab_row_weights_and_floor():
    repair = sc.nearest_correlation(TRIDIAGONAL, weights=[100**2, 20**2, 20**2, 20**2], min_eigenvalue=0.02)
    expected = [-0.9371, 0.0262, 0.0087, -0.3069, 0.2315, -0.9037]
    np.testing.assert_allclose(upper(repair.matrix), expected, atol=6e-5)
    assert repair.min_eigenvalue_after == pytest.approx(0.02, abs=1e-9)


def test_nag_g02aj_element_weights():
    H = np.zeros((4, 4))
    H[0, 1] = H[1, 0] = 10
    H[1, 2] = H[2, 1] = H[1, 3] = H[3, 1] = 1.5
    repair = sc.nearest_correlation(TRIDIAGONAL, weights=H, min_eigenvalue=0.04)
    norm = np.sqrt(np.sum((H * (repair.matrix - TRIDIAGONAL)) ** 2))
    assert norm == pytest.approx(0.5720, abs=5e-5)
    assert repair.certificate.objective == pytest.approx(norm**2, rel=1e-9)
    assert repair.certificate.relative_gap < 1e-5
    assert repair.min_eigenvalue_after >= 0.04 - 1e-12


def test_nag_g02ak_rank():
    repair = sc.nearest_correlation(TRIDIAGONAL, rank=2)
    assert repair.distance_off_diagonal**2 / 2 == pytest.approx(0.3082, abs=5e-5)
    assert np.linalg.matrix_rank(repair.matrix, tol=1e-8) == 2
    assert repair.certificate.agreed >= 2


def test_nag_g02ae_two_factors():
    repair = sc.factor_correlation(TRIDIAGONAL, 2)
    assert repair.distance_off_diagonal**2 == pytest.approx(0.615957, abs=5e-6)
    np.testing.assert_allclose(repair.matrix[0, 1:], [-0.8924, 0.2417, 0.1938], atol=1e-4)
    assert repair.matrix[1, 2] == pytest.approx(-0.6389, abs=1e-4)
    assert np.linalg.norm(repair.factors, axis=1).max() <= 1 + 1e-12


def test_nag_g02as_fixed_elements():
    fixed = np.zeros((5, 5), dtype=bool)
    fixed[1, 0] = fixed[4, 3] = True
    repair = sc.nearest_correlation(FIVE, fixed=fixed, min_eigenvalue=0.04)
    assert repair.distance == pytest.approx(0.5310, abs=5e-5)
    assert repair.matrix[1, 0] == FIVE[1, 0]
    assert repair.matrix[4, 3] == FIVE[4, 3]
    assert repair.min_eigenvalue_after == pytest.approx(0.04, abs=1e-9)


def test_nag_g02an_shrinking():
    repair = sc.shrink_to_valid(FIVE, block=3)
    assert repair.alpha == pytest.approx(0.3232, abs=5e-5)
    assert repair.distance == pytest.approx(0.5624, abs=5e-5)
    np.testing.assert_array_equal(repair.matrix[:3, :3], FIVE[:3, :3])


def test_statsmodels_and_skfolio():
    assert sc.nearest_correlation(SIX).distance == pytest.approx(0.07429322106703, abs=1e-10)


def symmetric(entries, diagonal):
    X = np.zeros((5, 5))
    X[np.triu_indices(5, 1)] = entries
    return X + X.T + diagonal * np.eye(5)


MATLAB = symmetric([0, 0, 0, -0.9360, -0.5500, -0.3645, -0.5300, -0.0351, 0.0875, 0.4557], 1)


def test_matlab_nearcorr():
    expected = [0.0372, 0.0100, -0.0219, -0.8478, -0.5449, -0.3757, -0.4849, -0.0381, 0.0996, 0.4292]
    np.testing.assert_allclose(upper(sc.nearest_correlation(MATLAB).matrix), expected, atol=6e-5)


def test_matlab_nearcorr_element_weights():
    # The matrix and weights of its manual; the optimum by a plain convex solver.
    W = symmetric([1, 0.1, 0.15, 0.25, 0.05, 0.025, 0.15, 0.25, 1, 0.25], 0)
    X = cp.Variable((5, 5), PSD=True)
    problem = cp.Problem(cp.Minimize(cp.sum_squares(cp.multiply(W, X - MATLAB))), [cp.diag(X) == 1])
    problem.solve(solver=cp.CLARABEL)
    repair = sc.nearest_correlation(MATLAB, weights=W)
    assert np.abs(upper(repair.matrix) - upper(X.value)).max() < 1e-3
    assert repair.certificate.relative_gap < 1e-5
