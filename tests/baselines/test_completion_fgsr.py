"""FGSR: the public program's figures, scalar problems that the answer must solve, and what happens at the edges."""

import numpy as np
import pytest
from scipy.optimize import brentq

import simcomplete as sc
from simcomplete._baselines.completion.fgsr_admm import admm
from simcomplete._baselines.completion.fgsr_p import reweighted
from simcomplete._baselines.completion.fgsr_palm import first_pair, palm, shrink_columns
from simcomplete._baselines.completion.modes import MaskedMatrix
from simcomplete._method.iterate import Limits
from simcomplete.errors import InputError

CASES = {"a": ("2/3", 0.1), "b": ("1/2", 0.1), "c": ("2/3", 0.02)}
VARIANTS = ["2/3", "1/2", "admm", "p"]


@pytest.fixture(scope="module")
def reference(golden):
    file = golden("fgsr")
    return file, MaskedMatrix(file["X"] * file["M"], file["M"])


def authors(problem, rank, weight, n_iter, **given):
    return palm(problem, rank, weight, Limits(n_iter), rho=0.5, accelerate=False, **given)


def fit(run):
    return run.state.A @ run.state.B


@pytest.mark.parametrize("case", CASES)
def test_palm_of_the_public_program(reference, case):
    file, problem = reference
    kind, weight = CASES[case]
    first = authors(problem, 10, weight, 1, kind=kind, tol=1e-6)
    np.testing.assert_allclose(fit(first), file[f"{case}_first_A"] @ file[f"{case}_first_B"], atol=1e-10)
    run = authors(problem, 10, weight, 500, kind=kind, tol=1e-6)
    assert run.status.code == "max_iter"  # as the file's note says
    np.testing.assert_allclose(fit(run), file[f"{case}_AB"], atol=1e-8)
    np.testing.assert_allclose(fit(run) + run.state.left, file[f"{case}_Xr"], atol=1e-8)
    assert run.state.A.shape[1] == file[f"{case}_d"].item()


def test_palm_with_a_full_mask(reference):
    """The program returns its input then, S_Xr = S0; the fit is S_AB."""
    file, _ = reference
    np.testing.assert_array_equal(file["S_Xr"], file["S0"])
    run = authors(MaskedMatrix(file["S0"]), 15, 1.0, 5000, tol=1e-8)
    assert (run.status.code, run.n_iter, run.state.A.shape[1]) == ("converged", 593, file["S_d"].item())
    np.testing.assert_allclose(fit(run), file["S_AB"], atol=5e-8)  # how far independent programs agree after 593 steps


def test_admm_of_the_public_program(reference):
    file, problem = reference
    run = admm(problem, 10, 0.01, Limits(300), tol=1e-6)
    np.testing.assert_allclose(fit(run), file["admm_AB"], atol=1e-8)
    np.testing.assert_allclose(run.state.X, file["admm_X"], atol=1e-8)
    assert run.state.A.shape[1] == file["admm_d"]


def test_reweighting_of_the_public_program(reference):
    file, problem = reference
    run = reweighted(problem, 10, 0.01, Limits(300), p=0.25, tol=1e-6)
    np.testing.assert_allclose(fit(run), file["fgsrp_AB"], atol=1e-8)
    np.testing.assert_allclose(fit(run) + run.state.left, file["fgsrp_X"], atol=1e-8)
    assert run.state.A.shape[1] == file["fgsrp_d"]


def completed(run):
    return run.state.X if hasattr(run.state, "X") else fit(run) + run.state.left


@pytest.mark.parametrize("solver", [admm, reweighted])
def test_variants_end_where_the_completed_matrix_stands_still(reference, solver):
    """The authors' test: X changes by less than tol/10, for the first time."""
    _, problem = reference
    tol = 1e-3
    run = solver(problem, 10, 0.02, Limits(2000), tol=tol)
    assert run.status.code == "converged"
    before, last = (completed(solver(problem, 10, 0.02, Limits(run.n_iter - k), tol=0)) for k in (2, 1))
    changes = [np.linalg.norm(b - a) / np.linalg.norm(a) for a, b in ((before, last), (last, completed(run)))]
    assert changes[1] <= tol / 10 < changes[0]


def test_the_completed_matrix_is_near_the_clean_one(reference):
    file, problem = reference
    hidden = file["M"] == 0
    run = palm(problem, 10, 0.1, Limits(1000))
    left = np.linalg.norm((fit(run) - file["L"])[hidden]) / np.linalg.norm(file["L"][hidden])
    assert left < 0.25


@pytest.mark.parametrize("kind", ["2/3", "1/2"])
@pytest.mark.parametrize("accelerate", [False, True])
@pytest.mark.parametrize("alpha", [1.0, 3.0])
def test_fully_observed_singular_values_solve_scalar_problems(kind, accelerate, alpha):
    """min_s weight/2 (s - sigma)^2 + c s^q / q' per singular value: c s^(q-1) is what the slope of the penalty is.

    2/3: (3/2) alpha^(1/3) s^(2/3), slope alpha^(1/3) s^(-1/3); 1/2: 2 alpha^(1/2) s^(1/2), slope alpha^(1/2) s^(-1/2).
    """
    rng = np.random.default_rng(0)
    sigma = np.array([9.0, 6.0, 4.0, 0.2, 0.1])
    U, V = (np.linalg.qr(rng.standard_normal((n, 5)))[0] for n in (12, 8))
    problem, weight = MaskedMatrix((U * sigma) @ V.T), 2.0
    tol = 1e-15 if accelerate else 1e-12
    run = palm(problem, 5, weight, Limits(20_000), kind=kind, alpha=alpha, tol=tol, accelerate=accelerate)
    power = 1 / 3 if kind == "2/3" else 1 / 2

    def slope(s, sigma):
        return weight * (s - sigma) + alpha**power * s**-power

    want = [
        brentq(slope, 0.9 * x, x, args=(x,)) if slope(0.9 * x, x) < 0 else brentq(slope, x / 2, x, args=(x,))
        for x in sigma[:3]
    ]
    np.testing.assert_allclose(np.linalg.svd(fit(run), compute_uv=False)[:3], want, rtol=1e-6)
    assert run.state.A.shape[1] == 3  # the small ones are better at 0


def test_golden_singular_values_solve_scalar_problems(reference):
    """Every kept one is a root of its own problem; all but the last also the better of root and 0."""
    file, _ = reference
    sigma, s = (np.linalg.svd(file[name], compute_uv=False)[: int(file["S_d"])] for name in ("S0", "S_AB"))
    np.testing.assert_allclose(s - sigma + s ** (-1 / 3), 0, atol=1e-6)
    value = 0.5 * (s - sigma) ** 2 + 1.5 * s ** (2 / 3)
    assert (value[:-1] < 0.5 * sigma[:-1] ** 2).all()
    assert value[-1] > 0.5 * sigma[-1] ** 2


def test_reweighting_ends_at_a_stationary_point(reference):
    """Fully observed: weight (A B - X) B^T + A diag((|A_j| + zeta)^(p - 2)) = 0 and the like in B."""
    file, _ = reference
    problem = MaskedMatrix(file["S0"])
    run = reweighted(problem, 8, 2.0, Limits(20_000), p=0.5, tol=1e-14)
    A, B, left = run.state.A, run.state.B, run.state.left
    assert run.status.code == "converged"
    assert 0 < A.shape[1] <= 8
    W = (np.linalg.norm(A, axis=0) + 0.01) ** -1.5
    assert np.abs(2.0 * left @ B.T - A * W).max() < 1e-6
    assert np.abs(2.0 * A.T @ left - B).max() < 1e-6


def test_without_noise_admm_finds_the_hidden_values():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    M = (rng.random(L.shape) < 0.5).astype(float)
    run = admm(MaskedMatrix(L * M, M), 6, 1.0, Limits(2000), tol=1e-7)
    assert run.state.A.shape[1] == 2
    np.testing.assert_allclose(run.state.X, L, atol=1e-3)
    np.testing.assert_array_equal(run.state.X[M > 0], L[M > 0])


@pytest.mark.parametrize("kind", ["2/3", "1/2"])
def test_momentum_never_goes_up_and_ends_no_higher(reference, kind):
    _, problem = reference
    quick = palm(problem, 10, 0.1, Limits(1000), kind=kind, tol=1e-6)
    objectives = np.array([facts["objective"] for facts in quick.history])
    assert (np.diff(objectives) <= 1e-9 * objectives[:-1]).all()
    slow = palm(problem, 10, 0.1, Limits(3 * quick.n_iter), kind=kind, tol=0, accelerate=False)
    assert quick.facts["objective"] <= slow.facts["objective"] * (1 + 1e-6)


def test_safe_steps_go_down_with_a_full_mask(reference):
    """rho >= 1 is 1/L, where the descent lemma holds."""
    file, _ = reference
    run = palm(MaskedMatrix(file["S0"]), 15, 1.0, Limits(200), tol=0, accelerate=False)
    assert (np.diff([facts["objective"] for facts in run.history]) <= 0).all()


def test_first_pair_is_balanced_for_its_penalty():
    Z = np.diag([5.0, 2.0])
    for alpha in (1.0, 2.0):
        A, B = first_pair(Z, 2, alpha, 2 / 3)
        np.testing.assert_allclose(A @ B, Z, atol=1e-12)
        value = np.linalg.norm(A, axis=0).sum() + 0.5 * alpha * np.sum(B * B)
        assert value == pytest.approx(1.5 * alpha ** (1 / 3) * np.sum(np.diag(Z) ** (2 / 3)))
        A, B = first_pair(Z, 2, alpha, 1 / 2)
        value = np.linalg.norm(A, axis=0).sum() + alpha * np.linalg.norm(B, axis=1).sum()
        assert value == pytest.approx(2 * alpha**0.5 * np.sum(np.diag(Z) ** 0.5))


def test_shrinking_a_zero_column():
    np.testing.assert_array_equal(shrink_columns(np.zeros((2, 2)), 1.0), np.zeros((2, 2)))


@pytest.mark.parametrize("variant", VARIANTS)
@pytest.mark.filterwarnings("ignore::simcomplete.errors.NotConvergedWarning")
def test_every_variant_completes_digits(small, variant):
    P, Q, truth = small
    S0, true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    done = sc.complete(P, Q, method="fgsr", variant=variant)
    assert sc.metrics.relative_squared_error(done.similarity(), S0, true) < 0.6


@pytest.mark.parametrize("mode", ["X", "S"])
@pytest.mark.parametrize("variant", ["2/3", "1/2", "p"])
def test_everything_pruned_is_told_and_finite(small, mode, variant):
    P, Q, _ = small
    with pytest.warns(sc.errors.NotConvergedWarning, match="removed every component, and the fit is 0"):
        done = sc.complete(P, Q, method="fgsr", weight=1e-9, mode=mode, variant=variant)
    assert done.status.code == "pruned"
    assert done.history[-1]["components"] == 0
    S = done.similarity()
    assert np.isfinite(S).all()
    if mode == "S":
        assert not S.any()
        assert done.rank == 0


def test_the_authors_weight_deletes_everything_on_unit_pixels(small):
    """lambda = 0.01 is for larger data: on pixels in [0, 1] of 60 + 20 digits nothing survives."""
    P, Q, _ = small
    with pytest.warns(sc.errors.NotConvergedWarning, match="removed every component"):
        sc.complete(P / 160, Q / 160, method="fgsr", preset="original")


def test_mode_s_is_low_rank_and_keeps_signs(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="fgsr", mode="S", rank=30, penalty=1e-4)
    assert done.factor is not None
    assert done.rank <= 60
    assert (done.signs < 0).any()
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    few = sc.complete_similarity(S0, method="fgsr", rank=4, penalty=1e-4)
    assert few.rank <= 8


def test_penalty_is_one_over_the_weight_of_the_data(small):
    P, Q, _ = small
    a = sc.complete(P, Q, method="fgsr", penalty=0.002)
    b = sc.complete(P, Q, method="fgsr", weight=500.0)
    np.testing.assert_array_equal(a.similarity(), b.similarity())
    assert a.params["weight"] == 500.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"variant": "3/4"}, "variant='3/4' is unknown; use '2/3', '1/2', 'admm' or 'p'"),
        ({"variant": "admm", "mode": "S"}, "variant='admm' keeps observed entries"),
        ({"rho": 0.4}, "rho=0.4 is not a number"),
        ({"weight": 0}, "weight=0 is not a number above 0"),
        ({"p": 2}, "p=2 is not a number between"),
        ({"alpha": 0}, "alpha=0 is not a number"),
        ({"tol": -1}, "tol=-1 is not a number"),
    ],
)
def test_wrong_parameters(small, given, message):
    P, Q, _ = small
    with pytest.raises(InputError, match=message):
        sc.complete(P, Q, method="fgsr", **given)
