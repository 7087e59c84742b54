"""BPMF: the authors' program in deterministic form, conditional draws against algebra, and another implementation."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._baselines.completion.bpmf import noise_precision, spread
from simcomplete._baselines.completion.bpmf_draws import SHARED, Draws, Patterns, Side, bartlett, draw_hyper, draw_rows
from simcomplete._baselines.completion.bpmf_gibbs import map_start, sample
from simcomplete._baselines.completion.modes import MaskedMatrix
from simcomplete._method.iterate import Limits
from simcomplete.errors import InputError


@pytest.fixture(scope="module")
def ratings(golden):
    """The rating table of the reference run, 0 where there is none, and its mask."""
    file = golden("bpmf")
    R, M = np.zeros((15, 12)), np.zeros((15, 12))
    i, j = file["train"][:, :2].astype(int).T - 1
    R[i, j], M[i, j] = file["train"][:, 2], 1
    return file, MaskedMatrix(R, M)


@pytest.mark.parametrize("epochs", [1, 5])
def test_deterministic_chain_of_the_authors_program(ratings, epochs):
    """Every normal draw 0, every Wishart draw its mean: U, V, both means and precisions, and the running average."""
    file, problem = ratings
    assert problem.mean == pytest.approx(float(file["mean_rating"].item()), abs=1e-12)
    run = sample(problem, file["U_init"], file["V_init"], 2.0, Limits(epochs), Draws.mean(), ddof=1)
    state = run.state
    i, j = file["probe"][:, :2].astype(int).T - 1
    found = {
        "U": state.U.rows,
        "V": state.V.rows,
        "mu_u": state.U.mu[:, None],
        "mu_m": state.V.mu[:, None],
        "Lam_u": state.U.Lam,
        "Lam_m": state.V.Lam,
        "pred": state.average[i, j][:, None],
    }
    for name, array in found.items():
        np.testing.assert_allclose(array, file[f"e{epochs}_{name}"], atol=1e-10, err_msg=name)


def test_predictions_are_not_clipped_and_the_probe_ratings_are_near(ratings):
    file, problem = ratings
    rng = np.random.default_rng(0)
    run = sample(problem, file["U_init"], file["V_init"], 2.0, Limits(60), Draws.random(rng), burn_in=10)
    i, j = file["probe"][:, :2].astype(int).T - 1
    error = np.mean((run.state.average[i, j] - file["probe"][:, 2]) ** 2)
    assert error < np.var(file["probe"][:, 2])
    shifted = MaskedMatrix((problem.values - 10) * problem.mask, problem.mask)  # all ratings negative now
    again = sample(shifted, file["U_init"], file["V_init"], 2.0, Limits(5), Draws.mean())
    want = sample(problem, file["U_init"], file["V_init"], 2.0, Limits(5), Draws.mean())
    np.testing.assert_allclose(again.state.average + 10, want.state.average, atol=1e-10)


def sides(n=30, d=12, r=3, seed=0):
    """A mask where many rows share a pattern and others have their own, with data and factors."""
    rng = np.random.default_rng(seed)
    mask = (rng.random((n, d)) < 0.5).astype(float)
    mask[: 2 * SHARED] = 1
    mask[-3:] = mask[-1]
    Lam = bartlett(np.eye(r) / 5, 9, rng)
    return (
        mask,
        rng.standard_normal((n, d)) * mask,
        rng.standard_normal((d, r)),
        Side(np.zeros((n, r)), np.ones(r), Lam),
    )


def test_rows_are_drawn_from_their_conditional():
    """Against the formula row by row: the mean without noise, and A^-1 as the sum of squares of unit noises."""
    mask, R, V, side = sides()
    beta, r = 3.0, V.shape[1]
    mean = draw_rows(R, Patterns(mask), side, V, beta, Draws.mean()).rows
    unit = [
        draw_rows(R, Patterns(mask), side, V, beta, Draws(lambda s, k=k: np.eye(r)[k] + np.zeros(s), None)).rows
        for k in range(r)
    ]
    for i in range(len(R)):
        seen = mask[i] > 0
        A = side.Lam + beta * V[seen].T @ V[seen]
        np.testing.assert_allclose(
            mean[i], np.linalg.solve(A, beta * V[seen].T @ R[i, seen] + side.Lam @ side.mu), atol=1e-12
        )
        noise = np.array([draw[i] - mean[i] for draw in unit]).T
        np.testing.assert_allclose(noise @ noise.T, np.linalg.inv(A), atol=1e-12)


def test_one_shared_precision_with_a_full_mask():
    _, R, V, side = sides()
    full = np.ones_like(R)
    draws = [Draws(np.random.default_rng(1).standard_normal, None) for _ in range(2)]
    a = draw_rows(R, None, side, V, 2.0, draws[0]).rows
    b = draw_rows(R, Patterns(full), side, V, 2.0, draws[1]).rows
    np.testing.assert_allclose(a, b, atol=1e-12)


def test_wishart_draws_have_the_right_moments():
    rng = np.random.default_rng(0)
    W = np.array([[2.0, 0.5], [0.5, 1.0]])
    draws = np.array([bartlett(W, 7, rng) for _ in range(10_000)])
    np.testing.assert_allclose(draws.mean(axis=0), 7 * W, rtol=0.03)
    # Var(W_ij) = df (w_ij^2 + w_ii w_jj)
    want = 7 * (W**2 + np.outer(np.diag(W), np.diag(W)))
    np.testing.assert_allclose(draws.var(axis=0), want, rtol=0.08)


def test_hyperparameters_follow_their_rows():
    rows = np.random.default_rng(0).multivariate_normal([1, -2], [[0.5, 0.2], [0.2, 0.3]], 20_000)
    side = draw_hyper(rows, 2.0, 0, Draws.mean())
    np.testing.assert_allclose(side.mu, rows.mean(axis=0), atol=1e-3)
    np.testing.assert_allclose(np.linalg.inv(side.Lam), np.cov(rows.T), atol=1e-2)
    one = draw_hyper(rows[:1], 2.0, 1, Draws.mean())  # the covariance of one row over n - 1 would be 0/0
    assert np.isfinite(one.Lam).all()


def test_average_is_the_mean_of_the_states_that_count(ratings):
    file, problem = ratings

    def after(epochs, burn_in):
        draws = Draws.random(np.random.default_rng(3))
        return sample(problem, file["U_init"], file["V_init"], 2.0, Limits(epochs), draws, burn_in=burn_in).state

    states = [after(k, 0) for k in range(1, 7)]
    products = [file["U_init"] @ file["V_init"].T + problem.mean]
    products += [state.U.rows @ state.V.rows.T + problem.mean for state in states]
    np.testing.assert_allclose(after(6, 0).average, np.mean(products, axis=0), atol=1e-12)
    late = after(6, 4)
    np.testing.assert_allclose(late.average, np.mean(products[4:], axis=0), atol=1e-12)
    assert late.counted == 3
    early = after(3, 4)  # nothing counts yet: the last state alone
    np.testing.assert_allclose(early.average, products[3], atol=1e-12)
    assert early.counted == 0


def test_agrees_with_smurff():
    """Another implementation of the same sampler: as near to the truth, and near to each other."""
    smurff = pytest.importorskip("smurff")
    sparse = pytest.importorskip("scipy.sparse")
    rng = np.random.default_rng(0)
    n, d, r = 60, 40, 3
    truth = rng.standard_normal((n, r)) @ rng.standard_normal((r, d))
    X, M = truth + 0.5 * rng.standard_normal((n, d)), rng.random((n, d)) < 0.5

    def table(which):
        i, j = np.nonzero(which)
        return sparse.coo_matrix((X[i, j], (i, j)), shape=(n, d))

    session = smurff.BPMFSession(
        table(M), True, table(~M), None, num_latent=r, burnin=50, nsamples=200, verbose=0, seed=1
    )
    theirs = np.zeros((n, d))
    for found in session.run():
        theirs[found.coords[0], found.coords[1]] = found.pred_avg
    U, V = 0.1 * rng.standard_normal((n, r)), 0.1 * rng.standard_normal((d, r))
    ours = sample(MaskedMatrix(X * M, M * 1.0), U, V, 5.0, Limits(250), Draws.random(rng), burn_in=50).state.average

    def distance(a, b):
        return np.sqrt(np.mean((a - b)[~M] ** 2))

    assert distance(ours, truth) == pytest.approx(distance(theirs, truth), rel=0.05)
    assert distance(ours, theirs) < 0.4 * distance(ours, truth)


def test_the_map_start_is_a_stationary_point_of_pmf(ratings):
    """The gradient of |M * (R - mean - U V^T)|^2 + ridges is 0 there, to how far 2000 sweeps come."""
    file, problem = ratings
    U, V = map_start(problem, file["U_init"], file["V_init"], ridge=0.2, epochs=2000)
    left = problem.residual(U @ V.T + problem.mean)
    ridge = 0.5 * 0.2 * problem.count
    assert np.abs(left @ V - ridge / 15 * U).max() < 1e-8
    assert np.abs(left.T @ U - ridge / 12 * V).max() < 1e-6


def test_precision_of_the_noise():
    rng = np.random.default_rng(0)
    L = rng.standard_normal((200, 3)) @ rng.standard_normal((3, 50))
    X = L + 0.2 * rng.standard_normal(L.shape)
    assert noise_precision(MaskedMatrix(X), 4) == pytest.approx(25, rel=0.05)
    M = np.ones_like(X)
    M[150:] = rng.random((50, 50)) < 0.3
    assert noise_precision(MaskedMatrix(X * M, M), 4) == pytest.approx(25, rel=0.05)  # from the complete rows alone
    flat = MaskedMatrix(np.full((4, 3), 0.1))
    assert np.isfinite(noise_precision(flat, 2))
    assert spread(flat) == pytest.approx(0.1)
    assert noise_precision(MaskedMatrix(np.zeros((4, 3))), 2) > 0


def test_the_mean_is_nearer_to_the_truth_than_one_state():
    rng = np.random.default_rng(0)
    truth = rng.standard_normal((40, 2)) @ rng.standard_normal((2, 30))
    M = (rng.random(truth.shape) < 0.4).astype(float)
    problem = MaskedMatrix((truth + rng.standard_normal(truth.shape)) * M, M)
    U, V = 0.1 * rng.standard_normal((40, 2)), 0.1 * rng.standard_normal((30, 2))
    state = sample(problem, U, V, 1.0, Limits(100), Draws.random(rng), burn_in=40).state
    one = state.U.rows @ state.V.rows.T + problem.mean
    assert np.mean((state.average - truth) ** 2) < 0.8 * np.mean((one - truth) ** 2)


def test_completes_digits(small):
    P, Q, truth = small
    S0, true = sc.overlap_similarity(np.vstack([P, Q])), sc.overlap_similarity(np.vstack([P, truth]))
    done = sc.complete(P, Q, method="bpmf")
    assert sc.metrics.relative_squared_error(done.similarity(), S0, true) < 0.5


def test_original_parameters_and_given_starts(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="bpmf", preset="original")
    assert {k: done.params[k] for k in ("rank", "beta", "unit", "burn_in")} == {
        "rank": 10,
        "beta": 2.0,
        "unit": 1.0,
        "burn_in": 0,
    }
    rng = np.random.default_rng(0)
    start = rng.standard_normal((80, 4)), rng.standard_normal((64, 4))
    a = sc.complete(P, Q, method="bpmf", start=start, max_iter=5, burn_in=0)
    b = sc.complete(P, Q, method="bpmf", start=start, max_iter=5, burn_in=0)
    np.testing.assert_array_equal(a.similarity(), b.similarity())
    assert (a.params["start"], a.params["rank"]) == ("given", 4)
    assert a.status.message == "the mean of 6 states, after 5 epochs"


def test_ended_before_burn_in_it_says_so(small):
    P, Q, _ = small
    with pytest.warns(sc.errors.NotConvergedWarning, match=r"before burn_in=50, so this is one state alone"):
        done = sc.complete(P, Q, method="bpmf", callback=lambda i, facts: i == 3)
    assert np.isfinite(done.similarity()).all()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"burn_in": 200}, "burn_in=200 must be a whole number from 0 to max_iter=150"),
        ({"burn_in": 1.5}, "burn_in=1.5 must be"),
        ({"ddof": 2}, "ddof=2 is unknown; use 0"),
        ({"beta": -1.0}, "beta=-1.0 is not 'auto' or a number above 0"),
        ({"beta": 0}, "beta=0 is not 'auto' or a number above 0"),
        ({"start": "zero"}, "start='zero' is unknown; use 'pmf' or two arrays"),
        ({"start": (np.ones((80, 2)), np.ones((64, 3)))}, r"start has shapes \(80, 2\) and \(64, 3\)"),
        ({"start": 3}, "start=3 must be 'pmf' or two arrays"),
        ({"max_iter": 0}, "max_iter=0 must be"),
    ],
)
def test_wrong_parameters(small, given, message):
    P, Q, _ = small
    with pytest.raises(InputError, match=message):
        sc.complete(P, Q, method="bpmf", **given)


def test_values_too_large_for_their_unit_are_refused():
    rng = np.random.default_rng(0)
    P, Q = 1e8 * rng.random((30, 8)), 1e8 * rng.random((6, 8))
    Q[:, ::2] = np.nan
    with pytest.raises(InputError, match="not positive definite with unit=1; use 'auto'"):
        sc.complete(P, Q, method="bpmf", preset="original")
