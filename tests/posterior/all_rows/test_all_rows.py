"""Rows of which every one may be incomplete: the choice of a model, its vectors and its errors."""

import pickle

import numpy as np
import pytest
from sparse_rows import drawn, sparse

import simcomplete as sc
from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows import calibrate as factors_lengths
from simcomplete._posterior.all_rows.calibrate import RowsHoldout
from simcomplete._posterior.all_rows.packing import Scaling, keys
from simcomplete._posterior.all_rows.select import complete_rows
from simcomplete._result.intervals import IntervalModel


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
