"""zero, mean, lr, gr, kfmc on data that break things: every answer finite, symmetric, PSD, exact on candidates."""

import warnings

import numpy as np
import pytest

import simcomplete as sc

QUICK = {"atoms": 8, "inner": 10}
WAYS = [
    ("zero", {}),
    ("mean", {}),
    ("lr", {}),
    ("lr", {"eps": 0}),
    ("lr", {"variant": "sample"}),
    ("lr", {"variant": "sample-basic"}),
    ("gr", {"max_iter": 3}),
    ("gr", {"preset": "original", "max_iter": 3}),
    ("kfmc", QUICK),
    ("kfmc", {**QUICK, "kernel": "poly"}),
    ("kfmc", {**QUICK, "variant": "extend", "kernel": "poly"}),
    ("kfmc", {**QUICK, "variant": "offline", "max_iter": 5, "tol": 0}),
    ("kfmc", {**QUICK, "variant": "offline", "kernel": "poly", "max_iter": 5, "tol": 0}),
    ("kfmc", {**QUICK, "preset": "original"}),
    ("kfmc", {**QUICK, "preset": "original", "variant": "offline", "max_iter": 5, "tol": 0}),
]
IDS = ["-".join([name, *(f"{v}" for k, v in params.items() if k not in QUICK)]) for name, params in WAYS]


def rows(n, d, seed=0):
    return np.random.default_rng(seed).standard_normal((n, d))


def hidden(Q, share=0.5, seed=1):
    return np.where(np.random.default_rng(seed).random(Q.shape) < share, np.nan, Q)


def cases():
    P, Q = rows(12, 6), hidden(rows(4, 6, 2))
    yield "usual", P, Q
    nothing = Q.copy()
    nothing[1] = np.nan
    yield "nothing observed in one query", P, nothing
    yield "nothing observed in any query", P, np.full((2, 6), np.nan)
    zeros = P.copy()
    zeros[:2], zeros[:, 0] = 0, 0
    yield "zero rows and a zero column", zeros, np.where(np.isnan(Q), Q, 0)
    yield "all zero", 0 * P, np.where(np.isnan(Q), Q, 0)
    yield "constant rows", np.full((5, 6), 3.0), np.where(np.isnan(Q), Q, 3.0)
    constant = P.copy()
    constant[:, 2:4] = 7
    yield "constant columns", constant, Q
    yield "duplicate rows", np.repeat(P[:3], 4, axis=0), np.concatenate([Q, Q])
    yield "one candidate", P[:1], Q
    yield "two candidates", P[:2], Q
    yield "one query", P, Q[:1]
    yield "one feature", P[:, :1], np.array([[np.nan], [1.0]])
    yield "complete queries", P, rows(3, 6, 5)
    for size in (1e-300, 1e-30, 1e30, 1e300):
        yield f"values of {size}", P * size, Q * size
    yield "values of every size", P * 10.0 ** np.arange(-30, 30, 10), Q * 10.0 ** np.arange(-30, 30, 10)
    yield "more features than rows", rows(4, 40), hidden(rows(3, 40, 2))


CASES = {name: (P, Q) for name, P, Q in cases()}


# The original kfmc has no unit: what would overflow is refused, and tested below.
PAIRS = [
    pytest.param(method, params, case, id=f"{way}-{case}")
    for (method, params), way in zip(WAYS, IDS, strict=True)
    for case in CASES
    if not (case == "values of 1e+300" and way.startswith("kfmc-original"))
]


@pytest.mark.parametrize(("method", "params", "case"), PAIRS)
def test_every_answer_is_a_similarity_matrix(method, params, case):
    P, Q = (X.copy() for X in CASES[case])
    done = sc.complete(P, Q, method=method, progress=False, **params)
    np.testing.assert_array_equal(P, CASES[case][0])
    np.testing.assert_array_equal(Q, CASES[case][1])
    S = done.similarity()
    n_p = len(P)
    assert S.shape == (n_p + len(Q),) * 2
    assert np.isfinite(S).all() and np.array_equal(S, S.T)
    np.testing.assert_allclose(np.diag(S), 1, atol=1e-12)
    assert np.linalg.eigvalsh(S)[0] > -1e-12 * len(S)
    np.testing.assert_allclose(S[:n_p, :n_p], sc.overlap_similarity(P), atol=1e-12)
    whole = ~np.isnan(Q).any(axis=1)
    np.testing.assert_allclose(
        S[n_p:][whole, :n_p], sc.overlap_similarity(np.concatenate([P, Q]))[n_p:][whole, :n_p], atol=1e-12
    )
    assert done.validity.ok
    again = sc.complete(P, Q, method=method, progress=False, **params)
    np.testing.assert_array_equal(S, again.similarity())


# The original ones have an absolute step or width, and regression on samples has an intercept of 1.
UNITLESS = [way for way in WAYS if "preset" not in way[1] and "sample" not in str(way[1])]


@pytest.mark.parametrize(("method", "params"), UNITLESS)
def test_the_unit_of_the_data_does_not_matter(method, params):
    P, Q = CASES["usual"]
    one = sc.complete(P, Q, method=method, progress=False, **params).similarity()
    other = sc.complete(P * 1e4, Q * 1e4, method=method, progress=False, **params).similarity()
    np.testing.assert_allclose(one, other, atol=1e-7)


@pytest.mark.parametrize(("method", "params"), WAYS, ids=IDS)
def test_float32_in_float32_out(method, params):
    P, Q = (X.astype(np.float32) for X in CASES["usual"])
    done = sc.complete(P, Q, method=method, progress=False, **params)
    assert done.similarity().dtype == np.float32


@pytest.mark.parametrize(("method", "params"), WAYS, ids=IDS)
def test_all_rows_incomplete(method, params):
    X = hidden(rows(12, 6), 0.3)
    X[4] = np.nan
    if params.get("variant") == "extend":
        with pytest.raises(sc.errors.InputError, match="give candidates and queries"):
            sc.complete(X, method=method, progress=False, **params)
        return
    if method == "lr":
        with pytest.raises(sc.errors.InputError, match=r"learns from complete rows, and [01] of 12 samples are"):
            sc.complete(np.where(np.eye(12, 6) > 0, np.nan, X), method=method, progress=False, **params)
        X[:5] = rows(5, 6, 9)
        X[-1] = np.nan
    S = sc.complete(X, method=method, progress=False, **params).similarity()
    assert np.isfinite(S).all() and np.array_equal(S, S.T)
    np.testing.assert_allclose(np.diag(S), 1, atol=1e-12)


@pytest.mark.parametrize("method", ["zero", "mean", "gr", "kfmc"])
def test_nothing_observed_at_all(method):
    S = sc.complete(np.full((3, 2), np.nan), method=method, progress=False).similarity()
    np.testing.assert_array_equal(S, np.eye(3))


# GROUSE and KFMC stream all samples, by definition.
INDUCTIVE = [way for way in WAYS if way[0] not in ("gr", "kfmc") or way[1].get("variant") == "extend"]


@pytest.mark.parametrize(("method", "params"), INDUCTIVE)
def test_only_candidates_teach(method, params):
    """Nothing is fitted on queries: others may come and go."""
    P, Q = CASES["usual"]
    alone = sc.complete(P, Q[:1], method=method, progress=False, **params).similarity("queries", "candidates")
    together = sc.complete(P, Q, method=method, progress=False, **params).similarity("queries", "candidates")
    np.testing.assert_allclose(alone, together[:1], atol=1e-10)


@pytest.mark.parametrize(
    ("method", "params", "message"),
    [
        ("lr", {"variant": "samples"}, "variant='samples' is unknown; use 'feature', 'sample' or 'sample-basic'"),
        ("lr", {"eps": -1}, "eps=-1 is not a number at least 0"),
        ("gr", {"start": "svd"}, "start='svd' is unknown; use 'pca' or 'random' or an array"),
        ("gr", {"start": np.zeros((5, 2))}, r"start has shape \(5, 2\); finite numbers of shape \(6, rank\)"),
        ("gr", {"start": np.ones((6, 7))}, "7 directions in 6 dimensions; give at most 6"),
        ("gr", {"start": {"U": 1}}, "start=.* must be 'pca' or 'random' or an array"),
        ("gr", {"step": "big"}, "step='big' is unknown; use a number at least 0"),
        ("gr", {"max_iter": 0}, "max_iter=0 must be a whole number"),
        ("gr", {"max_iter": 1, "orders": [[0] * 16]}, "not a permutation of 0 to 15"),
        ("gr", {"max_iter": 2, "orders": [range(16)]}, r"orders has shape \(1, 16\)"),
        ("kfmc", {"variant": "batch"}, "variant='batch' is unknown; use 'online', 'offline' or 'extend'"),
        ("kfmc", {"kernel": "linear"}, "kernel='linear' is unknown; use 'rbf' or 'poly'"),
        ("kfmc", {"init": 3}, "init=3 is unknown"),
        ("kfmc", {"bandwidth": "mean"}, "bandwidth='mean' is unknown"),
        ("kfmc", {"start": "ones"}, "start='ones' is unknown; use 'mean' or 'zero' or an array of shape"),
        ("kfmc", {"start": np.full((16, 6), np.nan)}, "start has shape .* finite numbers"),
        ("kfmc", {"atoms": 0}, "atoms=0 must be a whole number of at least 1 or an array of shape"),
        ("kfmc", {"atoms": np.ones((3, 5))}, r"atoms has shape \(3, 5\); finite numbers of shape \(m, 6\)"),
        ("kfmc", {"inner": 0}, "inner=0 must be a whole number of at least 1"),
        ("kfmc", {"degree": 1.5}, "degree=1.5 must be a whole number"),
        ("kfmc", {"beta": 0}, "beta=0 is not a number"),
        ("kfmc", {"norm": 0}, "norm=0 is not a number"),
    ],
)
def test_wrong_parameters_are_refused(method, params, message):
    P, Q = CASES["usual"]
    with pytest.raises(sc.errors.InputError, match=message):
        sc.complete(P, Q, method=method, progress=False, **params)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_values_that_would_overflow_without_a_unit_are_refused(kernel):
    P, Q = CASES["values of 1e+300"]
    with pytest.raises(sc.errors.InputError, match="overflow; leave norm at its default, 3"):
        sc.complete(P, Q, method="kfmc", kernel=kernel, preset="original", progress=False)


def test_a_rank_beyond_the_data_is_reduced():
    P, Q = CASES["usual"]
    for rank in (6, 16):
        assert sc.complete(P, Q, method="gr", rank=rank, progress=False).params["rank"] == 6


def test_atoms_beyond_the_candidates_are_reduced():
    P, Q = CASES["usual"]
    assert sc.complete(P, Q, method="kfmc", progress=False).params["atoms"] == 12


@pytest.mark.parametrize("method", ["gr", "kfmc"])
def test_a_callback_ends_the_run_with_a_warning(method):
    P, Q = CASES["usual"]
    seen = []
    with pytest.warns(sc.errors.NotConvergedWarning, match="the callback stopped the run after 1 iterations"):
        done = sc.complete(P, Q, method=method, progress=False, callback=lambda i, facts: seen.append(facts) or True)
    assert done.status.code == "stopped" and len(seen) == 1
    assert [facts["iteration"] for facts in done.history] == [0, 1]


def test_runaway_atoms_end_the_run_with_the_last_good_state():
    P, Q = CASES["usual"]
    with pytest.warns(sc.errors.NotConvergedWarning, match="not finite"):
        done = sc.complete(P, Q, method="kfmc", kernel="poly", relax=1e-200, bounded=False, progress=False)
    assert done.status.code == "non_finite" and np.isfinite(done.similarity()).all()


def test_nothing_warns_on_the_way():
    P, Q = CASES["usual"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for method in ("zero", "mean", "lr", "gr", "kfmc"):
            sc.complete(P, Q, method=method, progress=False)
