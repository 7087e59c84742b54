"""Variables that a correlation of exactly 1 or -1 ties to another: one variable in their place.

No valid matrix with such an entry is positive definite, and Newton's method on the dual has no solution to go to. With
a sign s_i for every variable and g(i) the variable that stands for it,

    X_ij = s_i s_j Y_g(i)g(j),

and the distance of X is that of Y, with summed weights, to weighted means of the entries, and a constant. Products of
row weights stay products: those of a variable that stands for several are their sum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simcomplete._correlation.constraints import Constraints
from simcomplete._correlation.given import Given
from simcomplete._correlation.labels import Labelled, place
from simcomplete._types import Mask, Matrix, Vector
from simcomplete.errors import InputError

ROUNDING = 4 * float(np.finfo(np.float64).eps)  # from 1, that an entry held at 1 may be
NEARLY = 1e-9  # from 1, that an entry held may be to be taken for 1: multipliers would grow beyond what rounding leaves
SLACK = 1e-10  # by which entries that must be the same may differ


@dataclass(frozen=True)
class Ties:
    """Which variable stands for each, in the order of the first of them, and with which sign.

    Examples
    --------
    >>> X = np.array([[1.0, np.nan, -1.0], [np.nan, 1.0, np.nan], [-1.0, np.nan, 1.0]])
    >>> ties = Ties.of(np.where(np.isnan(X), -1.0, X), np.where(np.isnan(X), 1.0, X))
    >>> ties.group, ties.sign
    (array([0, 1, 0]), array([ 1.,  1., -1.]))
    >>> ties.spread(np.array([[1.0, 0.5], [0.5, 1.0]]))
    array([[ 1. ,  0.5, -1. ],
           [ 0.5,  1. , -0.5],
           [-1. , -0.5,  1. ]])
    """

    group: NDArray[np.int64]
    sign: Vector

    @classmethod
    def of(cls, low: Matrix, high: Matrix) -> Ties | None:
        """Find them among bounds of all entries; None where there are none."""
        tied = (low == high) & (np.abs(low) >= 1 - ROUNDING)
        np.fill_diagonal(tied, False)
        if not tied.any():
            return None
        graph = scipy.sparse.csr_array(tied)
        group, sign, count = np.full(len(low), -1), np.ones(len(low)), 0
        for row in range(len(low)):
            if group[row] >= 0:
                continue
            order, before = scipy.sparse.csgraph.breadth_first_order(graph, row, directed=False)
            for i in order[1:]:
                sign[i] = sign[before[i]] * np.sign(low[before[i], i])
            group[order] = count
            count += 1
        return cls(group, sign)

    @property
    def signs(self) -> Matrix:
        """Products of signs, (n, n)."""
        return np.outer(self.sign, self.sign)

    def spread(self, Y: Matrix) -> Matrix:
        """Entries of all variables from those that stand for them."""
        return np.asarray(Y[np.ix_(self.group, self.group)] * self.signs)

    def merged(self, given: Given, conditions: Constraints) -> tuple[Given, Constraints]:
        """The problem of those that stand for all."""
        h, known = entry_weights(given, conditions), given.known
        T = np.zeros((len(self.sign), int(self.group.max()) + 1))
        T[np.arange(len(T)), self.group] = self.sign
        H = np.abs(T).T @ h @ np.abs(T)
        values = T.T @ (h * given.values) @ T / np.where(H > 0, H, 1.0)
        np.fill_diagonal(values, 1.0)
        labels = given.source.labels
        first = np.unique(self.group, return_index=True)[1]
        names: Any = labels or range(len(self.sign))  # where there are no labels, numbers name the variables
        fewer = Labelled(values, [names[i] for i in first])
        by_row = conditions.elements is None and bool(known.all())
        rows = np.ones(len(T)) if conditions.rows is None else conditions.rows
        low, high = self._bounds(conditions, labels)
        return Given(fewer, values, H > 0, values, given.notes), replace(
            conditions,
            rows=np.abs(T).T @ rows if by_row else None,
            elements=None if by_row else np.sqrt(H),
            held=self._any(conditions.held) & ~np.eye(len(values), dtype=bool),
            low=low,
            high=high,
            block=None if conditions.block is None else int(self.group[: conditions.block].max()) + 1,
        )

    def _bounds(self, conditions: Constraints, labels: list[str] | None) -> tuple[Matrix, Matrix]:
        """Bounds that those of all entries leave; refused where they leave nothing."""
        turned, m = self.signs < 0, int(self.group.max()) + 1
        lows = np.where(turned, -conditions.high, conditions.low)
        highs = np.where(turned, -conditions.low, conditions.high)
        at = np.broadcast_to(self.group[:, None], lows.shape), np.broadcast_to(self.group, lows.shape)
        low, high = np.full((m, m), -1.0), np.ones((m, m))
        np.fill_diagonal(low, 1.0)
        np.maximum.at(low, at, lows)
        np.minimum.at(high, at, highs)
        wrong = (highs < low[at] - SLACK) | (lows > high[at] + SLACK)
        np.fill_diagonal(wrong, False)  # others are wrong, too, and were given
        if wrong.any():
            i, j = map(int, np.argwhere(wrong)[0])
            raise InputError(
                f"fixed entries and bounds contradict each other: {place(labels, i, j)} is to be from "
                f"{conditions.low[i, j]:.6g} to {conditions.high[i, j]:.6g}, and entries held at 1 or -1 make it equal "
                "to others that cannot be so, up to signs: free one of them, or widen its bounds"
            )
        middle = (low + high) / 2
        return np.where(low > high, middle, low), np.where(low > high, middle, high)

    def _any(self, entries: Mask) -> Mask:
        """Where any of the entries that one stands for is True."""
        found = np.zeros((int(self.group.max()) + 1,) * 2, dtype=bool)
        i, j = np.nonzero(entries)
        found[self.group[i], self.group[j]] = True
        return found


def nearly_tied(given: Given, conditions: Constraints) -> tuple[Constraints, str] | None:
    """The constraints with 1 or -1 where a held entry is next to it, and what is told of that; None where none is."""
    if conditions.floor > 0 or conditions.block is not None or not conditions.held.any():
        return None
    low = conditions.low
    away = 1 - np.abs(low)
    near = conditions.held & (away > ROUNDING) & (away <= NEARLY)
    if not near.any():
        return None
    i, j = map(int, np.argwhere(near)[0])
    count = int(np.sum(np.triu(near | near.T, 1)))
    what = "1 fixed entry is" if count == 1 else f"{count} fixed entries are"
    note = (
        f"{what} within {NEARLY:g} of 1 or -1, and taken for it (the first, {place(given.source.labels, i, j)}, was "
        f"{float(low[i, j])!r})"
    )
    exact, high = (np.where(near, np.sign(low), bound) for bound in (low, conditions.high))
    return replace(conditions, low=exact, high=high), note


def entry_weights(given: Given, conditions: Constraints) -> Matrix:
    """What the squared distance of every entry counts; 0 where it is unknown."""
    if conditions.elements is not None:
        h = np.square(conditions.elements)
    else:
        h = np.ones((given.n, given.n)) if conditions.rows is None else np.outer(conditions.rows, conditions.rows)
    return np.where(given.known, h, 0.0)
