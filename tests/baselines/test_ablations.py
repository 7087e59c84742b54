"""The paper's ablations SMC_GD and MC_ON at their optima, the printed boxes to the letter; what all three promise."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._baselines.ablation import mc_on, smc_gd, smc_gd_paper
from simcomplete._method.iterate import Limits
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import NoPenalty, Nuclear, SpectralProblem

# SMC_GD


@pytest.mark.parametrize(("step", "tol"), [(None, 1e-10), (0.25, 1e-8), (0.1, 1e-8)])
def test_smc_gd_reaches_the_optimum_of_smcnn(go, family, step, tol):
    done = go("smc_gd", step=step, tol=1e-11)
    np.testing.assert_allclose(done.similarity(), family["SMC_GD_S"], atol=tol)
    np.testing.assert_allclose(done.similarity(), go("smcnn").similarity(), atol=tol)
    assert done.certificate.optimal
    assert done.status.code == "converged"
    assert (len(done.history) == 2) == (step is None), "with step 1/2 one iteration is enough"


def test_smc_gd_forgets_its_start(go, family):
    expected = family["SMC_GD_S"]
    np.testing.assert_allclose(go("smc_gd", start=family["V0"]).similarity(), expected, atol=1e-10)
    np.testing.assert_allclose(go("smc_gd", start=family["V0"], step=0.3, tol=1e-11).similarity(), expected, atol=1e-8)


def test_smc_gd_with_samples_is_smcnn(small):
    P, Q, _ = small
    Q = np.vstack([Q, np.full(64, np.nan)])
    for given in ({}, {"step": 0.4}):
        done = sc.complete(P, Q, method="smc_gd", rank=20, penalty=0.5, **given)
        expected = sc.complete(P, Q, method="smcnn", rank=20, penalty=0.5)
        np.testing.assert_allclose(done.similarity(), expected.similarity(), atol=1e-7)
        assert done.diagonal[-1] == 1


def test_the_blend_is_one_matrix_in_three_forms(family):
    S0, V = family["S0"], family["V0"]
    blend = smc_gd.Blend(DenseSimilarity(S0), V, 0.2)
    whole = V @ V.T - 2 * 0.2 * (V @ V.T - S0)
    np.testing.assert_allclose(blend.dense(), whole, atol=1e-12)
    np.testing.assert_allclose(blend.matmul(V), whole @ V, atol=1e-12)
    assert blend.squared_norm() == pytest.approx(np.sum(whole**2))


def by_hand(S0, V, gamma, weight, tau):
    """One pass through the printed box, written as it is printed, with n x n matrices."""
    S = V @ V.T
    nuclear = np.sum(np.linalg.svd(S, compute_uv=False))
    V = V - gamma * (4 * (S - S0) @ V + weight * nuclear)
    U, sigma, Wt = np.linalg.svd(V @ V.T)
    return (U * np.maximum(sigma - tau, 0)) @ Wt


def test_the_box_of_smc_gd_is_followed_to_the_letter(family):
    S0, V0, weight = family["S0"], family["V0"], float(family["lam"])
    problem = SpectralProblem(DenseSimilarity(S0), Nuclear(), weight, 8)
    once = smc_gd_paper.iterate_as_published(problem, V0, 1e-3, 0.05, 0.0, Limits(1)).state.V
    np.testing.assert_allclose(once @ once.T, by_hand(S0, V0, 1e-3, weight, 0.05), atol=1e-10)
    assert np.allclose(once, np.tril(once)), "line 7 is a Cholesky factorisation"
    assert (np.diag(once) >= 0).all()
    twice = smc_gd_paper.iterate_as_published(problem, V0, 1e-3, 0.05, 0.0, Limits(2)).state.V
    np.testing.assert_allclose(twice @ twice.T, by_hand(S0, once, 1e-3, weight, 0.05), atol=1e-10)


def test_the_box_of_smc_gd_shrinks_by_tau_over_the_step(go, family):
    """Without the weight: w ends at (w + sqrt(w^2 - tau/(2 gamma)))/2, and at 0 below sqrt(tau/(2 gamma)) = 2.23."""
    gamma, tau = 2e-3, 2e-2
    done = go("smc_gd", variant="paper", penalty=0.0, step=gamma, tau=tau, tol=1e-12, max_iter=5000)
    assert done.status.code == "converged"
    w = np.linalg.eigvalsh(family["S0"])[::-1][:8]
    discriminant = w**2 - tau / (2 * gamma)
    expected = np.where(discriminant > 0, (w + np.sqrt(np.maximum(discriminant, 0))) / 2, 0)
    assert np.sum(expected == 0) == 2
    found = np.linalg.eigvalsh(done.similarity())[::-1][:8]
    np.testing.assert_allclose(found, expected, atol=2e-3)  # to first order in gamma
    assert done.rank == 6
    assert not done.certificate.optimal


def test_the_number_in_the_box_of_smc_gd_is_no_gradient(go, family):
    """With the weight the trace is added to every entry: far from the optimum of the problem it is printed for."""
    with pytest.warns(sc.errors.NotConvergedWarning, match="above the global optimum"):
        done = go("smc_gd", preset="original", max_iter=2000, random_state=1)
    assert done.params["step"] == 1e-3
    assert done.certificate.relative_gap > 0.05
    assert done.validity.psd.ok


def test_a_step_that_explodes_is_told_and_the_best_kept(small):
    S0 = 10 * sc.overlap_similarity(small[0])  # lambda_max of about 400: 0.001 cannot settle
    with pytest.warns(sc.errors.NotConvergedWarning, match="exploded|not finite"):
        done = sc.complete_similarity(S0, method="smc_gd", preset="original", rank=5, step=5e-3)
    assert np.isfinite(done.similarity()).all()
    assert not done.status.ok
    best = min(facts["objective"] for facts in done.history)
    assert done.certificate.objective == pytest.approx(best, rel=1e-9)


# MC_ON


def test_mc_on_is_one_threshold(go, family):
    done = go("mc_on")
    np.testing.assert_allclose(done.similarity(), family["MC_ON_S_psd"], atol=1e-10)
    assert done.certificate.optimal
    assert done.rank == 10, "eigenvalues above lambda/2 = 1, and no bound on how many"
    assert done.validity.psd.ok


def test_mc_on_without_the_constraint_keeps_signs(go, family):
    done = go("mc_on", psd=False)
    np.testing.assert_allclose(done.similarity(), family["MC_ON_S_nopsd"], atol=1e-10)
    assert not done.validity.psd.ok


def test_mc_on_is_smcnn_with_any_rank(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="mc_on", penalty=2.0)
    expected = sc.complete(P, Q, method="smcnn", penalty=2.0, rank=80)
    np.testing.assert_allclose(done.similarity(), expected.similarity(), atol=1e-9)
    assert done.factor.shape[1] == done.rank < 40
    many = sc.complete(np.vstack([P] * 10), Q[:2], method="mc_on", penalty=2.0)  # the structured route
    expected = sc.complete(np.vstack([P] * 10), Q[:2], method="smcnn", penalty=2.0, rank=100)
    np.testing.assert_allclose(many.similarity(), expected.similarity(), atol=1e-8)
    assert "structured" in many.status.message


def test_a_large_penalty_leaves_nothing(small):
    P, Q, _ = small
    for psd in (True, False):
        done = sc.complete(P, Q, method="mc_on", penalty=1e4, psd=psd)
        assert (done.similarity() == 0).all()


def test_the_box_of_mc_on_returns_what_it_was_given(go, family):
    tau = float(family["MC_ON_literal_tau"])
    done = go("mc_on", variant="paper", tau=tau)
    S, S0 = done.similarity(), family["S0"]
    np.testing.assert_allclose(S, family["MC_ON_literal_S"], atol=1e-10)
    assert np.abs(np.linalg.eigvalsh(S - S0)).max() <= tau + 1e-9
    assert np.abs(np.linalg.eigvalsh(S)).min() == pytest.approx(tau), "small ones are raised, so the rank is full"
    assert done.rank == 50
    assert len(done.history) == 3, "the first of 10 000 iterations is also the last"
    assert "idempotent" in done.status.message
    np.testing.assert_array_equal(S, go("mc_on", variant="paper", tau=tau, penalty=77.0).similarity())


def test_zeros_to_rounding_count_as_positive():
    w = np.array([-2.0, -1e-16, 0.0, 1e-16, 3.0])
    np.testing.assert_array_equal(mc_on.raised(w, 0.1), [-2.0, 0.1, 0.1, 0.1, 3.0])
    S = sc.complete_similarity(np.zeros((3, 3)), method="mc_on", variant="paper").similarity()
    np.testing.assert_allclose(S, 1e-4 * np.eye(3))


# All three


@pytest.mark.parametrize("method", ["smc_gd", "mc_on", "mc_fon"])
def test_rows_of_the_registry_are_those_of_the_careful_variants(method, small):
    row = next(m for m in sc.methods() if m.name == method)
    done = sc.complete(*small[:2], method=method, **({"rank": 10} if row.low_rank else {}))
    assert row.parameters["variant"].default == "careful"
    assert row.original["variant"] == "paper"
    assert done.validity.psd.ok == row.psd
    if row.low_rank:
        assert done.rank <= 10
    with pytest.raises(sc.errors.InputError, match="variant='literal' is unknown; use 'careful' or 'paper'"):
        sc.complete(*small[:2], method=method, variant="literal")


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("smc_gd", {"step": 0.6}, r"step=0\.6 is out of range"),
        ("smc_gd", {"step": 0}, "step=0 is not a number above 0"),
        (
            "smc_gd",
            {"start": np.ones((3, 1))},
            r"start has shape \(3, 1\); it must be finite numbers of shape \(3, 2\)",
        ),
        ("smc_gd", {"tau": -1}, "tau=-1 is not a number at least 0"),
        ("mc_fon", {"variant": "paper", "start": 3}, "start=3 must be two arrays of shape"),
        ("mc_fon", {"variant": "paper", "start": [np.ones((3, 2)), np.ones(3)]}, r"start, H has shape \(3,\)"),
    ],
)
def test_what_cannot_be_done_is_refused(method, given, message):
    with pytest.raises(sc.errors.InputError, match=message):
        sc.complete_similarity(np.eye(3), method=method, rank=2, **given)


@pytest.mark.array_library
@pytest.mark.parametrize("method", ["smc_gd", "mc_on", "mc_fon"])
@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
def test_the_result_stays_in_its_library(library, method, small):
    P, Q, _ = small
    several = {"smc_gd": ({"step": 0.4}, {"variant": "paper", "max_iter": 3})}.get(method, ({}, {"variant": "paper"}))
    for given in ({}, *several):
        given = {
            "method": method,
            **({} if method == "mc_on" else {"rank": 6}),
            **({"max_iter": 20} if method == "mc_fon" else {}),
            **given,
        }
        done = sc.complete(library.array(P), library.array(Q), **given)
        assert type(done.matrix.array) is type(library.array(P))
        np.testing.assert_allclose(to_numpy(done.similarity()), sc.complete(P, Q, **given).similarity(), atol=1e-8)


def test_no_penalty_no_threshold_is_smc_nr():
    problem = SpectralProblem(DenseSimilarity(np.diag([3.0, 1.0, -1.0])), NoPenalty(), 0.0, 2)
    V = smc_gd.careful(problem, np.zeros((3, 2)), 0.5, 1e-9, Limits(5)).state.V
    np.testing.assert_allclose(V @ V.T, np.diag([3.0, 1.0, 0.0]), atol=1e-12)
