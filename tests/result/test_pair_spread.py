"""Variances of similarities, pair by pair, beside sums over pairs and features, and beside draws."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._result.intervals import IntervalModel
from simcomplete._result.pair_spread import PairSpread, UncertainRows, pair_variance


def rows(n, d=6, seed=0, count=False):
    rng = np.random.default_rng(seed)
    known = rng.random((n, d)) < 0.5
    mean, variance = rng.standard_normal((n, d)), np.where(known, 0.0, rng.uniform(0.01, 0.05, (n, d)))
    return UncertainRows.over(mean, variance, (rng.random((n, d)) < 0.8).astype(float) if count else None)


def parts_of(m, v, k, w, B):
    """One pair over the features that count, in plain sums."""
    N, L = np.sum(m * m + v), np.sum(k * k + w)
    s = m @ k / np.sqrt(N * L)
    found = [np.sum(v * w) / (N * L), 0.0, 0.0]
    for a, va, length, b, other in ((m, v, N, k, L), (k, w, L, m, N)):
        slope = b / np.sqrt(length * other) - s * a / length
        found[0] += np.sum(va * slope**2)
        found[1] += sum(np.sum(np.sqrt(va) * direction * slope) ** 2 for direction in B.T)
        found[2] += (s * va.sum() / length) ** 2
    return s, found


@pytest.mark.parametrize("count", [(False, False), (True, True), (True, False)])
def test_variances_are_those_of_plain_sums(count):
    one, other = rows(4, seed=1, count=count[0]), rows(5, seed=2, count=count[1])
    B = np.random.default_rng(3).standard_normal((6, 2))
    found = pair_variance(one, other, B)
    for i in range(4):
        for j in range(5):
            both = np.ones(6) if one.counted is None else one.counted[i]
            both = both if other.counted is None else both * other.counted[j]
            s, parts = parts_of(*(x[i] * both for x in one[:2]), *(x[j] * both for x in other[:2]), B)
            assert found.similarity[i, j] == pytest.approx(s)
            np.testing.assert_allclose(found.parts[:, i, j], parts, rtol=1e-9, atol=1e-15)


def test_they_are_the_variances_of_drawn_rows():
    rng = np.random.default_rng(0)
    d, draws = 40, 20000
    one, other = (UncertainRows(rng.standard_normal((1, d)), rng.uniform(0, 0.1, (1, d))) for _ in range(2))
    B = 0.6 * rng.standard_normal((d, 1)) / np.sqrt(d)
    x, y = (
        side.mean + np.sqrt(side.variance) * (rng.standard_normal((draws, d)) + rng.standard_normal((draws, 1)) * B.T)
        for side in (one, other)
    )
    cosines = np.sum(x * y, axis=1) / np.linalg.norm(x, axis=1) / np.linalg.norm(y, axis=1)
    single, common, _ = pair_variance(one, other, B).parts[:, 0, 0]
    assert np.var(cosines) == pytest.approx(single + common, rel=0.1)


def test_complete_rows_are_certain_and_doubt_is_added():
    U = np.array([[0.0, 1.0], [0.6, 0.8], [0.6, 0.0]])
    W = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.64]])
    pairs = PairSpread(U, W, np.zeros((2, 1)), np.array([1.0, 1.0, 0.0]), np.zeros(3))
    every = np.arange(3)
    assert pairs.between(every, every)[0, 1] == 0 < pairs.between(every, every)[1, 2]
    more = PairSpread(U, W, np.zeros((2, 1)), np.array([1.0, 1.0, 0.0]), np.array([0.0, 0.0, 0.5]))
    np.testing.assert_allclose(
        more.between(every, every)[:2, 2] ** 2, pairs.between(every, every)[:2, 2] ** 2 + 0.5, rtol=1e-12
    )
    model = IntervalModel(np.array([0.0, 0.0, 0.8]), np.linspace(0, 2, 1001), pairs=pairs)
    np.testing.assert_allclose(
        model.half_width(0.5, every, every), pairs.between(every, every) * (1 - np.eye(3)), atol=1e-15
    )
    blind = IntervalModel(np.array([0.0, 0.0, 1.0]), np.linspace(0, 2, 1001), pairs=pairs)
    assert blind.spread_of(every, every)[0, 2] == 1 and blind.spread_of(every, every)[0, 1] == 0


@pytest.mark.parametrize("asked", ["interval", "restricted"])
def test_memory_of_pairs_is_as_stated(asked):
    rng = np.random.default_rng(0)
    X = rng.standard_normal((400, 5)) @ rng.standard_normal((5, 20)) + 0.1 * rng.standard_normal((400, 20))
    X[rng.random(X.shape) < 0.3] = np.nan
    done = sc.complete(X, method="posterior", progress=False)
    ask = (lambda: done.interval(0.9)) if asked == "interval" else lambda: done.restricted(np.ones(20, bool), level=0.9)
    ask()
    tracemalloc.start()
    ask()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stated = 8 * 400**2 * (done.interval_model.numbers_per_pair + 2 * (asked == "restricted"))
    assert stated / 1.3 < peak < stated * 1.3


def test_rows_of_which_nothing_is_known_keep_the_whole_spread():
    """The second of three rows is unknown; of the others the model of pairs says .3."""
    pairs = SimpleNamespace(between=lambda rows, cols: np.full((len(rows), cols.shape[-1]), 0.3))
    model = IntervalModel(np.array([0.5, 1.0, 0.2]), np.linspace(0, 2, 1001), pairs=pairs)
    expected = [[0.0, 1.0, 0.3], [1.0, 0.0, 1.0], [0.3, 1.0, 0.0]]
    np.testing.assert_array_equal(model.spread_of(np.arange(3), np.arange(3)), expected)
    alone = np.array([[2, 1], [0, 2], [1, 0]])  # the columns of each row
    np.testing.assert_array_equal(model.spread_of(np.arange(3), alone), [[0.3, 1.0], [1.0, 1.0], [1.0, 0.3]])
