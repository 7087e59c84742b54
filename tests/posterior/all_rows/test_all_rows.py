"""Rows of which every one may be incomplete: the factor model, its choice, its vectors and its errors."""

import pickle
from itertools import pairwise, product

import numpy as np
import pytest
from scipy.stats import multivariate_normal

import simcomplete as sc
from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows import calibrate as factors_lengths
from simcomplete._posterior.all_rows import packing as factors_parts
from simcomplete._posterior.all_rows.calibrate import RowsHoldout
from simcomplete._posterior.all_rows.em import Factors, fit
from simcomplete._posterior.all_rows.packing import IncompleteRows, Scaling, from_triangles, keys, to_triangles
from simcomplete._posterior.all_rows.select import complete_rows
from simcomplete._result.intervals import IntervalModel


def sparse(X, low=0.3, high=0.7, seed=5):
    """Rows that lose a share of their own."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < rng.uniform(low, high, (len(X), 1)), np.nan, X)


def drawn(n, d, rank, noise, seed=0):
    """Rows of a factor model, with its mean, loadings and noise."""
    rng = np.random.default_rng(seed)
    W, mean = rng.standard_normal((d, rank)), rng.standard_normal(d)
    psi = noise * rng.uniform(0.5, 1.5, d)
    X = mean + rng.standard_normal((n, rank)) @ W.T + np.sqrt(psi) * rng.standard_normal((n, d))
    return X, Factors(mean, W, psi)


def cosine(X):
    X = X / np.linalg.norm(X, axis=1, keepdims=True)
    return X @ X.T


def similarity(done):
    return done.U @ done.U.T + np.diag(done.diagonal)


def error(S, X, Y):
    """Relative squared error off the diagonal."""
    off = ~np.eye(len(X), dtype=bool)
    T = cosine(X)
    return np.sum((S - T)[off] ** 2) / np.sum((sc.overlap_similarity(Y) - T)[off] ** 2)


def complete(X, seed=0, **params):
    return complete_rows(X, np.random.default_rng(seed), **params)


@pytest.fixture(scope="module")
def some_digits(digits):
    """400 rows, what is left of them, and their completion."""
    X = digits[:400]
    Y = sparse(X)
    return X, Y, complete(Y)


# The E step


def test_flat_triangles_and_back():
    A = np.arange(32.0).reshape(2, 4, 4)
    A = A + A.transpose(0, 2, 1)
    assert np.array_equal(from_triangles(to_triangles(A), 4), A)


def test_the_e_step_is_gaussian_conditioning():
    X, model = drawn(12, 7, 2, 0.3)
    X = sparse(X)
    X[0], X[1] = np.nan, drawn(1, 7, 2, 0.3, seed=1)[0]
    C = model.loadings @ model.loadings.T + np.diag(model.noise)
    filled = model.complete(IncompleteRows.of(X))
    bound = 0.0
    for i, row in enumerate(X):
        o, u = np.flatnonzero(~np.isnan(row)), np.flatnonzero(np.isnan(row))
        gap = row[o] - model.mean[o]
        K = C[np.ix_(u, o)] @ np.linalg.inv(C[np.ix_(o, o)])
        assert np.array_equal(filled.values[i, o], row[o])
        assert np.allclose(filled.values[i, u], model.mean[u] + K @ gap)
        assert np.allclose(filled.variance[i, u], np.diag(C)[u] - np.sum(K * C[np.ix_(u, o)], axis=1))
        assert not filled.variance[i, o].any()
        squared = gap @ np.linalg.solve(C[np.ix_(o, o)], gap)
        assert np.isclose(filled.misfit[i], (squared + 1) / (len(o) + 1))
        if len(o):
            bound += multivariate_normal(model.mean[o], C[np.ix_(o, o)]).logpdf(row[o])
    assert np.isclose(model.expect(IncompleteRows.of(X)).bound, bound)


def test_averaged_loadings_add_their_variance():
    """One factor, one value observed: E over w of exp(-z^2 (1 + w^2/psi)/2 + z w x/psi), by hand."""
    spread = np.array([[0.2, 0.0, 0.0], [0.1, 0.0, 0.0]])  # of (w, mean) over psi, flat: ww, wm, mm
    model = Factors(np.zeros(2), np.array([[1.0], [2.0]]), np.array([0.5, 0.5]), spread)
    filled = model.complete(IncompleteRows.of(np.array([[3.0, np.nan]])))
    G = 1 + 1 / 0.5 + 0.2
    z = 3 / 0.5 / G
    assert np.isclose(filled.values[0, 1], 2 * z)
    assert np.isclose(filled.variance[0, 1], 0.5 + 4 / G + 0.5 * 0.1 * (1 / G + z**2))


def test_masks_that_repeat_and_blocks_change_nothing(monkeypatch):
    X, model = drawn(40, 9, 3, 0.2)
    rows = IncompleteRows.of(np.where(np.isnan(sparse(X[:4]))[np.arange(40) % 4], np.nan, X))
    assert len(np.unique(rows.pattern)) == 4
    alone = IncompleteRows(rows.values, rows.observed, np.arange(40))
    together, apart, whole = model.complete(rows), model.complete(alone), model.sums(rows)
    assert all(np.allclose(a, b) for a, b in zip(together, apart, strict=True))
    monkeypatch.setattr(factors_parts, "BLOCK", 1)
    assert all(np.allclose(a, b) for a, b in zip(model.complete(rows), together, strict=True))
    assert all(np.allclose(a, b) for a, b in zip(model.sums(rows), whole, strict=True))


# EM


@pytest.mark.parametrize(("pooled", "averaged"), list(product([False, True], repeat=2)))
def test_the_objective_never_rises(pooled, averaged):
    X, _ = drawn(80, 12, 3, 0.3)
    _, run = fit(IncompleteRows.of(sparse(X)), 5, pooled=pooled, averaged=averaged, limits=Limits(60))
    values = [facts["objective"] for facts in run.history]
    assert len(values) == 61
    assert all(after <= before + 1e-12 for before, after in pairwise(values))
    assert values[-1] < values[0]


@pytest.mark.parametrize("averaged", [False, True])
def test_a_factor_model_is_recovered(averaged):
    X, true = drawn(1500, 12, 3, 0.3)
    Y = sparse(X)
    model, _ = fit(IncompleteRows.of(Y), 3, averaged=averaged, limits=Limits(100))
    C = model.loadings @ model.loadings.T + np.diag(model.noise)
    known = true.loadings @ true.loadings.T + np.diag(true.noise)
    assert np.linalg.norm(C - known) < 0.1 * np.linalg.norm(known)
    assert np.abs(model.mean - true.mean).max() < 0.2
    missing = np.isnan(Y)
    best, ours = (np.mean((m.complete(IncompleteRows.of(Y)).values - X)[missing] ** 2) for m in (true, model))
    assert ours < 1.05 * best


def test_pooled_noise_is_one_for_all():
    X, _ = drawn(300, 8, 2, 0.3)
    model, _ = fit(IncompleteRows.of(sparse(X)), 2, pooled=True)
    assert np.ptp(model.noise) == 0
    assert 0.2 < model.noise[0] < 0.5


def test_averaging_makes_a_rank_that_is_too_high_harmless():
    X, _ = drawn(120, 40, 2, 1.0)
    Y = sparse(X)
    missing = np.isnan(Y)

    def left(rank, averaged):
        model, _ = fit(IncompleteRows.of(Y), rank, averaged=averaged, limits=Limits(40))
        return np.mean((model.complete(IncompleteRows.of(Y)).values - X)[missing] ** 2)

    right = left(2, averaged=True)
    assert left(15, averaged=True) < 1.05 * right
    assert left(15, averaged=False) > 1.1 * right


def test_a_model_that_does_not_fit_is_refused(monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e6")
    with pytest.raises(sc.errors.MemoryLimitError, match="factors of 50 x 30 values"):
        fit(IncompleteRows.of(np.ones((50, 30))), 3)


# Similarities


def test_complete_rows_keep_their_cosine(digits):
    done = complete(digits[:80])
    assert np.allclose(similarity(done), cosine(digits[:80]), atol=1e-14)
    assert done.expected_squared_error < 1e-12
    mixed = np.concatenate([digits[:50], sparse(digits[50:80])])
    S = similarity(complete(mixed))
    assert np.allclose(S[:50, :50], cosine(digits[:50]), atol=1e-14)


def test_digits_are_found_again(some_digits):
    """800 rows: 0.126 for plain factor analysis; 400 rows are a little harder."""
    X, Y, done = some_digits
    ours = error(similarity(done), X, Y)
    assert ours < 0.16
    m = done.model.values(done.model.fill(Y[:, done.seen]))
    full = np.zeros_like(Y)
    full[:, done.seen] = m
    assert error(cosine(full), X, Y) > 1.5 * ours  # the plain cosine of the same completion


def test_intervals_hold_what_they_promise(some_digits):
    X, _, done = some_digits
    off = ~np.eye(len(X), dtype=bool)
    wrong = np.abs(similarity(done) - cosine(X))
    every = np.arange(len(X))
    width = IntervalModel(np.sqrt(done.diagonal), done.quantiles).half_width(0.9, every, every)
    assert 0.8 < np.mean((wrong <= width)[off]) < 0.97
    assert 0.5 < done.expected_squared_error / np.mean(wrong[off] ** 2) < 2
    assert not np.diag(width).any()


def test_row_lengths_do_not_matter(some_digits):
    X, Y, done = some_digits
    lengths = np.exp(np.random.default_rng(3).standard_normal((len(X), 1)))
    scaled = complete(Y * lengths)
    assert scaled.setting.space == "unit"
    assert error(similarity(scaled), X, Y) < 1.1 * error(similarity(done), X, Y)


def test_in_unit_space_scaling_a_row_leaves_the_answer(digits):
    Y = sparse(digits[:60])
    powers = 2.0 ** np.random.default_rng(0).integers(-40, 40, (60, 1))
    plain, scaled = (complete(Z, spaces=("unit",), ranks=(5,)) for Z in (Y, Y * powers))
    assert np.allclose(plain.U, scaled.U, atol=1e-9)


def test_the_order_of_rows_does_not_matter(some_digits):
    _, Y, done = some_digits
    p = np.random.default_rng(1).permutation(len(Y))
    assert np.array_equal(complete(Y[p]).U, done.U[p])


def test_same_seed_same_bits(digits):
    Y = sparse(digits[:60])
    one, two = complete(Y), complete(Y)
    assert np.array_equal(one.U, two.U)
    assert one.choice.as_dict() == two.choice.as_dict()


def test_rows_are_transformed_alone(some_digits):
    X, Y, done = some_digits
    assert np.allclose(done.vectors(Y).u, done.U, atol=1e-12)
    one = np.concatenate([done.vectors(Y[i : i + 1]).u for i in range(30)])
    assert np.allclose(one, done.U[:30], atol=1e-10)
    new = pickle.loads(pickle.dumps(done)).vectors(X[:5]).u
    assert np.allclose(new @ new.T, cosine(X[:5]))


def test_point_loadings_can_be_asked_for(some_digits):
    X, Y, _ = some_digits
    done = complete(Y, averaged=False)
    assert done.model.factors.spread is None
    assert error(similarity(done), X, Y) < 0.18


def test_new_rows_are_found(digits, some_digits):
    _, _, done = some_digits
    X = digits[400:500]
    Y = sparse(X, seed=9)
    U = done.vectors(Y).u
    S = U @ U.T
    np.fill_diagonal(S, 1.0)
    assert error(S, X, Y) < 0.2


def test_neighbours_help(some_digits, monkeypatch):
    X, Y, done = some_digits
    monkeypatch.setattr(factors_lengths, "STRENGTHS", (0.0,))
    assert done.model.strength > 0
    assert error(similarity(done), X, Y) < 0.98 * error(similarity(complete(Y)), X, Y)


# The choice


def test_the_table_shows_the_choice(some_digits):
    _, _, done = some_digits
    best = min(done.table, key=lambda row: row["error"])
    assert {name: best[name] for name in ("space", "model", "rank")} == done.setting._asdict()
    assert {row["space"] for row in done.table} == {"raw", "unit"}
    assert {row["model"] for row in done.table} == {"fa", "ppca"}
    assert done.status.ok
    assert done.history[-1]["iteration"] == 25
    assert {"rank", "power", "strength", "expected_squared_error"} <= set(done.choice.as_dict())


def test_rank_stays_below_half_of_the_features(digits):
    assert complete(digits[:60], ranks=(40, 50)).setting.rank == 29  # below 60/2 rows and 64/2 features
    assert complete(sparse(digits[:60]), ranks=(7,), models=("fa",), spaces=("raw",)).setting == ("raw", "fa", 7)


def test_copies_do_not_tell_what_was_hidden(digits):
    Y = sparse(digits[:120])
    once, thrice = complete(Y), complete(np.concatenate([Y, Y, Y]))
    assert thrice.expected_squared_error > 0.5 * once.expected_squared_error
    holdout = RowsHoldout.of(np.concatenate([Y, Y]), None, np.random.default_rng(0))
    first, second = holdout.X[:120], holdout.X[120:]
    assert np.array_equal(first, second, equal_nan=True)
    assert np.isnan(first).sum() > np.isnan(Y).sum()


def test_masks_of_new_rows_can_be_given(digits):
    few = np.random.default_rng(0).random((50, 64)) > 0.95
    many = np.random.default_rng(0).random((50, 64)) > 0.1
    hard, easy = (complete(digits[:200], masks=masks, ranks=(10,)).quantiles[500] for masks in (few, many))
    assert np.isfinite([hard, easy]).all()


def test_limits_hold_for_all_of_it(digits):
    Y = sparse(digits[:100])
    late = complete(Y, limits=Limits(25, time_limit=0.0))
    assert (late.status.code, late.status.ok, len(late.table)) == ("time_limit", False, 1)
    stopped = complete(Y, limits=Limits(25, callback=lambda iteration, facts: iteration == 3))
    assert stopped.status.code == "stopped"
    for done in (late, stopped):
        assert np.isfinite(done.U).all()
        assert np.linalg.eigvalsh(similarity(done)).min() > -1e-10
    few = complete(Y, limits=Limits(4))
    assert few.status.ok
    assert few.history[-1]["iteration"] == 4


def test_too_few_rows_have_no_intervals(digits):
    done = complete(sparse(digits[:12]))
    assert done.expected_squared_error is None
    assert done.quantiles is None


# Parts


def test_unit_scaling_finds_lengths():
    rng = np.random.default_rng(0)
    X = rng.uniform(0.5, 1.5, (200, 30)) * np.linspace(1, 3, 30)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    lengths = np.exp(2 * rng.standard_normal(200))
    Y = sparse(X) * lengths[:, None]
    off = np.log(Scaling.of(Y, "unit").sizes(Y) / lengths)
    assert abs(off.mean()) < 0.03
    assert off.std() < 0.15


def test_keys_tell_zero_from_missing():
    X = np.array([[0.0, 1.0], [-0.0, 1.0], [np.nan, 1.0]])
    assert [bytes(k) == bytes(keys(X)[0]) for k in keys(X)] == [True, True, False]


# Edge cases


def edge_cases():
    X, _ = drawn(60, 12, 3, 0.2)
    Y = sparse(X)
    nothing, never, zeros = Y.copy(), Y.copy(), Y.copy()
    nothing[3] = np.nan
    never[:, 2] = np.nan
    zeros[:4] = np.where(np.isnan(Y[:4]), np.nan, 0.0)
    zeros[4] = 0.0
    return {
        "nothing observed in a row": nothing,
        "a column never observed": never,
        "zero rows": zeros,
        "constant columns": np.concatenate([Y, np.where(np.isnan(Y[:, :3]), np.nan, 5.0)], axis=1),
        "all the same": sparse(np.ones((50, 6))),
        "all zero": sparse(np.zeros((50, 6))),
        "nothing at all": np.full((30, 5), np.nan),
        "one row": Y[:1],
        "two rows": Y[:2],
        "one feature": Y[:, :1],
        "two features": Y[:, :2],
        "one value per row": np.where(np.arange(60)[:, None] % 12 == np.arange(12), X, np.nan),
        "tiny": Y * 1e-30,
        "huge": Y * 1e30,
        "tiny and huge rows": Y * np.where(np.arange(60) % 2, 1e30, 1e-30)[:, None],
        "tiny and huge columns": Y * np.where(np.arange(12) % 2, 1e30, 1e-30),
        "outside the range of squares": Y * np.where(np.arange(60) % 2, 1e200, 1e-200)[:, None],
        "duplicates": np.concatenate([Y, Y, Y[:5]]),
        "one row many times": np.repeat(Y[:1], 50, axis=0),
        "fewer rows than features": sparse(drawn(30, 150, 3, 0.2)[0]),
        "complete, with zero rows": np.concatenate([X, np.zeros((2, 12))]),
    }


@pytest.mark.parametrize("name", edge_cases())
def test_edge_cases_stay_finite_and_valid(name):
    X = edge_cases()[name]
    done = complete(X)
    assert np.isfinite(done.U).all()
    assert np.linalg.norm(done.U, axis=1).max() <= 1 + 1e-12
    S = similarity(done)
    assert np.allclose(np.diag(S), 1)
    assert np.linalg.eigvalsh(S).min() > -1e-10
    full = ~np.isnan(X).any(axis=1) & (np.nan_to_num(X) != 0).any(axis=1)
    assert np.allclose(np.linalg.norm(done.U[full], axis=1), 1)
    assert np.allclose(done.vectors(X).u, done.U, atol=1e-10)
