"""NNFN and facNNFN: golden figures, the proximal map against its definition, monotone steps, two routes that meet."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import simcomplete as sc
from simcomplete._baselines.completion import facnnfn
from simcomplete._baselines.completion.modes import MaskedMatrix
from simcomplete._baselines.completion.nnfn import matrix_prox, prox, proximal_gradient
from simcomplete._method.iterate import Limits
from simcomplete.errors import InputError


@pytest.fixture(scope="module")
def reference(golden):
    file = golden("nnfn")
    return file, MaskedMatrix(file["O"] * file["mask"], file["mask"]), float(file["lam"])


def objective(x, y, t, alpha):
    return 0.5 * np.sum((x - y) ** 2) + t * (np.abs(x).sum() - alpha * np.linalg.norm(x))


def test_prox_of_the_public_program(reference):
    file, _, _ = reference
    for y, t, alpha, want in zip(file["prox_y"], file["prox_lam"], file["prox_alpha"], file["prox_out"], strict=True):
        np.testing.assert_allclose(prox(y, t, alpha), want, atol=1e-12)


def test_matrix_prox_of_the_public_program(reference):
    file, _, _ = reference
    X, _ = matrix_prox(file["O"], 2.0)
    np.testing.assert_allclose(X, file["mat_prox"], atol=1e-10)


@settings(max_examples=60, deadline=None)
@given(
    st.lists(st.floats(-5, 5), min_size=1, max_size=5).map(np.array),
    st.floats(0, 4),
    st.floats(0, 1),
    st.integers(0, 2**31),
)
def test_prox_is_lower_than_anything_near_or_far(y, t, alpha, seed):
    x = prox(y, t, alpha)
    best = objective(x, y, t, alpha)
    rng = np.random.default_rng(seed)
    others = [np.zeros_like(y), y, *np.diag(y), *(x + s * rng.standard_normal((200, len(y))) for s in (1e-3, 0.1, 2))]
    for other in others:
        for row in np.atleast_2d(other):
            assert best <= objective(row, y, t, alpha) + 1e-12


def test_prox_keeps_one_entry_where_all_are_below_the_threshold():
    np.testing.assert_array_equal(prox(np.array([0.3, -0.7, 0.7]), 1.0), [0, -0.7, 0])  # one of two that tie
    np.testing.assert_array_equal(prox(np.zeros(3), 1.0), np.zeros(3))
    np.testing.assert_array_equal(prox(np.array([0.3, -0.4]), 1.0, alpha=0.5), [0, 0])  # below (1 - alpha) t


@pytest.mark.parametrize("shape", [(9, 6), (6, 9)])
@pytest.mark.parametrize("t", [0.0, 1e-9, 0.5, 2.0, 1e3])
def test_matrix_prox_by_the_full_decomposition(shape, t):
    """By a partial decomposition of the Gram matrix where that is accurate, by an SVD where t is tiny."""
    Z = np.random.default_rng(0).standard_normal(shape)
    U, s, Vt = np.linalg.svd(Z, full_matrices=False)
    X, kept = matrix_prox(Z, t)
    np.testing.assert_allclose(X, (U * prox(s, t)) @ Vt, atol=1e-12)
    np.testing.assert_allclose(np.sort(kept[kept > 0]), np.sort(prox(s, t)[prox(s, t) > 0]), atol=1e-12)
    assert not matrix_prox(np.zeros((3, 2)), 1.0)[0].any()


def test_first_iterates_and_objectives(reference):
    file, problem, lam = reference
    for k in (1, 2):
        X = proximal_gradient(problem, lam, Limits(k), 0, accelerate=False).state.X
        np.testing.assert_allclose(X, file[f"nnfn_X_after_{k}"], atol=1e-10)
    run = proximal_gradient(problem, lam, Limits(19), 0, accelerate=False)
    found = [facts["objective"] for facts in run.history]
    np.testing.assert_allclose(found, file["nnfn_obj_hist_first20"], rtol=1e-12)


@pytest.mark.parametrize("accelerate", [False, True])
def test_fixed_point_and_monotone_decrease(reference, accelerate):
    file, problem, lam = reference
    run = proximal_gradient(problem, lam, Limits(200), -1.0, accelerate=accelerate)  # no tolerance, all steps
    np.testing.assert_allclose(run.state.X, file["nnfn_X"], atol=1e-8)
    assert run.facts["objective"] == pytest.approx(float(file["nnfn_obj"]), rel=1e-13)
    assert (np.diff([facts["objective"] for facts in run.history]) <= 1e-12 * run.facts["objective"]).all()


@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("penalty", [1e-4, 1e-3, 1e-2])
@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
def test_monotone_on_digits(small, accelerate, penalty):
    P, Q, _ = small
    done = sc.complete(P, Q, method="nnfn", penalty=penalty, accelerate=accelerate, max_iter=60)
    objectives = np.array([facts["objective"] for facts in done.history])
    assert len(objectives) > 5
    assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()


def test_momentum_saves_steps_and_ends_at_the_same_objective(small):
    P, Q, _ = small
    quick, slow = (sc.complete(P, Q, method="nnfn", accelerate=fast, tol=1e-3, max_iter=5000) for fast in (True, False))
    assert quick.history[-1]["iteration"] < 0.5 * slow.history[-1]["iteration"]
    assert quick.history[-1]["objective"] <= slow.history[-1]["objective"] * 1.001


def test_stages_end_where_one_stage_ends_in_fewer_steps(reference):
    """A weight that falls by stages against the weight itself from the start, the slower route."""
    _, problem, _ = reference
    top = np.linalg.norm(problem.values, 2)
    for weight in (1e-3 * top, 3e-3 * top, 0.5 * top):
        slow = proximal_gradient(problem, weight, Limits(20_000), 1e-6)
        quick = proximal_gradient(problem, weight, Limits(20_000), 1e-6, first=0.1 * top)
        assert quick.status.ok and slow.status.ok
        assert quick.facts["weight"] == weight
        assert quick.facts["objective"] == pytest.approx(slow.facts["objective"], rel=1e-6)
        assert quick.n_iter <= slow.n_iter
        objectives = np.array([facts["objective"] for facts in quick.history])
        assert (np.diff(objectives) <= 1e-12 * objectives[0]).all()
    assert quick.n_iter == slow.n_iter  # a weight above the first is the only stage


def test_steps_that_cannot_get_anywhere_are_not_made(small):
    """In the data's own units a weight may be so small that 1000 steps do not change what zeros filled in are."""
    P, Q, _ = small
    given = {"method": "nnfn", "preset": "original", "penalty": 1e-4}
    with pytest.warns(sc.errors.NotConvergedWarning, match=r"steps left would change X by less than 1%: use unit"):
        short = sc.complete(P, Q, **given)
    with pytest.warns(sc.errors.NotConvergedWarning, match="all 1000 iterations made"):
        whole = sc.complete(P, Q, **given, tol=0)
    assert short.history[-1]["iteration"] < 10 < whole.history[-1]["iteration"]
    shift = np.linalg.norm(whole.similarity() - short.similarity()) / np.linalg.norm(whole.similarity())
    assert 0 < shift < 0.01


def test_a_small_penalty_is_not_taken_for_converged(small):
    """Steps are as small as the penalty, so a test of their size alone would end at once, with zeros filled in."""
    P, Q, _ = small
    with pytest.warns(sc.errors.NotConvergedWarning, match="all 40 iterations made and the stop test was not met"):
        sc.complete(P, Q, method="nnfn", penalty=1e-7, max_iter=40)


def test_no_penalty_leaves_the_data_as_they_are(small):
    P, Q, _ = small
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    np.testing.assert_allclose(sc.complete_similarity(S0, method="nnfn", penalty=0).similarity(), S0, atol=1e-12)
    done = sc.complete(P, Q, method="nnfn", penalty=0)  # any completion is optimal; the first is zeros
    zeros = sc.overlap_similarity(np.vstack([P, np.nan_to_num(Q)]))
    np.testing.assert_allclose(done.similarity(), zeros, atol=1e-9)
    assert done.status.ok


def test_mode_s_is_one_proximal_step(small):
    """Fully observed, the iteration has nothing to fill in: the two routes meet, and signs are kept."""
    P, Q, _ = small
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    unit = 10 * np.linalg.norm(S0, 2)
    run = proximal_gradient(MaskedMatrix(S0 / unit), 1e-4, Limits(50), 1e-9)
    done = sc.complete_similarity(S0, method="nnfn", penalty=1e-4)
    np.testing.assert_allclose(done.similarity(), run.state.X * unit, atol=1e-8)
    assert done.status.code == "optimal"
    assert (done.signs < 0).any()
    assert np.linalg.eigvalsh(done.similarity())[0] < -1e-3
    # For comparison: shrinking singular values through an SVD alone would lose the signs.
    w = np.linalg.eigvalsh(S0)
    np.testing.assert_allclose(np.linalg.eigvalsh(done.similarity()), prox(w / unit, 1e-4) * unit, atol=1e-10)


def test_absolute_units_and_the_second_branch():
    S0 = np.array([[0.6, 0.2], [0.2, 0.3]])
    done = sc.complete_similarity(S0, method="nnfn", penalty=5.0, unit=1.0)
    w, U = np.linalg.eigh(S0)
    np.testing.assert_allclose(done.similarity(), w[1] * np.outer(U[:, 1], U[:, 1]), atol=1e-14)
    assert done.rank == 1


def test_factored_objective_and_gradients(reference):
    file, problem, lam = reference
    at = facnnfn.evaluate_factors(problem, lam, file["W0"], file["H0"])
    assert at.objective == pytest.approx(float(file["fac_obj_at_0"]), rel=1e-13)
    np.testing.assert_allclose(at.by_w, file["fac_gradW_at_0"], atol=1e-10)
    np.testing.assert_allclose(at.by_h, file["fac_gradH_at_0"], atol=1e-10)


def test_factored_gradients_are_finite_differences(reference):
    _, problem, lam = reference
    rng = np.random.default_rng(0)
    W, H, dW, dH = (rng.standard_normal((n, 3)) for n in (40, 30, 40, 30))
    at, h = facnnfn.evaluate_factors(problem, lam, W, H), 1e-6
    up, down = (facnnfn.evaluate_factors(problem, lam, W + s * dW, H + s * dH).objective for s in (h, -h))
    assert (up - down) / (2 * h) == pytest.approx(np.sum(at.by_w * dW) + np.sum(at.by_h * dH), rel=1e-6)


@pytest.mark.parametrize("solver", [facnnfn.lbfgs, facnnfn.descent])
def test_factored_limit(reference, solver):
    """Both solvers reach the file's limit, which is NNFN's own fixed point at rank 8."""
    file, problem, lam = reference
    run = solver(problem, lam, file["W0"], file["H0"], Limits(5000), 0.0)
    X = run.state.W @ run.state.H.T
    assert run.status.ok
    assert run.state.objective == pytest.approx(float(file["fac_obj"]), rel=1e-12)
    np.testing.assert_allclose(X, file["fac_X"], atol=1e-6)
    np.testing.assert_allclose(X, file["nnfn_X"], atol=1e-6)
    assert (np.diff([facts["objective"] for facts in run.history]) <= 0).all()


@pytest.mark.parametrize("mode", ["X", "S"])
def test_factored_and_spectral_forms_meet(small, mode):
    P, Q, _ = small
    a = sc.complete(P, Q, method="nnfn", mode=mode, penalty=3e-3, tol=1e-6)
    b = sc.complete(P, Q, method="facnnfn", mode=mode, penalty=3e-3, rank=60, tol=1e-10)
    np.testing.assert_allclose(a.similarity(), b.similarity(), atol=5e-3)


def test_equal_factors_on_symmetric_data_stay_equal():
    """Why the two are drawn independently: from W = H the result is W W^T, positive semi-definite and SMCNmF's."""
    rng = np.random.default_rng(0)
    S0 = rng.standard_normal((8, 8))
    S0 = S0 + S0.T
    W = 0.3 * rng.standard_normal((8, 8))
    stuck = sc.complete_similarity(S0, method="facnnfn", start=(W, W), penalty=0.1, unit=1.0, tol=1e-12)
    free = sc.complete_similarity(S0, method="facnnfn", penalty=0.1, unit=1.0, tol=1e-12)
    assert stuck.validity.psd.ok
    assert not free.validity.psd.ok
    # SMCNmF has no 1/2 in front of the loss, so twice the weight.
    paper = sc.complete_similarity(S0, method="smcnmf", penalty=0.2, rank=8)
    np.testing.assert_allclose(stuck.similarity(), paper.similarity(), atol=1e-3)
    exact = sc.complete_similarity(S0, method="nnfn", penalty=0.1, unit=1.0)
    np.testing.assert_allclose(free.similarity(), exact.similarity(), atol=1e-3)


def test_factors_of_zeros():
    """|W H^T|_F has no gradient at 0; a start there stays finite."""
    at = facnnfn.evaluate_factors(MaskedMatrix(np.ones((3, 2))), 1.0, np.zeros((3, 1)), np.zeros((2, 1)))
    assert not at.by_w.any()
    assert not at.by_h.any()


def test_descent_through_the_public_function(small):
    P, Q, _ = small
    a, b = (
        sc.complete(P, Q, method="facnnfn", solver=s, rank=20, tol=1e-7, max_iter=3000) for s in ("lbfgs", "descent")
    )
    assert a.history[-1]["objective"] == pytest.approx(b.history[-1]["objective"], rel=1e-2)


@pytest.mark.parametrize(
    ("method", "given", "message"),
    [
        ("facnnfn", {"solver": "newton"}, "solver='newton' is unknown; use 'lbfgs' or 'descent'"),
        ("facnnfn", {"start": (np.ones((80, 2)),)}, "start must be two finite arrays"),
        ("facnnfn", {"start": (np.ones((80, 2)), np.full((64, 2), np.nan))}, "start has shapes"),
        ("facnnfn", {"tol": "small"}, "tol='small' is unknown; use a number at least 0"),
        ("nnfn", {"tol": -1}, "tol=-1 is not a number"),
        ("nnfn", {"max_iter": 1.5}, "max_iter=1.5 must be"),
    ],
)
def test_wrong_parameters(small, method, given, message):
    P, Q, _ = small
    with pytest.raises(InputError, match=message):
        sc.complete(P, Q, method=method, **given)


def test_prox_equals_sporco():
    sporco = pytest.importorskip("sporco.prox")
    rng = np.random.default_rng(0)
    for t in (0.1, 1.0, 3.0):
        y = rng.standard_normal(7)
        np.testing.assert_allclose(prox(y, t), sporco.prox_dl1l2(y, t), atol=1e-14)
