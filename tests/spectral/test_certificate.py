"""The certificate proves what is optimal and refutes what is not."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.certify import certify
from simcomplete._spectral.eigen.routes import largest_eigenpairs
from simcomplete._spectral.penalties import Nuclear, SpectralProblem
from simcomplete._spectral.solvers.exact import solve_exactly


@pytest.fixture
def problem(small):
    P, Q, _ = small
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    return SpectralProblem(DenseSimilarity(S0), Nuclear(), weight=0.5, rank=10)


def test_bound_of_smcnn_by_its_formula(problem):
    V, spectrum = solve_exactly(problem)
    w = np.sort(np.linalg.eigvalsh(problem.operator.S))[::-1][:10]
    expected = np.sum(problem.operator.S**2) - np.sum(np.maximum(w - 0.25, 0) ** 2)
    certificate = certify(problem, V, spectrum.w)
    assert certificate.lower_bound == pytest.approx(expected, rel=1e-12)
    assert certificate.objective == pytest.approx(expected, rel=1e-10)
    assert certificate.optimal


def test_a_worse_factor_has_a_gap(problem):
    V, spectrum = solve_exactly(problem)
    certificate = certify(problem, 0.9 * V, spectrum.w)
    by_hand = np.sum((0.81 * V @ V.T - problem.operator.S) ** 2) + 0.5 * np.sum((0.9 * V) ** 2)
    assert certificate.objective == pytest.approx(by_hand, rel=1e-10)
    assert certificate.gap == pytest.approx(by_hand - certificate.lower_bound, rel=1e-6)
    assert not certificate.optimal


def test_rotation_does_not_matter(problem):
    V, spectrum = solve_exactly(problem)
    turn = np.linalg.qr(np.random.default_rng(0).standard_normal((10, 10)))[0]
    certificate = certify(problem, V @ turn, spectrum.w)
    assert certificate.optimal
    assert certificate.residual < 1e-8


def test_eigenvectors_that_are_not_the_largest_are_found_out(problem):
    # Leave out the largest: all w are eigenvalues, all residuals vanish, the bound made from them is met...
    w, U = np.linalg.eigh(problem.operator.S)
    w, U = w[::-1][1:11], U[:, ::-1][:, 1:11]
    V = U * np.sqrt(np.maximum(w - 0.25, 0))
    certificate = certify(problem, V, w)
    assert certificate.residual < 1e-8
    assert certificate.relative_gap < 1e-8
    # ... and only the extra vectors see what is missing.
    assert certificate.largest_outside > certificate.smallest_kept
    assert not certificate.optimal


def test_unverified_says_so_and_agrees(problem):
    V, spectrum = solve_exactly(problem)
    quick = certify(problem, V, spectrum.w, verify=False)
    full = certify(problem, V, spectrum.w)
    assert (quick.residual, quick.largest_outside, quick.verified) == (None, None, False)
    assert quick.objective == pytest.approx(full.objective, rel=1e-10)


def test_rank_condition_of_the_paper():
    S0 = np.kron(np.eye(2), np.ones((3, 3)))  # rank 2
    assert sc.complete_similarity(S0, method="smcnn", rank=3).certificate.rank_below_bound
    assert not sc.complete_similarity(S0, method="smcnn", rank=2).certificate.rank_below_bound


def test_verify_can_be_turned_off(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="smcnn", rank=5, verify=False)
    assert not done.certificate.verified
    assert done.params["verify"] is False
    assert done.status.code == "optimal"


def test_objective_and_gradient_against_their_definitions(problem):
    V = np.random.default_rng(3).standard_normal((80, 10))
    S0 = problem.operator.S
    value, gradient = problem.terms(V, S0 @ V)
    assert value == pytest.approx(np.sum((V @ V.T - S0) ** 2) + 0.5 * np.sum(V**2), rel=1e-12)
    np.testing.assert_allclose(gradient, 4 * (V @ V.T - S0) @ V + V, rtol=1e-10, atol=1e-9)


def test_largest_by_every_dense_route(small):
    P, Q, _ = small
    operator = DenseSimilarity(sc.overlap_similarity(np.vstack([P, Q])))
    expected = np.sort(np.linalg.eigvalsh(operator.S))[::-1]
    for route in ("full", "partial", "iterative"):
        np.testing.assert_allclose(largest_eigenpairs(operator, 12, route).w, expected[:12], atol=1e-10)
    np.testing.assert_allclose(largest_eigenpairs(operator, 79, "iterative").w, expected[:79], atol=1e-10)
