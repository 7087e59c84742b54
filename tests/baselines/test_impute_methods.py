"""What zero, mean, lr and gr do, each by a second route or on data whose answer is known."""

import numpy as np
import pytest
import scipy.linalg
from sklearn.linear_model import LinearRegression, Ridge

import simcomplete as sc
from simcomplete._baselines.imputation import gr, grouse, kfmc, lr, mean, zero
from simcomplete._method.iterate import Limits
from simcomplete._registry import REGISTRY

METHODS = (*zero.METHODS, *mean.METHODS, *lr.METHODS, *gr.METHODS, *kfmc.METHODS)


@pytest.fixture(scope="module")
def hard(digits, hide):
    """200 candidates and 40 queries with 80 percent missing: P, Q, truth."""
    return digits[:200], hide(digits[200:240], 0.8), digits[200:240]


def error(hard, method, **params):
    P, Q, truth = hard
    done = sc.complete(P, Q, method=method, progress=False, **params)
    S0, S = sc.overlap_similarity(np.concatenate([P, Q])), sc.overlap_similarity(np.concatenate([P, truth]))
    return sc.metrics.relative_squared_error(done.similarity(), S0, S)


def test_rows_of_the_registry_are_true():
    for method in METHODS:
        assert method.psd and method.keeps_candidates and method.acts_on == "samples" and not method.out_of_sample
        assert method.random == (method.name in ("gr", "kfmc"))
        assert set(method.original) <= set(method.parameters)
        assert all(set(setting) <= {"rank", *method.parameters} for setting in method.grid)


def test_the_order_of_the_methods_on_digits(hard):
    """As METHODS section 6 has it for raw images: fitting beats the mean, and the mean beats zero."""
    errors = {name: error(hard, name) for name in ("zero", "mean", "lr", "gr", "kfmc")}
    assert errors["mean"] < errors["zero"]
    assert max(errors["lr"], errors["gr"], errors["kfmc"]) < 0.6 * errors["mean"]


@pytest.mark.parametrize("method", ["gr", "kfmc"])
def test_defaults_find_more_neighbours_than_the_original(hard, method):
    P, Q, truth = hard
    true = sc.overlap_similarity(np.concatenate([P, truth]))[len(P) :, : len(P)]

    def recall(**params):
        done = sc.complete(P, Q, method=method, progress=False, **params)
        return sc.metrics.recall_at(done.similarity("queries", "candidates"), true, k=0.2)

    assert recall() > recall(preset="original") + 0.05


@pytest.mark.parametrize(("method", "params"), [("lr", {}), ("gr", {"max_iter": 2}), ("kfmc", {"atoms": 10})])
def test_tuning_takes_one_of_the_settings(small, method, params):
    P, Q, _ = small
    choice = sc.complete(P, Q, method=method, tune=True, progress=False, **params).choice
    assert choice["tuned"] in [dict(setting) for setting in REGISTRY[method].grid]
    assert len(choice["tried"]) == len(REGISTRY[method].grid)
    assert all(np.isfinite(tried["error"]) for tried in choice["tried"])


@pytest.mark.parametrize("method", ["gr", "kfmc"])
def test_seeds_differ_and_repeat(small, method):
    P, Q, _ = small
    params = {"start": "random"} if method == "gr" else {"atoms": 10}
    first, same, other = (
        sc.complete(P, Q, method=method, random_state=seed, progress=False, **params).similarity() for seed in (1, 1, 2)
    )
    assert np.array_equal(first, same) and not np.allclose(first, other)


# zero and mean


def test_zero_stays_zero_where_no_observed_value_is():
    done = sc.complete(np.array([[5.0, 5.0]]), np.array([[8.0, np.nan]]), method="zero")
    assert done.similarity()[0, 1] == pytest.approx(1 / np.sqrt(2))  # (5, 5) and (8, 0): 45 degrees


def test_mean_of_the_candidates():
    # Means of the candidates are (1, 2): the query becomes (3, 2), whatever the other query holds.
    P, Q = np.array([[0.0, 1.0], [2.0, 3.0]]), np.array([[3.0, np.nan], [np.nan, 100.0]])
    done = sc.complete(P, Q, method="mean")
    assert done.similarity()[0, 2] == pytest.approx(2 / np.sqrt(13))


def test_mean_of_all_observed_values_without_queries():
    # Second feature: mean 2. So (3, 2) against (0, 1).
    X = np.array([[0.0, 1.0], [np.nan, 3.0], [3.0, np.nan]])
    assert sc.complete(X, method="mean").similarity()[0, 2] == pytest.approx(2 / np.sqrt(13))


# lr


def masked(n, d, seed, share):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, 4)) @ rng.standard_normal((4, d)) + 0.3 * rng.standard_normal((n, d))
    Q = X[-6:].copy()
    Q[rng.random(Q.shape) < share] = np.nan
    return X[:-6], Q


@pytest.mark.parametrize("share", [0.2, 0.5, 0.8])  # the fewer missing, the more the inverse covariance is used
@pytest.mark.parametrize("eps", [0.0, 1e-3, 0.1])
def test_lr_feature_is_regression_by_scikit_learn(share, eps):
    P, Q = masked(60, 12, 3, share)
    filled = lr.impute(Q, P.mean(axis=0), lr.by_feature(P, eps))
    weight = eps * np.trace(np.cov(P.T)) / 12 * (len(P) - 1)  # theirs is not divided by n - 1
    for q, have in zip(Q, filled, strict=True):
        seen = ~np.isnan(q)
        if seen.all() or not seen.any():
            continue
        model = (Ridge(alpha=weight) if eps else LinearRegression()).fit(P[:, seen], P[:, ~seen])
        np.testing.assert_allclose(have[~seen], model.predict(q[None, seen])[0], atol=1e-9)
        np.testing.assert_array_equal(have[seen], q[seen])


@pytest.mark.parametrize("eps", [0.0, 1e-14])
def test_lr_with_features_that_determine_each_other_is_regression_of_least_norm(eps):
    P, Q = masked(60, 8, 4, 0.5)
    P, Q = np.concatenate([P, P[:, :4]], axis=1), np.concatenate([Q, Q[:, :4]], axis=1)
    P[:, 5] = 2.0
    filled = lr.impute(Q, P.mean(axis=0), lr.by_feature(P, eps))
    for q, have in zip(Q, filled, strict=True):
        seen = ~np.isnan(q)
        model = LinearRegression().fit(P[:, seen], P[:, ~seen])
        np.testing.assert_allclose(have[~seen], model.predict(q[None, seen])[0], atol=1e-8)


@pytest.mark.parametrize(("n", "d"), [(60, 12), (14, 40), (9, 4)])
def test_lr_sample_is_the_least_squares_of_least_norm(n, d):
    P, Q = masked(n, d, 5, 0.5)
    filled = lr.impute(Q, P.mean(axis=0), lr.by_sample(P))
    A = np.concatenate([np.ones((1, d)), P]).T
    for q, have in zip(Q, filled, strict=True):
        seen = ~np.isnan(q)
        if seen.any() and not seen.all():
            np.testing.assert_allclose(have[~seen], A[~seen] @ np.linalg.pinv(A[seen]) @ q[seen], atol=1e-9)


def test_lr_sample_basic_uses_no_more_candidates_than_there_are_values():
    P, Q = masked(40, 10, 6, 0.5)
    seen = ~np.isnan(Q[0])
    O, U = np.flatnonzero(seen), np.flatnonzero(~seen)  # noqa: E741
    # A basic solution is one of the many that interpolate: on some |O| columns. Try which, from its own answer.
    A = np.concatenate([np.ones((1, 10)), P]).T
    have = lr.by_sample(P, basic=True)(Q[:1, O], O, U)[0]
    columns = scipy.linalg.qr(A[O], pivoting=True)[2][: len(O)]
    beta = np.linalg.solve(A[np.ix_(O, columns)], Q[0, O])
    np.testing.assert_allclose(have, A[np.ix_(U, columns)] @ beta, atol=1e-9)
    assert not np.allclose(have, lr.by_sample(P)(Q[:1, O], O, U)[0], atol=1e-3)


def test_lr_treats_queries_with_the_same_mask_together():
    P, Q = masked(40, 10, 7, 0.5)
    Q = np.concatenate([Q, np.where(np.isnan(Q[:1]), np.nan, 1.0), P[:1], np.full((1, 10), np.nan)])
    calls = []

    def counted(q_O, O, U):  # noqa: E741
        calls.append(len(q_O))
        return lr.by_feature(P)(q_O, O, U)

    filled = lr.impute(Q, P.mean(axis=0), counted)
    assert sorted(calls) == [1, 1, 1, 1, 1, 2]
    one_by_one = np.concatenate([lr.impute(q[None], P.mean(axis=0), lr.by_feature(P)) for q in Q])
    np.testing.assert_allclose(filled, one_by_one, atol=1e-12)
    np.testing.assert_array_equal(filled[-1], P.mean(axis=0))


# gr


def planted(n=120, d=20, rank=3, share=0.4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d))
    return X, np.where(rng.random(X.shape) < share, np.nan, X)


def test_gr_finds_the_subspace_of_incomplete_rows_from_a_random_start():
    X, table = planted()
    rows, rng = grouse.RowStream(table), np.random.default_rng(1)
    U = grouse.orthonormal(rng.standard_normal((20, 3)))
    orders = [rng.permutation(120) for _ in range(60)]
    run = grouse.grouse(rows, U, orders, 5.0, Limits(60, progress=False))
    U = run.state.U
    assert run.history[0]["residual"] > 0.5 and run.facts["residual"] < 1e-3
    np.testing.assert_allclose(U.T @ U, np.eye(3), atol=1e-14)
    assert np.linalg.norm(rows.all_weights(U) @ U.T - X) < 1e-2 * np.linalg.norm(X)
    assert run.state.seen == 60 * 120


def test_gr_starts_where_principal_directions_of_candidates_are():
    X, _ = planted()
    for Z in (X, X[:8]):  # by features, by rows
        U = grouse.principal(Z, 3)
        V = np.linalg.svd(Z)[2][:3].T
        np.testing.assert_allclose(U @ U.T, V @ V.T, atol=1e-10)


def test_gr_learns_nothing_from_rows_without_residual_or_weight():
    """What is 0/0 in the public program: a zero row, and one with no more values than directions."""
    U = np.eye(4)[:, :2]
    start = grouse.Subspace(U, 0, np.zeros(0))
    silent = np.array([[0.0, 0, 0, 0], [1.0, 2.0, np.nan, np.nan], [np.nan] * 4, [0.0, 0.0, 1.0, np.nan]])
    moved = grouse.cycle(grouse.RowStream(silent), start, np.arange(4), 1.0)
    np.testing.assert_array_equal(moved.U, U)
    np.testing.assert_allclose(moved.errors, [0, 0, 0, 1], atol=1e-15)  # the last lies outside: weights 0


def test_gr_refuses_steps_beyond_a_right_angle():
    rows, U = grouse.RowStream(np.array([[1.0, 1.0]])), np.array([[1.0], [0.0]])
    start = grouse.Subspace(U, 0, np.zeros(0))  # |res| |w| = 1, so the step is the angle
    assert np.array_equal(grouse.cycle(rows, start, np.array([0]), 1.6).U, U)
    turned = grouse.cycle(rows, start, np.array([0]), np.pi / 4).U
    np.testing.assert_allclose(turned, [[np.sqrt(0.5)], [np.sqrt(0.5)]])


def test_gr_takes_any_basis_and_an_absolute_step(small):
    """A basis is made orthonormal first; |res| |w| grows with the square of the data, so the step undoes it."""
    P, Q, _ = small
    U = np.random.default_rng(0).standard_normal((64, 3))
    given = {"method": "gr", "relative": False, "max_iter": 2, "progress": False}
    want = sc.complete(P, Q, start=np.linalg.qr(U)[0], step=0.05, **given).similarity()
    np.testing.assert_allclose(sc.complete(P, Q, start=U, step=0.05, **given).similarity(), want, atol=1e-9)
    other = sc.complete(10 * P, 10 * Q, start=U, step=0.05 / 100, **given)
    np.testing.assert_allclose(other.similarity(), want, atol=1e-9)
    assert not np.allclose(sc.complete(P, Q, start=U, step=0.5, **given).similarity(), want, atol=1e-3)


def test_gr_default_rank_leaves_three_values_for_each_weight(small):
    P, Q, _ = small
    seen = int(np.median((~np.isnan(Q)).sum(axis=1)))
    ranks = {
        support: sc.complete(P, Q, method="gr", max_iter=1, support=support, progress=False).params["rank"]
        for support in (0, 3, 1000)
    }
    assert ranks == {0: 10, 3: min(10, seen // 3), 1000: 1}
    assert sc.complete(P, Q, method="gr", max_iter=1, rank=7, progress=False).params["rank"] == 7


def test_pearson_is_taken_of_the_filled_rows(small):
    P, Q, _ = small
    done = sc.complete(P, Q, method="mean", metric="pearson")
    filled = np.concatenate([P, np.where(np.isnan(Q), P.mean(axis=0), Q)])
    np.testing.assert_allclose(done.similarity(), np.corrcoef(filled), atol=1e-10)
