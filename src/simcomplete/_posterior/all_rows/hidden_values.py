"""Values that rows lose on purpose, so that a model can be scored on finding them again.

Rows in random order lose what another row lacks, at most half of what they have, until a fifth of all values is lost:
whatever is learnt is learnt for gaps like those there are, from a table that is nearly as full. Where another row lacks
more than half, one that lacks less is looked for: a part of its gaps, drawn at random, would be easier to fill than
gaps that lie together. How wrong similarities are is learnt from the whole gaps of the other row as well: where some
rows have few values, a row that lost half of its own tells too little of them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import sorted_distinct
from simcomplete._types import Mask, Matrix, Vector

MAX_SCORED = 600  # rows that lose values, at most
LOST_SHARE = 0.2  # of all observed values, at most
LARGEST_LOSS = 0.5  # of what a row has
DRAWS = 8  # of another row, until it lacks no more than that
FEW_GAPS = 0.05  # share of a row: where another row lacks less, a random share is lost
RANDOM_LOSS = (0.05, 0.2)
FEW_ROWS = 40  # up to here every row loses some
FEWEST_LEFT = 2  # values of a row that lost all that another row lacks
MIN_SCORED = 10
MIN_LOST = 30  # values, to learn anything from


@dataclass(frozen=True)
class HiddenValues:
    """Rows after the loss, which of them are scored, and what these had.

    Attributes
    ----------
    X : array of shape (n, d)
        All rows, NaN where missing or lost.
    scored : array of int
        Rows that lost values and are scored by them; copies lose the same values, and are not scored.
    lost, known : array of bool, shape (scored, d)
        What they lost, and what they had before.
    truth : array of shape (scored, d)
        What they had, 0 where that is unknown.
    left : array of bool, shape (scored, d)
        What is left of them with all gaps of another row, however many these are.
    """

    X: Matrix
    scored: NDArray[np.int64]
    lost: Mask
    known: Mask
    truth: Matrix
    left: Mask

    def before(self) -> Matrix:
        """The rows with what the scored ones had before; copies of these lack it still."""
        return self._with(self.known)

    def sparser(self) -> Matrix:
        """The rows, the scored ones with all gaps of another row."""
        return self._with(self.left)

    def _with(self, had: Mask) -> Matrix:
        X = self.X.copy()
        X[self.scored] = np.where(had, self.truth, np.nan)
        return X

    @classmethod
    def of(cls, X: Matrix, masks: Mask | None, rng: np.random.Generator) -> HiddenValues | None:
        """Let rows lose values; None where there is too little to learn from."""
        known = ~np.isnan(X)
        first, copies = distinct_by_value(X)
        first = rng.permutation(first)
        first = first[(np.nan_to_num(X[first]) != 0).any(axis=1)]
        if masks is None or not len(masks):
            masks = known
        lost, shown = _lacked(known[first], masks, rng)
        for gone, had in zip(lost, known[first], strict=True):
            count = int(had.sum())
            if gone.sum() < FEW_GAPS * count:
                gone |= had & (rng.random(len(had)) < rng.uniform(*RANDOM_LOSS))
            most = int(LARGEST_LOSS * count)
            if gone.sum() > most:
                gone[rng.permutation(np.flatnonzero(gone))[most:]] = False
        some = np.flatnonzero(lost.any(axis=1))
        size = np.cumsum(lost[some].sum(axis=1))
        # A row is scored by what it lost: of copies the first, the others lose the same, or they would tell it.
        enough = int(np.searchsorted(size, LOST_SHARE * known.sum())) + 1 if len(first) > FEW_ROWS else len(some)
        some = some[: min(enough, MAX_SCORED)]
        if len(some) < MIN_SCORED or lost[some].sum() < MIN_LOST:
            return None
        scored = first[some]
        table = np.zeros((int(copies.max()) + 1, X.shape[1]), dtype=bool)
        table[copies[scored]] = lost[some]
        table &= (known & ~table[copies]).any(axis=0)  # a feature that nobody has any more cannot be scored
        gone, had = table[copies[scored]], known[scored]
        left = had & ~gone & shown[some]
        left = np.where(left.sum(axis=1, keepdims=True) < FEWEST_LEFT, had & ~gone, left)
        return cls(np.where(table[copies], np.nan, X), scored, gone, had, np.nan_to_num(X[scored]), left)


def _lacked(known: Mask, masks: Mask, rng: np.random.Generator) -> tuple[Mask, Mask]:
    """What rows lose that have the gaps of another, drawn anew for those that would lose too much; the first draw."""
    count, shown = known.sum(axis=1), masks[rng.integers(len(masks), size=len(known))]
    lost = known & ~shown
    for _ in range(DRAWS - 1):
        many = np.flatnonzero(lost.sum(axis=1) > LARGEST_LOSS * count)
        if not len(many):
            break
        other = known[many] & ~masks[rng.integers(len(masks), size=len(many))]
        size = other.sum(axis=1)
        better = (size < lost[many].sum(axis=1)) & (size >= FEW_GAPS * count[many])
        lost[many[better]] = other[better]
    return lost, shown


def stands_for(known: Mask) -> Vector:
    """How much a lost value of each feature counts: the fewer are known, the fewer can be lost, for as many missing.

    What is learnt from lost values is to hold for missing ones, of which one lost value stands for 1 / (share known).
    Its root is taken: with the whole of it a few values of rare features would decide alone.

    Examples
    --------
    >>> stands_for(np.array([[True, False], [True, True], [True, False], [True, False]])).round(1)
    array([1.1, 1.7])
    """
    return np.asarray(np.sqrt((len(known) + 2.0) / (known.sum(axis=0) + 1.0)))


def distinct_by_value(X: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row comes first, in an order that units do not change, and which of them every row is.

    Examples
    --------
    >>> distinct_by_value(np.array([[2.0, np.nan], [1.0, 5.0], [2.0, np.nan]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    return sorted_distinct(masks_and_values(X))


def masks_and_values(X: Matrix) -> Matrix:
    """Numbers that tell rows apart: 1 where a value is missing, and values with 0 where they are."""
    missing = np.isnan(X)
    return np.concatenate([missing.astype(np.float64), np.where(missing, 0.0, X)], axis=1)


def pairs_stand_for(known: Mask) -> Vector:
    """How much a feature counts in cosines over what both rows of a pair know, so that these stand for all features.

    Two rows both know it with the square of the share of rows that do, and what is seldom known is often missing. The
    root of one over this is taken, as in `stands_for`. As far as shares differ no more than by chance, they are taken
    to be equal: nothing is to be made up for then.

    Examples
    --------
    >>> known = np.arange(1000)[:, None] < np.array([1000, 500, 500])
    >>> pairs_stand_for(known).round(1)
    array([1., 2., 2.])
    """
    count, share = len(known), known.mean(axis=0)
    mean, spread = float(share.mean()), float(share.var())
    beyond_chance = max(1.0 - mean * (1.0 - mean) / count / spread, 0.0) if spread > 0 else 0.0
    smoothed = (known.sum(axis=0) + 1.0) / (count + 2.0)
    usual = (mean * count + 1.0) / (count + 2.0)
    return np.asarray(1.0 / (usual + beyond_chance * (smoothed - usual)))
