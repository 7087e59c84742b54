"""The exact solver: known answers, every route the same, and nothing falls over at the edges."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc

KINDS = {
    "SMCNN": ("smcnn", {}),
    "SMCNmF": ("smcnmf", {}),
    "SMC_F": ("smc_f", {}),
    "SMC_F_literal": ("smc_f", {"variant": "paper"}),
    "SMC_NR": ("smc_nr", {}),
}
NAMES = ["smcnn", "smcnmf", "smc_nr", "smc_f"]
every_method = pytest.mark.parametrize("method", NAMES)


@pytest.mark.parametrize("kind", KINDS)
def test_reference_figures(golden, kind):
    z = golden("smc_family")
    method, params = KINDS[kind]
    done = sc.complete_similarity(z["S0"], method=method, rank=int(z["r"]), penalty=float(z["lam"]), **params)
    np.testing.assert_allclose(done.similarity(), z[f"{kind}_S"], atol=1e-10)
    assert done.certificate.objective == pytest.approx(float(z[f"{kind}_F"]), rel=1e-12)
    assert done.certificate.optimal
    spectrum = np.sort(np.linalg.eigvalsh(done.factor.T @ done.factor))[::-1]
    np.testing.assert_allclose(spectrum[: len(z[f"{kind}_eig"])], z[f"{kind}_eig"], atol=1e-10)


@every_method
@pytest.mark.parametrize("rank", [1, 7, 40])
@pytest.mark.parametrize("penalty", [0.0, 1e-3, 3.0])
def test_all_routes_agree_on_digits(small, method, rank, penalty):
    P, Q, _ = small
    results = [
        sc.complete(P, Q, method=method, rank=rank, penalty=penalty, route=route)
        for route in ("full", "partial", "iterative", "structured")
    ]
    for done in results:
        np.testing.assert_allclose(done.similarity(), results[0].similarity(), atol=1e-8)
        assert done.certificate.optimal, done.params["route"]
        assert done.factor.shape == (80, rank)


@every_method
def test_candidate_query_form_agrees_with_dense_on_digits(digits, hide, method):
    P, Q = digits[:1000], hide(digits[1000:1200], 0.8)
    structured = sc.complete(P, Q, method=method, rank=60, route="structured")
    dense = sc.complete(P, Q, method=method, rank=60, route="full")
    assert np.abs(structured.similarity() - dense.similarity()).max() < 1e-8
    assert structured.certificate.residual < 1e-6


@every_method
@pytest.mark.parametrize("penalty", [1e-3, 1.0])
def test_and_on_image_like_data_with_a_strong_common_direction(imagelike, method, penalty):
    P, Q = imagelike
    structured = sc.complete(P, Q, method=method, rank=50, penalty=penalty, route="structured")
    dense = sc.complete(P, Q, method=method, rank=50, penalty=penalty, route="full")
    largest = float(np.linalg.norm(dense.factor, 2) ** 2)
    assert largest > 400  # the common direction is there
    assert np.abs(structured.similarity() - dense.similarity()).max() < 1e-8
    # The smallest eigenvalue kept is 1e-7 of the largest: relative to itself it has fewer digits.
    assert structured.certificate.residual < 1e-4
    assert structured.certificate.absolute_residual < 1e-8
    assert structured.certificate.optimal


def test_float32_candidates_are_multiplied_in_double(imagelike):
    P, Q = (x.astype(np.float32) for x in imagelike)
    done = sc.complete(P, Q, method="smcnn", rank=30, route="structured")
    assert done.factor.dtype == np.float32
    assert done.certificate.residual < 1e-6
    exact = sc.complete(P.astype(float), Q.astype(float), method="smcnn", rank=30, route="full")
    np.testing.assert_allclose(done.similarity(), exact.similarity(), atol=1e-4)


@every_method
def test_pearson_structured_agrees_with_dense(small, method):
    P, Q, _ = small
    dense, structured = (
        sc.complete(P, Q, method=method, metric="pearson", min_overlap=3, rank=20, route=route)
        for route in ("full", "structured")
    )
    np.testing.assert_allclose(structured.similarity(), dense.similarity(), atol=1e-8)


def test_smcnmf_one_sparse_branch_end_to_end(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="smcnmf", penalty=1e6)
    assert done.rank == 1
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    assert np.linalg.norm(done.factor, 2) ** 2 == pytest.approx(np.linalg.eigvalsh(S0)[-1])
    assert done.certificate.optimal


def test_smcnn_with_a_huge_penalty_is_zero_and_says_so(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="smcnn", penalty=1e6)
    assert done.rank == 0
    assert not done.similarity().any()
    assert done.certificate.objective == pytest.approx(done.certificate.scale)
    assert done.certificate.rank_below_bound
    assert done.certificate.optimal


@every_method
def test_repeated_eigenvalues_and_ties(method):
    S0 = np.kron(np.eye(4), np.ones((3, 3)))  # eigenvalue 3, four times
    for rank in (2, 4, 12):
        done = sc.complete_similarity(S0, method=method, rank=rank, penalty=0.5)
        assert done.certificate.optimal
        assert done.rank == min(rank, 4)
    np.testing.assert_allclose(sc.complete_similarity(S0, method="smc_nr").similarity(), S0, atol=1e-12)


@every_method
@pytest.mark.parametrize("route", ["full", "structured"])
def test_rows_without_evidence(small, method, route):
    P, Q, _ = small
    P, Q = P.copy(), Q.copy()
    P[3], Q[1] = 0, np.nan
    done = sc.complete(P, Q, method=method, rank=10, route=route)
    assert done.evidence.rows_without == (3, 61)
    S = done.similarity()
    assert np.isfinite(S).all()
    for row in (3, 61):
        # Nothing is known of it: similar to nothing but itself, and that 1 is in the diagonal, not in the factor.
        np.testing.assert_allclose(S[row], np.eye(80)[row], atol=1e-12)
        assert done.diagonal[row] == 1
    assert done.diagonal.sum() == 2


@every_method
@pytest.mark.parametrize("route", ["full", "structured"])
def test_duplicate_rows(small, method, route):
    P, Q, _ = small
    P, Q = np.vstack([P, P]), np.vstack([Q, Q[:3]])
    done = sc.complete(P, Q, method=method, rank=60, penalty=0.0, route=route)
    assert done.certificate.optimal
    np.testing.assert_allclose(done.factor[:60], done.factor[60:120], atol=1e-7)
    dense = sc.complete(P, Q, method=method, rank=60, penalty=0.0, route="full")
    np.testing.assert_allclose(done.similarity(), dense.similarity(), atol=1e-8)


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 2**32 - 1),
    n=st.integers(1, 12),
    penalty=st.floats(0, 5),
    method=st.sampled_from(NAMES),
    data=st.data(),
)
def test_no_random_factor_beats_the_exact_one(seed, n, penalty, method, data):
    rank = data.draw(st.integers(1, n))
    rng = np.random.default_rng(seed)
    S0 = rng.standard_normal((n, n))
    S0 = (S0 + S0.T) / 2
    done = sc.complete_similarity(S0, method=method, rank=rank, penalty=penalty)
    assert done.certificate.optimal
    assert done.factor.shape == (n, rank)

    def objective(V):
        S = V @ V.T
        s = np.linalg.eigvalsh(S)
        extra = {
            "smcnn": s.sum(),
            "smcnmf": s.sum() - np.linalg.norm(s),
            "smc_nr": 0,
            "smc_f": np.sum(s**2),
        }[method]
        return np.sum((S - S0) ** 2) + penalty * extra

    best = objective(done.factor)
    assert best == pytest.approx(done.certificate.objective, rel=1e-9, abs=1e-9)
    for size in (1e-3, 0.1, 1.0):
        other = done.factor + size * rng.standard_normal((n, rank))
        assert best <= objective(other) + 1e-9


def test_the_route_is_chosen_by_size(small):
    P, Q, _ = small
    assert sc.complete(P, Q, method="smcnn", rank=5).params["route"] == "partial"
    assert sc.complete(P, Q[:1], method="smcnn", rank=60).params["route"] == "full"
    assert sc.complete(np.vstack([P] * 5), Q[:10], method="smcnn", rank=5).params["route"] == "structured"


def test_unknown_settings(small):
    P, Q, _ = small
    with pytest.raises(sc.errors.InputError, match="route='clever' is unknown"):
        sc.complete(P, Q, method="smcnn", route="clever")
    with pytest.raises(sc.errors.InputError, match="needs complete candidates and queries"):
        sc.complete(P, method="smcnn", route="structured")
    with pytest.raises(sc.errors.InputError, match="variant='best' is unknown"):
        sc.complete(P, Q, method="smc_f", variant="best")
    with pytest.raises(sc.errors.InputError, match="has no parameter 'variant'"):
        sc.complete(P, Q, method="smcnn", variant="paper")
