"""The paper's ablations: careful variants at their optima, the printed boxes to the letter and what comes of them."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import simcomplete as sc
from simcomplete._baselines.ablation import mc_fon, mc_on, smc_gd, smc_gd_paper
from simcomplete._method.iterate import Limits
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.operator import DenseSimilarity
from simcomplete._spectral.penalties import NoPenalty, Nuclear, SpectralProblem


@pytest.fixture(scope="module")
def family(golden):
    return golden("smc_family")


@pytest.fixture(scope="module")
def go(family):
    """Run a method on the golden similarities with their rank and weight."""

    def call(method, **given):
        theirs = {"rank": int(family["r"]), "penalty": float(family["lam"])}
        given = {name: value for name, value in theirs.items() if name in sc.methods()[method].shared} | given
        return sc.complete_similarity(family["S0"], method=method, **given)

    return call


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


# MC_fON


def test_mc_fon_keeps_the_largest_in_size(go, family):
    done = go("mc_fon")
    np.testing.assert_allclose(done.similarity(), family["MC_fON_S"], atol=1e-10)
    assert done.rank == 8
    assert (done.signs < 0).any()
    assert "not to be PSD" in done.status.message


@pytest.mark.parametrize("rank", [1, 8, 24, 25, 50])
def test_mc_fon_is_the_best_of_its_rank(go, family, rank):
    S0 = family["S0"]
    sigma = np.linalg.svd(S0, compute_uv=False)
    S = go("mc_fon", rank=rank).similarity()
    assert np.sum((S - S0) ** 2) == pytest.approx(np.sum(sigma[rank:] ** 2), abs=1e-9)


def test_mc_fon_by_products_alone(monkeypatch, family):
    w, U = mc_fon.largest_in_size(DenseSimilarity(family["S0"]), 2)
    monkeypatch.setattr(mc_fon, "LARGE", 30)
    v, V = mc_fon.largest_in_size(DenseSimilarity(family["S0"]), 2)
    np.testing.assert_allclose(v, w, atol=1e-10)
    np.testing.assert_allclose(V, U, atol=1e-8)


def test_gradients_of_mc_fon(family):
    S0, W, H = family["S0"], family["W0"], family["H0"]
    in_w, in_h = mc_fon.gradients(S0, W, H)
    np.testing.assert_allclose(in_w, family["MC_fON_gradW"], atol=1e-10)
    np.testing.assert_allclose(in_h, family["MC_fON_gradH"], atol=1e-10)
    literal = mc_fon.gradients(S0, W, H, literal=True)[1]
    np.testing.assert_allclose(literal, family["MC_fON_gradH_literal_paper"], atol=1e-10)
    assert np.abs(literal - in_h).max() > 0.4, "the transpose matters"

    def objective(x):
        return float(np.sum((W @ x.reshape(H.shape).T - S0) ** 2))

    def slope(x):
        return mc_fon.gradients(S0, W, x.reshape(H.shape))[1].ravel()

    assert check_grad(objective, slope, H.ravel()) < 1e-4 * np.linalg.norm(in_h)


def test_descent_with_the_right_gradient_meets_the_closed_form(family):
    S0, shape = family["S0"], family["W0"].shape

    def value(x):
        W, H = x.reshape(2, *shape)
        return float(np.sum((W @ H.T - S0) ** 2)), np.stack(mc_fon.gradients(S0, W, H)).ravel()

    start = np.stack([family["W0"], family["H0"]]).ravel()
    found = minimize(value, start, jac=True, method="L-BFGS-B", options={"maxiter": 5000, "maxfun": 10_000})
    W, H = found.x.reshape(2, *shape)
    np.testing.assert_allclose(W @ H.T, family["MC_fON_S"], atol=1e-3)
    assert found.fun == pytest.approx(np.sum((family["MC_fON_S"] - S0) ** 2), abs=1e-5)


def test_the_box_of_mc_fon_is_followed_to_the_letter(family):
    S0, W, H = family["S0"], family["W0"], family["H0"]
    run = mc_fon.descend_as_published(DenseSimilarity(S0), W, H, 1e-3, 0.0, Limits(2))
    for _ in range(2):
        W = W - 1e-3 * 2 * (W @ H.T - S0) @ H
        H = H - 1e-3 * 2 * (W @ H.T - S0) @ W
    np.testing.assert_allclose(run.state.W, W, atol=1e-12)
    np.testing.assert_allclose(run.state.H, H, atol=1e-12)
    assert run.state.objective == pytest.approx(np.sum((W @ H.T - S0) ** 2))


def test_the_box_of_mc_fon_levels_off_far_from_the_optimum(go, family):
    """The missing transpose: one factor grows, the other shrinks, and the symmetric part is far off."""
    S0 = family["S0"]
    start = (family["W0"], family["H0"])
    with pytest.warns(sc.errors.NotConvergedWarning, match="stop test was not met"):
        done = go("mc_fon", preset="original", start=start, max_iter=3000)
    assert done.params["start"] == "given"
    optimum = np.sum((family["MC_fON_S"] - S0) ** 2)
    assert np.sum((done.similarity() - S0) ** 2) > 2 * optimum
    assert done.history[-1]["objective"] > 4 * optimum
    sizes = []
    for most in (1000, 3000):
        state = mc_fon.descend_as_published(DenseSimilarity(S0), *start, 1e-3, 0.0, Limits(most)).state
        sizes.append([np.linalg.norm(state.W), np.linalg.norm(state.H)])
    (w1, h1), (w3, h3) = sizes
    assert max(w3 / w1, h3 / h1) > 1.2
    assert min(w3 / w1, h3 / h1) < 1


def test_the_box_of_mc_fon_leaves_the_symmetric_even_from_equal_starts(go, family):
    """First it descends like SMC_NR, to within a tenth of that optimum; then W and H drift apart and it rises again."""
    with pytest.warns(sc.errors.NotConvergedWarning, match="stop test was not met"):
        done = go("mc_fon", variant="paper", start=(family["V0"], family["V0"]), max_iter=3000)
    objectives = [facts["objective"] for facts in done.history]
    optimum = np.sum((go("smc_nr").similarity() - family["S0"]) ** 2)
    assert optimum < min(objectives) < 1.1 * optimum
    assert objectives[-1] > 3 * optimum


def test_a_pair_that_explodes_is_told_and_the_best_kept(go):
    with pytest.warns(sc.errors.NotConvergedWarning, match="exploded|not finite"):
        done = go("mc_fon", variant="paper", step=0.05)
    assert np.isfinite(done.similarity()).all()


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
