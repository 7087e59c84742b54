"""Intervals of completed similarities, learnt from simulated queries."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.pair_spread import PER_PAIR, PairSpread
from simcomplete.errors import InputError

LEAST_SQUARED = 1e-4  # spread of what is not complete
FINE = 24  # ranks, from first to last candidate, that have quantiles of their own
TIED = 9  # similarities are rounded to so many digits, so that rounding errors do not decide on their order
Levels = NDArray[np.float64]


@dataclass(frozen=True)
class RankedErrors:
    """Errors of similarities with complete rows, by the rank that the similarity has for its query.

    Attributes
    ----------
    shares : array of shape (buckets,)
        Ranks as a share of all candidates, rising.
    table : array of shape (buckets, levels)
        For each, quantiles of (truth - estimate) / spread at evenly spaced levels from 0 to 1.
    residuals : array of shape (simulated queries, d)
        (unit row - vector) / spread of the simulated queries; errors with similar candidates are correlated.
    simulated : array of shape (simulated queries, d)
        Their vectors.

    Examples
    --------
    >>> errors = RankedErrors(np.array([0.01, 1.0]), np.array([[-2.0, 0.0], [-1.0, 1.0]]), np.eye(2), np.eye(2))
    >>> errors.fine(100).round(1)[[0, -1]]
    array([[-2.,  0.],
           [-1.,  1.]])
    """

    shares: NDArray[np.float64]
    table: NDArray[np.float64]
    residuals: NDArray[np.float64]
    simulated: NDArray[np.float64]

    @property
    def spread(self) -> NDArray[np.float64]:
        """Spread of the simulated queries."""
        return np.asarray(np.sqrt(np.maximum(1 - np.sum(self.simulated**2, axis=1), LEAST_SQUARED)))

    def fine(self, n: int) -> NDArray[np.float64]:
        """Return the table at `FINE` ranks among n candidates, evenly spaced in their logarithm; the last is cached."""
        kept: tuple[int, NDArray[np.float64]] | None = self.__dict__.get("_fine")
        if kept is not None and kept[0] == n:
            return kept[1]
        wanted, known = np.linspace(np.log(0.5 / n), 0.0, FINE), np.log(self.shares)
        made = np.column_stack([np.interp(wanted, known, column) for column in self.table.T])
        np.maximum.accumulate(made, axis=1, out=made)  # equal columns may differ in their last digit
        self.__dict__["_fine"] = (n, made)  # slower than the intervals of one query
        return made

    @staticmethod
    def edges(n: int) -> NDArray[np.int64]:
        """Return how many of n candidates come before the second, third, ... of the `FINE` ranks."""
        middle = np.linspace(np.log(0.5 / n), 0.0, FINE)
        return np.asarray(np.minimum(np.ceil(n * np.exp((middle[1:] + middle[:-1]) / 2)), n), dtype=np.int64)


class Match(NamedTuple):
    """The candidate that each query may be a copy of, and how likely it is.

    Attributes
    ----------
    ids : array of int, shape (n_q,)
        Position of the likeliest source among the candidates; -1 where nothing is observed.
    probabilities : array of shape (n_q, 3)
        Probability of an exact, a near (noise up to a tenth of a standard deviation) and a rough (up to a half) copy.
    """

    ids: NDArray[np.int64]
    probabilities: NDArray[np.float64]

    def among(self, whole: NDArray[np.bool_]) -> Match:
        """Return the same for all rows of a table whose complete rows are the candidates, which are not copies.

        Examples
        --------
        >>> Match(np.array([1]), np.array([[0.9, 0.0, 0.0]])).among(np.array([True, False, True])).ids
        array([-1,  2, -1])
        """
        ids, p = np.full(len(whole), -1), np.zeros((len(whole), 3))
        ids[~whole] = np.where(self.ids < 0, -1, np.flatnonzero(whole)[self.ids])
        p[~whole] = self.probabilities
        return Match(ids, p)

    @property
    def copy(self) -> NDArray[np.float64]:
        """The probability of any copy: the sum of the three."""
        return np.asarray(self.probabilities.sum(axis=1))

    @property
    def kinds(self) -> list[str]:
        """The likeliest of "fresh", "exact", "near" and "rough", query by query."""
        every = np.column_stack([1 - self.copy, self.probabilities])
        return [("fresh", "exact", "near", "rough")[i] for i in np.argmax(every, axis=1)]


@dataclass(frozen=True)
class IntervalModel:
    """Half-width of a pair at a level: the level's quantile times the spread of the pair.

    The spread of two rows is sqrt(1 - l_i^2 l_j^2), where l are the lengths of their vectors. Complete rows have
    length 1, so the spread of two complete rows is 0: their similarity is exact.

    Attributes
    ----------
    spread : array of shape (n_q,)
        sqrt(1 - length^2) of every query; 0 if it is complete.
    quantiles : array of shape (1001,)
        Of |error| / spread over simulated pairs, at 0, 0.001, ..., 1.
    ranked : RankedErrors or None
        The same by rank, for pairs of a query and a complete row; None if it was not learnt.
    match : Match or None
        Which queries may be copies of candidates; None if this was not estimated.
    pairs : PairSpread or None
        The spread of every pair by the uncertainty of both rows; None if it was not learnt.

    Examples
    --------
    Two queries after three candidates; the intervals of all with the first candidate.

    >>> model = IntervalModel(np.array([0.5, 0.1]), np.linspace(0, 2, 1001))
    >>> model.half_width(0.9, rows=np.array([2, 3, 4]), cols=np.array([0]), first_query=3)
    array([[0.  ],
           [0.9 ],
           [0.18]])
    """

    spread: NDArray[np.float64]
    quantiles: NDArray[np.float64]
    ranked: RankedErrors | None = None
    match: Match | None = None
    pairs: PairSpread | None = None

    def half_width(
        self, level: float, rows: NDArray[np.int64], cols: NDArray[np.int64], first_query: int = 0
    ) -> NDArray[np.float64]:
        """Return half-widths of the intervals of pairs, by position; rows before `first_query` are complete."""
        check_level(level)
        z = float(np.interp(level, np.linspace(0, 1, len(self.quantiles)), self.quantiles))
        return z * self.spread_of(rows, cols, first_query)

    def spread_of(self, rows: NDArray[np.int64], cols: NDArray[np.int64], first_query: int = 0) -> NDArray[np.float64]:
        """Return the spread of pairs, by position; 0 if both rows are complete, or the same.

        Columns are the same for all rows, or an array of shape (rows, columns) with the columns of each row.
        """
        cols = cols if cols.ndim == 2 else cols[None, :]
        a, b = (self._squared_spread(which, first_query) for which in (rows[:, None], cols))
        spread = np.sqrt(a + b - a * b)  # 1 - (1 - a)(1 - b), with all digits where a or b is 0
        if self.pairs is not None:  # nothing is known about rows whose spread is 1
            spread = np.where((a == 1) | (b == 1), spread, self.pairs.between(rows, cols))
        return np.where(rows[:, None] == cols, 0.0, spread)

    @property
    def numbers_per_pair(self) -> int:
        """Largest number of values per pair held while its interval is computed."""
        return 6 if self.pairs is None else 6 + PER_PAIR

    def exact(self, positions: NDArray[np.int64], first_query: int = 0) -> NDArray[np.bool_]:
        """Return which rows of the result are complete."""
        return np.asarray(self._squared_spread(positions, first_query) == 0)

    def table(self, levels: Levels, n: int) -> NDArray[np.float64]:
        """Return quantiles of signed errors at some levels: a row for each rank, and a last row for all other pairs."""
        half = np.sign(2 * levels - 1) * _at_levels(self.quantiles[None], np.abs(2 * levels - 1))[0]
        if self.ranked is None:
            return np.broadcast_to(half, (FINE + 1, len(levels)))
        fine = self.ranked.fine(n)
        return np.vstack([_at_levels(fine, levels), half])

    def _squared_spread(self, positions: NDArray[np.int64], first_query: int) -> NDArray[np.float64]:
        # Complete rows have spread 0, which is put before those of the queries; there may be no queries.
        spread = np.concatenate([[0.0], self.spread])[np.maximum(positions - first_query + 1, 0)]
        return np.asarray(spread**2)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """The length of each query's vector, from 0 (nothing is known) to 1 (everything is)."""
        return np.sqrt(np.maximum(1 - self.spread**2, 0.0))


def _at_levels(table: NDArray[np.float64], levels: Levels) -> NDArray[np.float64]:
    """Interpolate quantiles given at evenly spaced levels: `np.interp` for all rows at once.

    The result never falls as the level rises, not even by a rounding error.
    """
    known = np.linspace(0, 1, table.shape[1])
    below = np.minimum(np.searchsorted(known, levels, side="right") - 1, len(known) - 2)
    left, right = table[:, below], table[:, below + 1]
    between = (right - left) / (known[below + 1] - known[below]) * (levels - known[below]) + left
    return np.where(levels == known[below], left, np.where(levels >= 1, right, np.clip(between, left, right)))


def check_level(level: Any, name: str = "level") -> float:
    """Return a number between 0 and 1."""
    if isinstance(level, bool) or not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
        raise InputError(f"{name}={level!r} must be a number between 0 and 1, such as 0.9", about=(name,))
    return float(level)


def required(model: IntervalModel | None, method: str) -> IntervalModel:
    """Return the model, or raise an error that says which results have one."""
    if model is None:
        raise InputError(f"this {method!r} result has no intervals; use method='posterior' with at least 40 candidates")
    return model


def moved(middle: NDArray[Any], by: NDArray[np.float64]) -> NDArray[Any]:
    """Return similarities plus `by`, in their own precision, clipped to [-1, 1]."""
    return np.asarray(np.clip(middle + by.astype(middle.dtype), -1.0, 1.0))
