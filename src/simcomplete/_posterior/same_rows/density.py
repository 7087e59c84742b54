"""How near strangers come to a row: what a pair of the same rows has to be nearer than."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.same_rows.near_pairs import Partners, ScaledTable
from simcomplete._types import Mask, Matrix

LEAST_ROWS = 10  # that the growth of distances is learnt from
LEAST_DISTANCE = 1e-12  # squared, in variances: nearer rows are equal
DISCRETE = 0.02  # how often two rows have the same value of a feature that has few
SAMPLED_PAIRS = 4000
FALSE_SHARE = 0.1  # of pairs that are called evident
SMALLER_STEP = 0.1  # quantile of the differences that there are
UNEVEN = 1.35  # what k is divided by: density differs from row to row, so that more come near than by one k


class StrangerDensity(NamedTuple):
    """Within a squared distance e of a row there are about R (e / e_R)^(k / 2) strangers, e_R that of its R-th rival.

    Attributes
    ----------
    n : int
        How many rows there are.
    equal : array of shape (d,)
        -log of how often two rows have the same value of a feature, at most log n.
    step : float
        Squared distance of values that are not the same, where most features have few values; else 0.
    slope, level : float
        log k = level + slope log(features in common).
    """

    n: int
    equal: Matrix
    step: float
    slope: float
    level: float

    @classmethod
    def of(cls, table: ScaledTable, partners: Partners, rng: np.random.Generator) -> StrangerDensity:
        """Learn k from how fast distances grow from partner to partner, the first left out: it may be a copy."""
        equal, step = _repeated(table, rng)
        apart, common = partners.distances[:, 1:], partners.common[:, 1:]
        known = np.isfinite(apart)
        some = known.sum(axis=1) >= 3
        known, common = known[some], common[some]
        L = np.log(np.where(known, apart[some], 1.0) + step / np.maximum(common, 1) + LEAST_DISTANCE)
        farthest = np.max(np.where(known, L, -np.inf), axis=1, keepdims=True, initial=-np.inf)
        nearer = known & (farthest > L)
        growth = np.sum(np.where(nearer, farthest - L, 0.0), axis=1) / np.maximum(nearer.sum(axis=1), 1)
        shared = np.sum(np.where(known, common, 0), axis=1) / np.maximum(known.sum(axis=1), 1)
        growing = growth > 1e-9
        if growing.sum() < LEAST_ROWS:
            return cls(table.n, equal, step, 0.0, 0.0)
        y, x = np.log(2 / growth[growing]), np.log(shared[growing])
        slope = float(np.clip(np.mean((x - x.mean()) * y) / x.var(), 0.0, 1.0)) if x.std() > 1e-6 else 0.0
        return cls(table.n, equal, step, slope, float(np.median(y - slope * x) - np.log(UNEVEN)))

    def strangers(self, first: Matrix, both: Mask, rivals: Partners) -> Matrix:
        """Logarithm of the number of strangers to expect as near as `first`.

        At most that of the rivals, and at least as many as have equal values by chance.
        """
        by_chance = np.log(self.n) - both @ self.equal
        return np.asarray(np.maximum(self._by_rivals(first, both.sum(axis=1), rivals), by_chance))

    def _by_rivals(self, first: Matrix, common: NDArray[np.int64], rivals: Partners) -> Matrix:
        known = np.isfinite(rivals.distances)
        many = known.sum(axis=1)
        apart = self._log(np.where(known, rivals.distances, 0.0), rivals.common)
        farthest = np.max(np.where(known, apart, -np.inf), axis=1, initial=-np.inf)
        k = np.exp(self.level + self.slope * np.log(np.maximum(common, 1)))
        nearer = np.where(many > 0, np.minimum(self._log(first, common) - farthest, 0.0), 0.0)
        return np.asarray(np.log(np.maximum(many, 1)) + k / 2 * nearer)

    def _log(self, distances: Matrix, common: NDArray[np.int64]) -> Matrix:
        return np.asarray(np.log(distances + self.step / np.maximum(common, 1) + LEAST_DISTANCE))


def evident_below(strangers: Matrix) -> float:
    """Up to how many strangers, as a logarithm, the partners of rows are evidently no strangers.

    Of rows without a copy a share t has a partner where fewer than t strangers are expected. Where ten times as many
    have, nine of ten of them have a copy.

    Examples
    --------
    >>> alone = np.log((np.arange(1000) + 0.5) / 1000)
    >>> evident_below(alone)
    -inf
    >>> evident_below(np.concatenate([alone, np.full(50, -12.0)])) >= -12.0
    True
    """
    rising = np.sort(strangers)
    expected = len(rising) * np.exp(rising)
    good = np.flatnonzero(expected <= FALSE_SHARE * np.arange(1, len(rising) + 1))
    return float(rising[good[-1]]) if len(good) else -np.inf


def stranger_shares(strangers: Matrix) -> Matrix:
    """Which part of the rows with a partner as near as a row's, or nearer, have it by chance; at most 1.

    As many rows without a copy are expected there as strangers, see `evident_below`.

    Examples
    --------
    >>> alone = np.log((np.arange(1000) + 0.5) / 1000)
    >>> stranger_shares(np.concatenate([[-6.0, -6.0, -6.0], alone]))[:3].round(2)
    array([0.42, 0.42, 0.42])
    """
    order = np.argsort(strangers, kind="stable")
    share = len(order) * np.exp(np.minimum(strangers[order], 0.0)) / np.arange(1, len(order) + 1)
    out = np.empty(len(order))
    out[order] = np.minimum(np.minimum.accumulate(share[::-1])[::-1], 1.0)
    return out


def _repeated(table: ScaledTable, rng: np.random.Generator) -> tuple[Matrix, float]:
    """-log of how often two rows have the same value of a feature, and how far values that differ are apart."""
    equal, steps = np.zeros(table.values.shape[1]), []
    for column, (z, seen) in enumerate(zip(table.values.T, table.observed.T, strict=True)):
        there = z[seen]
        counts = np.unique(there, return_counts=True)[1].astype(np.float64)
        total = len(there)
        share = float(np.sum(counts * (counts - 1)) / (total * (total - 1))) if total > 1 else 1.0
        equal[column] = -np.log(min(max(share, 1 / table.n), 1.0))
        if DISCRETE <= share < 1:
            a, b = there[rng.integers(total, size=(2, SAMPLED_PAIRS))]
            gaps = (a - b)[a != b] ** 2
            steps.append(float(np.quantile(gaps, SMALLER_STEP)) if len(gaps) else 0.0)
    return equal, float(np.median(steps)) if len(steps) > len(equal) / 2 else 0.0


def discrete_values(table: ScaledTable) -> dict[int, Matrix]:
    """Features with few distinct values, and these values, rising."""
    found = {}
    for column in range(table.values.shape[1]):
        values = np.unique(table.values[table.observed[:, column], column])
        if 1 < len(values) <= table.n / 4:
            found[column] = values
    return found


def snapped(x: Matrix, values: Matrix) -> Matrix:
    """The nearest of some rising values."""
    if len(values) == 1:
        return np.full_like(x, values[0])
    right = np.clip(np.searchsorted(values, x), 1, len(values) - 1)
    return np.asarray(np.where(x - values[right - 1] < values[right] - x, values[right - 1], values[right]))
