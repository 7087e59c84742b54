"""Values that rows lose on purpose, by the rule in plain loops, and where there are too few of them."""

import numpy as np
import pytest

from simcomplete._posterior.all_rows import hidden_values as module
from simcomplete._posterior.all_rows.hidden_values import HiddenValues, distinct_by_value, pairs_stand_for

NAN = np.nan


class Rng:
    """A generator that keeps every order, and draws what it is given."""

    def __init__(self, masks, randoms=0.0, again=None):
        self.masks, self.randoms, self.turn, self.again = masks, randoms, False, again

    def permutation(self, x):
        return np.arange(x) if np.ndim(x) == 0 else np.asarray(x)

    def integers(self, high, size):
        found = np.resize(self.masks, size)
        self.masks = self.masks if self.again is None else self.again
        return found

    def random(self, n):
        self.turn = not self.turn  # one half of the features, then the other
        return np.where((np.arange(n) < n // 2) == self.turn, self.randoms, 1.0)

    def uniform(self, low, high):
        self.asked = low, high
        return low


def table(n, d=10, seed=0):
    return np.random.default_rng(seed).uniform(1, 2, (n, d))


def test_rows_lose_what_the_drawn_mask_lacks_and_at_most_half():
    X = table(12)
    masks = np.ones((2, 10), dtype=bool)
    masks[0, :3] = False  # three of ten
    masks[1, 3:] = False  # seven of ten: half at most, the first in this order
    found = HiddenValues.of(X, masks, Rng([0, 1], again=[1]))
    first = distinct_by_value(X)[0]
    assert sorted(found.scored.tolist()) == list(range(12))  # up to forty rows, every one
    for row, gone in zip(found.scored, found.lost, strict=True):
        place = first.tolist().index(row)
        assert np.flatnonzero(gone).tolist() == ([0, 1, 2] if place % 2 == 0 else [3, 4, 5, 6, 7])
    assert np.isnan(found.X).sum() == found.lost.sum()
    np.testing.assert_array_equal(found.truth, X[found.scored])
    assert found.known.all()


def test_rows_that_would_lose_too_much_draw_another_mask():
    masks = np.ones((4, 10), dtype=bool)
    masks[0, :7] = masks[1, :6] = masks[2, :2] = False  # seven, six, two and none of ten
    drawn, shown = module._lacked(np.ones((12, 10), dtype=bool), masks, Rng([0], again=[1, 2, 3]))
    assert drawn.sum(axis=1).tolist() == [6] + [2] * 11  # the first draws six of ten every time; none is too few
    assert (~shown).sum(axis=1).tolist() == [7] * 12  # what was drawn first
    assert module._lacked(np.ones((2, 10), dtype=bool), masks, Rng([0], again=[1]))[0].sum(axis=1).tolist() == [6, 6]
    assert module._lacked(np.ones((2, 10), dtype=bool), masks, Rng([0], again=[3]))[0].sum(axis=1).tolist() == [7, 7]


def test_rows_have_all_gaps_of_another_too_unless_next_to_nothing_is_left():
    X = table(12)
    masks = np.ones((2, 10), dtype=bool)
    masks[0, 3:] = masks[1, 1:] = False  # seven of ten, and nine
    found = HiddenValues.of(X, masks, Rng([0, 1]))
    sparser, first = found.sparser(), distinct_by_value(X)[0].tolist()
    for row, left, gone in zip(found.scored, found.left, found.lost, strict=True):
        if first.index(row) % 2 == 0:
            assert np.flatnonzero(left).tolist() == [0, 1, 2]
        else:
            np.testing.assert_array_equal(left, ~gone)  # one value is too few: half of them are lost, no more
        np.testing.assert_array_equal(sparser[row], np.where(left, X[row], NAN))
    assert found.lost.any(axis=1).all()


def test_masks_with_few_gaps_lose_a_random_share():
    X = table(40)
    masks = np.ones((1, 10), dtype=bool)
    rng = Rng([0], randoms=0.04)
    found = HiddenValues.of(X, masks, rng)
    assert rng.asked == (0.05, 0.2)
    assert (found.lost.sum(axis=1) == 5).all() and len(found.scored) == 40
    assert HiddenValues.of(X, masks, Rng([0], randoms=0.06)) is None  # above the share that was drawn
    wide = np.ones((2, 40), dtype=bool)
    wide[0, :2] = wide[1, 2:4] = False  # a twentieth is not few
    found = HiddenValues.of(table(40, 40), wide, Rng([0, 1], randoms=0.04))
    assert (found.lost.sum(axis=1) == 2).all()


def test_a_fifth_of_all_values_is_lost_in_larger_tables():
    masks = np.ones((1, 10), dtype=bool)
    masks[0, :4] = False
    found = HiddenValues.of(table(100), masks, Rng([0]))
    assert len(found.scored) == 50  # 4 values each of 1000
    assert len(HiddenValues.of(table(41), masks, Rng([0])).scored) == int(np.ceil(0.2 * 41 * 10 / 4))
    assert len(HiddenValues.of(table(40), masks, Rng([0])).scored) == 40


def test_at_most_as_many_rows_as_are_allowed(monkeypatch):
    monkeypatch.setattr(module, "MAX_SCORED", 12)
    masks = np.ones((1, 10), dtype=bool)
    masks[0, :4] = False
    assert len(HiddenValues.of(table(100), masks, Rng([0])).scored) == 12


@pytest.mark.parametrize(("rows", "gaps", "enough"), [(10, 3, True), (9, 4, False), (10, 2, False), (15, 2, True)])
def test_too_little_to_learn_from(rows, gaps, enough):
    masks = np.ones((1, 10), dtype=bool)
    masks[0, :gaps] = False
    found = HiddenValues.of(table(rows), masks, Rng([0]))
    assert (found is not None) == enough


def test_zero_rows_lose_nothing_and_a_feature_keeps_somebody():
    X = table(14)
    X[3] = 0.0
    X[:, 0] = NAN
    X[5, 0] = 1.5  # the only value of this feature
    masks = np.ones((1, 10), dtype=bool)
    masks[0, :4] = False
    found = HiddenValues.of(X, masks, Rng([0]))
    assert 3 not in found.scored and 5 in found.scored
    assert found.X[5, 0] == 1.5 and not found.lost[:, 0].any()
    np.testing.assert_array_equal(found.known, ~np.isnan(X[found.scored]))
    assert found.truth[found.scored != 5][0, 0] == 0


def test_features_that_both_rows_know_by_chance_count_alike_and_those_seldom_known_more():
    rng = np.random.default_rng(0)
    by_chance = pairs_stand_for(rng.random((200, 500)) < 0.1)
    assert np.ptp(by_chance) < 0.25 * by_chance.mean()  # one over the shares themselves: more than a factor of 2
    known = np.arange(200)[:, None] < np.array([200, 100, 100, 10])
    mean = known.mean()
    spread = known.mean(axis=0).var()
    kept = 1 - mean * (1 - mean) / 200 / spread
    usual = (200 * mean + 1) / 202
    share = usual + kept * (np.array([201, 101, 101, 11]) / 202 - usual)
    np.testing.assert_allclose(pairs_stand_for(known), 1 / share)
    np.testing.assert_allclose(pairs_stand_for(np.ones((8, 3), dtype=bool)), 10 / 9)
