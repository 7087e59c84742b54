"""Where the certificate turns from yes to no: its tolerances, and the search for larger eigenvalues outside."""

from dataclasses import replace

import numpy as np
import pytest

from simcomplete._result.certificate import Certificate
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.certify import certify, largest_outside, numerical_rank
from simcomplete._spectral.penalties import NoPenalty, Nuclear, SpectralProblem

# Every number as good as it can be, in a matrix of |S0|_F = 10.
PROVED = Certificate(
    objective=7.0,
    lower_bound=7.0,
    gap=0.0,
    scale=100.0,
    residual=0.0,
    absolute_residual=0.0,
    largest_outside=1.0,
    smallest_kept=1.0,
    rank=3,
    rank_below_bound=False,
    verified=True,
)


@pytest.mark.parametrize(
    ("numbers", "optimal"),
    [
        ({}, True),
        ({"gap": 0.99e-6}, True),  # 1e-8 of the scale
        ({"gap": 1.01e-6}, False),
        ({"absolute_residual": 0.99e-5}, True),  # 1e-6 of |S0|_F
        ({"absolute_residual": 1.01e-5}, False),
        ({"absolute_residual": None}, True),
        ({"largest_outside": 1 + 0.99e-7}, True),  # 1e-8 of |S0|_F above the smallest that was kept
        ({"largest_outside": 1 + 1.01e-7}, False),
        ({"largest_outside": None, "smallest_kept": -5.0}, True),
        ({"largest_outside": 0.99e-7, "smallest_kept": -5.0}, True),  # negative ones are dropped, not kept
        ({"largest_outside": 1.01e-7, "smallest_kept": -5.0}, False),
        ({"scale": 0.0, "gap": 5.0, "largest_outside": 0.0}, True),  # of nothing there is no share
        ({"scale": 0.0, "absolute_residual": 1e-30}, False),
    ],
    ids=str,
)
def test_each_tolerance_at_its_boundary(numbers, optimal):
    assert replace(PROVED, **numbers).optimal is optimal


def test_the_gap_as_a_share():
    assert replace(PROVED, gap=2.0).relative_gap == 0.02
    assert replace(PROVED, gap=2.0, scale=0.0).relative_gap == 0.0


@pytest.mark.parametrize(("angle", "optimal"), [(1e-7, True), (1e-5, False), (1e-2, False)])
def test_only_the_residual_refutes_a_vector_that_is_turned(angle, optimal):
    # S0 = diag(3, 1) and u turned by an angle: with w = u^T S0 u the gap is 0 and nothing outside is larger, but
    # |S0 u - w u| = (3 - 1) sin cos, of |S0|_F = sqrt(10).
    u = np.array([[np.cos(angle)], [np.sin(angle)]])
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 1.0])), NoPenalty(), weight=0.0, rank=1)
    w = float(u[:, 0] @ (np.array([3.0, 1.0]) * u[:, 0]))
    certificate = certify(problem, np.sqrt(w) * u, np.array([w]))
    assert certificate.relative_gap < 1e-12
    assert certificate.largest_outside <= certificate.smallest_kept
    assert certificate.absolute_residual == pytest.approx(2 * np.sin(angle) * np.cos(angle), rel=1e-6)
    assert certificate.residual == pytest.approx(certificate.absolute_residual / w, rel=1e-9)
    assert certificate.optimal is optimal


class Counting(DenseSimilarity):
    """A dense S0 that remembers how many vectors it was multiplied with."""

    def matmul(self, X):
        self.__dict__.setdefault("widths", []).append(X.shape[1])
        return super().matmul(X)


def spectrum(*leading, n=200, rest=1.0):
    """A matrix with these eigenvalues along the first axes, and the rest spread over (0, rest], turned at random."""
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.standard_normal((n, n)))[0]
    w = np.concatenate([leading, np.linspace(rest, rest / 100, n - len(leading))])
    return (Q * w) @ Q.T, Q


def test_an_eigenvalue_outside_is_found_by_products_not_by_luck():
    # Eight random vectors alone see 8/199 of the largest direction; three products with them see nearly all of it.
    S0, Q = spectrum(6.0, 5.0)
    problem = SpectralProblem(DenseSimilarity(S0), NoPenalty(), weight=0.0, rank=1)
    certificate = certify(problem, np.sqrt(5.0) * Q[:, 1:2], np.array([5.0]))
    assert certificate.relative_gap < 1e-12
    assert certificate.absolute_residual < 1e-12
    assert 5.99 < certificate.largest_outside <= 6 + 1e-9
    assert not certificate.optimal


def test_what_lies_outside_is_never_overestimated_and_leaves_out_what_was_kept():
    S0, Q = spectrum(6.0, 5.0, 4.0)
    operator = Counting(S0)
    found = largest_outside(operator, Q[:, :2], seed=0)
    assert 3.99 < found <= 4 + 1e-9
    assert operator.widths == [8, 8, 24]  # three products with a block of eight
    assert largest_outside(operator, Q[:, :3], seed=1) < 1 + 1e-9


def test_a_small_matrix_is_searched_whole():
    S0 = np.diag([5.0, 4.0, 3.0, 2.0])
    kept = np.eye(4)[:, :2]
    assert largest_outside(DenseSimilarity(S0), kept, seed=0) == pytest.approx(3.0, abs=1e-12)
    assert largest_outside(DenseSimilarity(-S0), kept, seed=0) == pytest.approx(0.0, abs=1e-12)  # room for 0


def test_nothing_is_outside_when_all_is_kept():
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 2.0])), Nuclear(), weight=1.0, rank=2)
    certificate = certify(problem, np.diag(np.sqrt([2.5, 1.5])), np.array([3.0, 2.0]))
    assert certificate.largest_outside is None
    assert (certificate.rank, certificate.rank_below_bound, certificate.smallest_kept) == (2, False, 2.0)
    # 13 - 2.5^2 - 1.5^2 = 4.5, by hand
    assert certificate.objective == pytest.approx(4.5)
    assert certificate.lower_bound == pytest.approx(4.5)
    assert certificate.optimal


def test_nothing_is_kept_where_the_penalty_eats_all():
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 2.0, 1.0])), Nuclear(), weight=8.0, rank=2)
    for verify in (True, False):
        certificate = certify(problem, np.zeros((3, 2)), np.array([3.0, 2.0]), verify=verify)
        assert (certificate.rank, certificate.smallest_kept, certificate.rank_below_bound) == (0, 3.0, True)
        assert certificate.objective == certificate.lower_bound == 14.0
        assert certificate.optimal
    assert certify(problem, np.zeros((3, 2)), np.array([3.0, 2.0])).largest_outside == pytest.approx(3.0)


def test_unverified_numbers_by_hand():
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 2.0, 1.0])), Nuclear(), weight=2.0, rank=2)
    certificate = certify(problem, np.zeros((3, 2)), np.array([3.0, 2.0]), verify=False)
    # s = (2, 1): |S0|^2 = 14, sum of s^2 - 2 s w = -8 - 3, penalty 2 * 3
    assert certificate.objective == pytest.approx(14 - 8 - 3 + 6)
    assert certificate.rank == 2
    assert not certificate.verified
    assert certificate.absolute_residual is None


def test_numerical_rank_at_its_boundary():
    eps = np.finfo(float).eps
    assert numerical_rank(np.array([2.0, 8.1 * eps, 7.9 * eps, 0.0]), 4) == 2  # n eps times the largest: 8 eps
    assert numerical_rank(np.array([-1.0, -2.0]), 4) == 0
    assert numerical_rank(np.zeros(3), 4) == 0


def test_a_rotated_factor_is_turned_back_and_columns_on_their_way_to_zero_are_left_out():
    # Two columns that are not orthogonal, and the second direction of length 1e-6: it points nowhere yet.
    S0 = np.diag([4.0, 1.0, 0.5])
    V = np.array([[2.0, 2.0], [0.0, 1e-6], [0.0, 0.0]]) / np.sqrt(2)
    problem = SpectralProblem(DenseSimilarity(S0), NoPenalty(), weight=0.0, rank=2)
    certificate = certify(problem, V, np.array([4.0, 1.0]))
    assert certificate.residual < 1e-6
    assert certificate.objective == pytest.approx(1.25, abs=1e-9)
    assert certificate.lower_bound == pytest.approx(0.25)
    assert certificate.largest_outside == pytest.approx(1.0, abs=1e-6)
    assert not certificate.optimal


def test_columns_of_an_exact_factor_are_not_mixed_however_small():
    # s = (2, 1e-10): rotated, the second column would count as nothing, and its eigenvalue 1 as outside.
    w = np.array([3.0, 1 + 1e-10, 0.5])
    problem = SpectralProblem(DenseSimilarity(np.diag(w)), Nuclear(), weight=2.0, rank=2)
    V = np.diag(np.sqrt(np.array([2.0, 1e-10, 0.0])))[:, :2]
    certificate = certify(problem, V, w[:2])
    assert certificate.rank == 2
    assert certificate.largest_outside == pytest.approx(0.5, abs=1e-12)
    assert certificate.residual < 1e-12


@pytest.mark.parametrize("size", [1e-4, 1.0, 1e4])
def test_columns_that_are_not_orthogonal_are_turned_at_any_size(size):
    w = np.array([4.0, 2.0, 1.0]) * size**2
    mix = np.array([[1.0, 1.0], [1.0, -0.5]])
    problem = SpectralProblem(DenseSimilarity(np.diag(w)), NoPenalty(), weight=0.0, rank=2)
    certificate = certify(problem, size * np.eye(3)[:, :2] @ mix, w[:2])
    # V V^T = mix mix^T in units of size^2: its directions are not eigenvectors of S0, whatever the size.
    U = np.linalg.eigh(mix @ mix.T)[1]
    S = np.diag([4.0, 2.0])
    rho = np.einsum("ij,ik,kj->j", U, S, U)
    errors = np.linalg.norm(S @ U - U * rho, axis=0)
    assert certificate.absolute_residual == pytest.approx(size**2 * errors.max(), rel=1e-9)
    assert certificate.residual == pytest.approx((errors / rho).max(), rel=1e-9)


def test_the_largest_residual_counts():
    # e0 is an eigenvector, (e1 + e2)/sqrt(2) is not: its residual is (2 - 1)/2.
    problem = SpectralProblem(DenseSimilarity(np.diag([4.0, 2.0, 1.0])), NoPenalty(), weight=0.0, rank=2)
    V = np.array([[2.0, 0.0], [0.0, 0.5], [0.0, 0.5]])
    certificate = certify(problem, V, np.array([4.0, 2.0]))
    assert certificate.absolute_residual == pytest.approx(0.5, rel=1e-12)
    assert certificate.residual == pytest.approx(0.5 / 1.5, rel=1e-12)


def test_a_direction_on_which_s0_is_zero_has_no_residual():
    problem = SpectralProblem(DenseSimilarity(np.diag([1.0, 0.0])), NoPenalty(), weight=0.0, rank=1)
    certificate = certify(problem, np.array([[0.0], [1.0]]), np.array([1.0]))
    assert (certificate.residual, certificate.absolute_residual) == (0.0, 0.0)
    assert certificate.objective == pytest.approx(2.0)


def test_directions_are_dropped_by_their_share_of_the_largest():
    # Squared lengths 4, 0.4 and 2e-8 or 8e-8 of a turned factor: the last is below or above 1e-8 of the largest, and
    # it is no eigenvector, so that the residual tells whether it was looked at.
    turn = np.linalg.qr(np.random.default_rng(2).standard_normal((3, 3)))[0]
    S0 = np.diag([5.0, 3.0, 2.0, 0.0])
    problem = SpectralProblem(DenseSimilarity(S0), NoPenalty(), weight=0.0, rank=3)
    U = np.eye(4)[:, :3].copy()
    U[:, 2] = [0, 0, np.sqrt(0.5), np.sqrt(0.5)]
    for small, seen in ((2e-8, False), (8e-8, True)):
        V = (U * np.sqrt([4.0, 0.4, small])) @ turn
        assert (certify(problem, V, np.array([5.0, 3.0, 2.0])).absolute_residual > 0.5) is seen


def test_rank_of_tiny_numbers():
    assert numerical_rank(np.array([1e-20, 1e-21]), 2) == 2
    assert numerical_rank(np.array([1e-20, 1e-40]), 2) == 1


def test_nothing_kept_has_no_residual():
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 2.0])), Nuclear(), weight=8.0, rank=1)
    certificate = certify(problem, np.zeros((2, 1)), np.array([3.0]))
    assert (certificate.residual, certificate.absolute_residual) == (0.0, 0.0)


def test_any_library(library):
    S0 = library.array(np.diag([4.0, 2.0, 1.0]))
    problem = SpectralProblem(DenseSimilarity(S0), Nuclear(), weight=2.0, rank=2)
    turned = np.array([[np.sqrt(3.0), 0.0], [0.0, 1.0], [0.0, 0.0]]) @ np.array([[0.6, 0.8], [-0.8, 0.6]])
    certificate = certify(problem, library.array(turned), np.array([4.0, 2.0]))
    assert certificate.optimal
    assert certificate.largest_outside == pytest.approx(1.0)
