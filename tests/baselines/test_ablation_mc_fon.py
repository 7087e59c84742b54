"""The paper's ablation MC_fON: the careful variant at its optimum, and the printed box to the letter."""

import numpy as np
import pytest
from scipy.optimize import check_grad, minimize

import simcomplete as sc
from simcomplete._baselines.ablation import mc_fon
from simcomplete._method.iterate import Limits
from simcomplete._similarity.operator import DenseSimilarity

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
