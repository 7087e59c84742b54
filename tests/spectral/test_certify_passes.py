"""The certificate in passes over the candidates says what the one that holds the whole factor says."""

from dataclasses import replace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows.validate import as_rows
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._similarity.measure import Measure
from simcomplete._spectral import complete as spectral_call
from simcomplete._spectral.certify import certify
from simcomplete._spectral.certify_passes import certify_passes
from simcomplete._spectral.eigen.routes import largest_eigenpairs
from simcomplete._spectral.penalties import Nuclear, SpectralProblem

METHODS = ("smcnn", "smcnmf", "smc_nr", "smc_f")


@pytest.fixture(scope="module")
def rows(digits, hide):
    return digits[:120], hide(digits[120:130], 0.6)


def same(a, b):
    assert a.lower_bound == pytest.approx(b.lower_bound, rel=1e-12)
    assert a.objective == pytest.approx(b.objective, rel=1e-9)
    assert a.scale == pytest.approx(b.scale, rel=1e-12)
    assert a.smallest_kept == pytest.approx(b.smallest_kept, rel=1e-9)
    assert a.largest_outside == pytest.approx(b.largest_outside, rel=0.1)  # two estimates from below
    for name in ("residual", "absolute_residual"):
        assert getattr(a, name) < 1e-8
    assert (a.rank, a.rank_below_bound, a.verified, a.optimal) == (b.rank, b.rank_below_bound, b.verified, b.optimal)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("penalty", [1e-3, 4.0])
def test_both_certificates_agree(rows, method, penalty, tmp_path, monkeypatch):
    own = {"method": method, "rank": 12, "penalty": penalty, "route": "structured"}
    held = sc.complete(*rows, **own).certificate
    passes = sc.complete(*rows, **own, out=tmp_path / "factor.npy").certificate
    assert held.optimal
    same(passes, held)
    monkeypatch.setattr(spectral_call, "VERIFY_LIMIT", 10)  # too many rows to hold, and so only when asked for
    same(sc.complete(*rows, **own, verify=True).certificate, held)
    assert not sc.complete(*rows, **own).certificate.verified


def test_when_nothing_is_kept(rows, tmp_path):
    certificate = sc.complete(*rows, method="smcnn", rank=3, penalty=1e4, out=tmp_path / "factor.npy").certificate
    assert (certificate.rank, certificate.residual, certificate.absolute_residual) == (0, 0.0, 0.0)
    assert certificate.objective == certificate.lower_bound == certificate.scale
    assert certificate.largest_outside == pytest.approx(certificate.smallest_kept, rel=1e-6)
    assert certificate.optimal


def structured(rows, weight=1.0, rank=6):
    P, Q = (as_rows(part, "rows") for part in rows)
    problem = SpectralProblem(CandidateQuerySimilarity(P, Q, Measure(), False), Nuclear(), weight=weight, rank=rank)
    return problem, largest_eigenpairs(problem.operator, rank, "structured")


def test_wrong_vectors_are_found_out_with_the_numbers_of_the_whole_certificate(rows):
    problem, spectrum = structured(rows)
    # The second and third vector are turned into each other by 0.1: orthonormal still, and no eigenvectors.
    turn = np.eye(6)
    turn[1:3, 1:3] = [[np.cos(0.1), -np.sin(0.1)], [np.sin(0.1), np.cos(0.1)]]
    reduced = spectrum.reduced
    wrong = replace(reduced, lift=reduced.lift @ turn, below=reduced.below @ turn)
    passes = certify_passes(problem, wrong, spectrum.w)
    s = problem.penalty.shrink(spectrum.w, problem.weight)
    whole = certify(problem, wrong.scaled_vectors(np.sqrt(s)), spectrum.w)
    assert passes.objective == pytest.approx(whole.objective, rel=1e-10)
    assert passes.gap == pytest.approx(whole.gap, rel=1e-6)
    assert passes.gap > 0
    assert not passes.optimal
    # |S0 u - w u| of the turned ones: (w_1 - w_2) sin(0.1), and w is what they should have been
    U = wrong.scaled_vectors(np.ones(6))
    errors = np.linalg.norm(problem.operator.matmul(U) - U * spectrum.w, axis=0)
    assert passes.absolute_residual == pytest.approx(errors.max(), rel=1e-6)
    assert passes.residual == pytest.approx((errors / spectrum.w).max(), rel=1e-6)


def test_vectors_of_the_wrong_length_are_measured_as_they_are(rows):
    problem, spectrum = structured(rows)
    reduced = spectrum.reduced
    longer = np.array([1.0, 1.1, 1.0, 0.9, 1.0, 1.0])
    wrong = replace(reduced, lift=reduced.lift * longer, below=reduced.below * longer)
    passes = certify_passes(problem, wrong, spectrum.w)
    s = problem.penalty.shrink(spectrum.w, problem.weight)
    V = wrong.scaled_vectors(np.sqrt(s))
    assert passes.objective == pytest.approx(problem.objective(V), rel=1e-10)
    assert passes.absolute_residual < 1e-8  # eigenvectors all the same
    assert not passes.optimal


def test_an_eigenvalue_that_was_passed_over_is_found(rows):
    problem, spectrum = structured(rows, rank=7)
    reduced = spectrum.reduced
    without = replace(reduced, lift=reduced.lift[:, 1:], below=reduced.below[:, 1:], Y=reduced.Y[:, 1:])
    smaller = SpectralProblem(problem.operator, problem.penalty, problem.weight, 6)
    certificate = certify_passes(smaller, without, spectrum.w[1:])
    assert certificate.largest_outside == pytest.approx(spectrum.w[0], rel=1e-6)
    assert certificate.absolute_residual < 1e-8
    assert not certificate.optimal
    assert problem.factor(spectrum).shape == (130, 7)
