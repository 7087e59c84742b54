"""Values that rows lose on purpose, so that a model can be judged on finding them again.

Rows in random order lose what another row lacks, at most half of what they have, until a fifth of all values is lost:
whatever is learnt is learnt for gaps like those there are, from a table that is nearly as full.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import sorted_distinct
from simcomplete._types import Mask, Matrix

JUDGED = 600  # rows that lose values, at most
LOST_SHARE = 0.2  # of all observed values, at most
LARGEST_LOSS = 0.5  # of what a row has
FEW_GAPS = 0.05  # share of a row: where another row lacks less, a random share is lost
RANDOM_LOSS = (0.05, 0.2)
FEW_ROWS = 40  # up to here every row loses some
MIN_JUDGED = 10
MIN_LOST = 30  # values, to learn anything from


@dataclass(frozen=True)
class LostValues:
    """Rows after the loss, which of them are judged, and what these had.

    Attributes
    ----------
    X : array of shape (n, d)
        All rows, NaN where missing or lost.
    judged : array of int
        Rows that lost values and are judged by them; copies lose the same values, and are not judged.
    lost, known : array of bool, shape (judged, d)
        What they lost, and what they had before.
    truth : array of shape (judged, d)
        What they had, 0 where that is unknown.
    """

    X: Matrix
    judged: NDArray[np.int64]
    lost: Mask
    known: Mask
    truth: Matrix

    @classmethod
    def of(cls, X: Matrix, masks: Mask | None, rng: np.random.Generator) -> LostValues | None:
        """Let rows lose values; None where there is too little to learn from."""
        known = ~np.isnan(X)
        first, copies = distinct_by_value(X)
        first = rng.permutation(first)
        first = first[(np.nan_to_num(X[first]) != 0).any(axis=1)]
        if masks is None or not len(masks):
            masks = known
        lost = known[first] & ~masks[rng.integers(len(masks), size=len(first))]
        for gone, had in zip(lost, known[first], strict=True):
            count = int(had.sum())
            if gone.sum() < FEW_GAPS * count:
                gone |= had & (rng.random(len(had)) < rng.uniform(*RANDOM_LOSS))
            most = int(LARGEST_LOSS * count)
            if gone.sum() > most:
                gone[rng.permutation(np.flatnonzero(gone))[most:]] = False
        some = np.flatnonzero(lost.any(axis=1))
        size = np.cumsum(lost[some].sum(axis=1))
        # A row is judged by what it lost: of copies the first, the others lose the same, or they would tell it.
        enough = int(np.searchsorted(size, LOST_SHARE * known.sum())) + 1 if len(first) > FEW_ROWS else len(some)
        some = some[: min(enough, JUDGED)]
        if len(some) < MIN_JUDGED or lost[some].sum() < MIN_LOST:
            return None
        judged = first[some]
        table = np.zeros((int(copies.max()) + 1, X.shape[1]), dtype=bool)
        table[copies[judged]] = lost[some]
        table &= (known & ~table[copies]).any(axis=0)  # a feature that nobody has any more cannot be judged
        gone = table[copies[judged]]
        left = np.where(table[copies], np.nan, X)
        return cls(left, judged, gone, known[judged], np.nan_to_num(X[judged]))


def distinct_by_value(X: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row comes first, in an order that units do not change, and which of them every row is.

    Examples
    --------
    >>> distinct_by_value(np.array([[2.0, np.nan], [1.0, 5.0], [2.0, np.nan]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    missing = np.isnan(X)
    return sorted_distinct(np.concatenate([missing.astype(np.float64), np.where(missing, 0.0, X)], axis=1))
