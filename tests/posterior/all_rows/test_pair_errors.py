"""Intervals of pairs where every row is incomplete: what is learnt for them, and whether they hold."""

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._posterior.all_rows.hidden_values import LARGEST_LOSS, HiddenValues
from simcomplete._posterior.all_rows.pair_errors import PairErrors, part_weights, seen_share
from simcomplete._posterior.all_rows.scored_pairs import HoldoutResult, RowMoments
from simcomplete.errors import InputError


def table(seed, n=150, d=40, rank=4, noise=0.5):
    rng = np.random.default_rng(seed)
    return rng.standard_normal((n, rank)) @ rng.standard_normal((rank, d)) + noise * rng.standard_normal((n, d))


def block(X, seed):
    rng = np.random.default_rng(seed)
    start, length = rng.integers(X.shape[1], size=(len(X), 1)), rng.uniform(0.2, 0.7, (len(X), 1)) * X.shape[1]
    return np.where((np.arange(X.shape[1]) - start) % X.shape[1] < length, np.nan, X)


def test_intervals_of_gaps_in_one_piece_cover_what_they_claim():
    """Row by row, and with lost values drawn out of the gaps, they covered less."""
    covered = []
    for seed in range(3):
        T = table(seed)
        done = sc.complete(block(T, seed), method="posterior", random_state=0, progress=False)
        unit = T / np.linalg.norm(T, axis=1, keepdims=True)
        low, high = done.interval(0.9)
        inside = (low <= unit @ unit.T) & (unit @ unit.T <= high)
        covered.append(inside[~np.eye(len(T), dtype=bool)].mean())
    assert 0.86 <= np.mean(covered) <= 0.95, covered


def test_rows_lose_whole_gaps_where_other_rows_have_some_that_fit():
    X = block(table(0, n=80), 0)
    lost = HiddenValues.of(X, None, np.random.default_rng(0))
    known, gone = lost.known.sum(axis=1), lost.lost.sum(axis=1)
    assert (gone <= LARGEST_LOSS * known).all()
    gaps = np.isnan(X)
    whole = [bool(((row & gaps) == loss).all(axis=1).any()) for row, loss in zip(lost.known, lost.lost, strict=True)]
    assert np.mean(whole) > 0.9


def test_weights_are_at_least_zero_and_learn_what_counts():
    rng = np.random.default_rng(0)
    parts = rng.uniform(0.5, 2, (3, 4000))
    squares = (2 * parts[0] + 0.5 * parts[2]) * rng.chisquare(1, 4000)
    np.testing.assert_allclose(part_weights(parts, squares), [2, 0, 0.5], atol=0.35)
    assert (part_weights(parts, np.zeros(4000)) == 0).all()


def test_a_square_counts_as_often_as_it_stands_there():
    rng = np.random.default_rng(0)
    parts, squares, times = rng.uniform(0.5, 2, (3, 60)), rng.chisquare(1, 60), rng.integers(1, 4, 60)
    by = part_weights(parts, squares, times)
    np.testing.assert_allclose(by, part_weights(np.repeat(parts, times, axis=1), np.repeat(squares, times)), rtol=0.3)


def test_rows_without_the_feature_that_errors_come_from_count_little():
    rng = np.random.default_rng(0)
    T = 1 + rng.uniform(size=(60, 8))
    T[:, 0] *= 3
    known = np.ones(T.shape, dtype=bool)
    known[:30, 0] = False
    lost = np.zeros(T.shape, dtype=bool)
    lost[40:, 0] = lost[:20, 1] = lost[20:30, 5] = True
    values = HiddenValues(np.where(known & ~lost, T, np.nan), np.arange(60), lost, known, T * known, known & ~lost)
    wrong = np.where(lost, T * np.where(np.arange(8) == 0, 0.5, 0.9), T)
    share = seen_share(values, [RowMoments.of(wrong, np.zeros(T.shape))])
    np.testing.assert_allclose(share[30:], 1.0)
    assert (share[:30] < 0.1).all() and (share[:30] > 0).all()
    np.testing.assert_allclose(seen_share(values, [RowMoments.of(T * known, np.zeros(T.shape))]), 1.0)


def test_errors_of_rows_that_lack_more_widen_the_intervals_of_such_rows():
    """Where rows know half, errors are as expected; where they know next to nothing, four times as large."""
    rng = np.random.default_rng(0)
    T = table(1, n=200, d=60)
    lost = HiddenValues.of(np.where(rng.random(T.shape) < 0.3, np.nan, T), None, np.random.default_rng(1))
    others, found = np.arange(100), []
    for hidden, off in ((lost.lost, 0.3), (lost.known & ~lost.left, 1.2)):
        wrong = np.where(hidden, lost.truth + off * rng.standard_normal(T[lost.scored].shape), lost.truth)
        found.append(RowMoments.of(np.where(lost.known, wrong, 0.0), np.where(hidden, 0.09, 0.0)))
    alone = PairErrors.of(lost, others, T[others], found[0], np.zeros((60, 1)))
    both = PairErrors.of(lost, others, T[others], found[0], np.zeros((60, 1)), found[1])
    usual = [one.quantiles[900] * np.sqrt(one.weights[0]) for one in (alone, both)]
    assert usual[1] > 1.5 * usual[0]


def test_ratios_of_normal_errors_are_normal():
    T = table(1, n=200, d=60)
    lost = HiddenValues.of(
        np.where(np.random.default_rng(0).random(T.shape) < 0.3, np.nan, T), None, np.random.default_rng(1)
    )
    true, hidden = lost.truth, lost.lost
    wrong = np.where(hidden, true + 0.3 * np.random.default_rng(2).standard_normal(true.shape), true)
    found = RowMoments.of(np.where(lost.known, wrong, 0.0), np.where(hidden, 0.09, 0.0))
    others = np.arange(100)
    errors = PairErrors.of(lost, others, T[others], found, np.zeros((60, 1)))
    # Those of 0.6 and 0.92, as a fifth fewer errors are taken to be beyond a level.
    assert errors.quantiles[500] / errors.quantiles[900] == pytest.approx(0.842 / 1.751, rel=0.1)
    assert errors.square == pytest.approx(1.0, rel=0.3)


@pytest.mark.parametrize("level", [0.02, 0.1, 0.6, 1.0, 1.6])
def test_the_level_of_pairs_gives_rows_their_length(level):
    """Of independent values what is lost is expected to be 0: all that can be right is a row's length."""
    rng = np.random.default_rng(0)
    T = rng.standard_normal((300, 50))
    lost = HiddenValues.of(np.where(rng.random(T.shape) < 0.3, np.nan, T), None, np.random.default_rng(1))
    found = RowMoments.of(np.where(lost.lost, 0.0, lost.truth), np.where(lost.lost, lost.truth**2 / level, 0.0))
    exact = np.nan_to_num(lost.before())
    result = HoldoutResult(lost, np.arange(300), found, RowMoments.of(exact, np.zeros_like(exact)))
    assert result.best_level() == pytest.approx(level, rel=0.1)
    changed = result.at_level(level).scored
    np.testing.assert_allclose(changed.square, lost.truth**2, atol=1e-12)


def test_what_rows_once_had_is_not_taken_to_be_missing_because_of_what_it_is():
    rng = np.random.default_rng(0)
    T = 5 + table(3, n=200, d=30, noise=0.3)
    by_value = rng.random(T.shape) < 1 / (1 + np.exp(2 * (T - T.mean()) + 1))
    had = np.where(by_value, np.nan, T)
    X = np.where(rng.random(T.shape) < 0.15, np.nan, had)
    done = sc.complete(X, method="posterior", random_state=0, progress=False)
    assert done.choice["beta"] < 0
    features = ~np.isnan(had)
    truth = np.asarray(sc.overlap_similarity(had, progress=False))
    off = ~np.eye(len(T), dtype=bool)

    def error(S):
        return np.sum((S - truth)[off] ** 2) / np.sum((np.asarray(sc.overlap_similarity(X)) - truth)[off] ** 2)

    assert error(done.restricted(features)) < 1 and error(done.restricted(features)) < error(
        done.restricted(features, mechanism="auto")
    )
    np.testing.assert_allclose(done.restricted(np.ones(30, dtype=bool)), done.similarity(), atol=1e-9)
    with pytest.raises(InputError, match="neither 'auto' nor 'random'"):
        done.restricted(mechanism="nature")
