"""How pairs of the same rows look: learnt from rows simulated with and without a copy of themselves.

Rows that evidently are in the table twice are simulated without their copies, and tell how common copies are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.same_rows.density import (
    StrangerDensity,
    discrete_values,
    evident_below,
    snapped,
    stranger_shares,
)
from simcomplete._posterior.same_rows.evidence import RowPair, pairs_at
from simcomplete._posterior.same_rows.near_pairs import Partners, ScaledTable
from simcomplete._posterior.shared.copy_classes import KINDS, MOST_EXACT, RATES, CopyModel, learn_classes
from simcomplete._rows.budget import row_blocks
from simcomplete._types import Mask, Matrix

SIMULATED_ROWS = 200  # to learn from
MIN_SIMULATED = 20
LIKELY = 0.5  # probability from which a pair is taken out of the simulated strangers
ROUNDS = 2  # of learning
SPARE_NATS = 1.0  # of evidence beyond what the number of strangers tells


class SameModel(NamedTuple):
    """What tells the same rows of a table.

    Attributes
    ----------
    table : ScaledTable
        The rows.
    density : StrangerDensity
        How near strangers come.
    classes : CopyModel or None
        How copies look; None where there were too few rows to learn it from.
    rates : array of shape (3,)
        How common exact, near and rough copies are.
    """

    table: ScaledTable
    density: StrangerDensity
    classes: CopyModel | None
    rates: Matrix

    def probabilities(self, pair: RowPair, prior: float | None) -> Matrix:
        """P(exact), P(near), P(rough) of pairs; the evidence is at most that no stranger is so near."""
        if self.classes is None:
            return self.of_equal(pair, prior)
        most = np.maximum(-pair.strangers(self.density), 0.0) + SPARE_NATS
        return self.classes.probabilities(pair.features(self.table, self.density), most[:, None], prior)

    def of_equal(self, pair: RowPair, prior: float | None) -> Matrix:
        """The same for pairs of equal rows by the number of strangers alone; 0 for all others."""
        p: Matrix = np.zeros((len(pair.values), 3))
        rate = float(self.rates[0]) if prior is None else prior
        nats = np.clip(-pair.strangers(self.density), 0.0, 700.0)
        odds = np.where(pair.distance == 0, rate / (1 - rate) * np.exp(nats), 0.0)
        p[:, 0] = odds / (1 + odds)
        return p


def learn_same(table: ScaledTable, partners: Partners, repeated: float, rng: np.random.Generator) -> SameModel:
    """Simulate rows with and without a copy of themselves, and learn to tell which was which.

    Parameters
    ----------
    table, partners : ScaledTable, Partners
        The rows, and who may be whose copy.
    repeated : float
        Share of rows that are already known to be there twice.
    rng : Generator
        Chooses the rows, their gaps and noise.
    """
    density = StrangerDensity.of(table, partners, rng)
    known = np.flatnonzero(partners.ids[:, 0] >= 0)
    parts = row_blocks(len(known), 8 * 8 * table.values.shape[1])
    every = [pairs_at(table, known[part], partners.some(known[part]), 0).strangers(density) for part in parts]
    expected = np.concatenate([np.zeros(0), *every])
    bound, doubt = evident_below(expected), np.ones(table.n)
    doubt[known] = stranger_shares(expected)
    rates = RATES.copy()
    rates[0] = max(rates[0], min(MOST_EXACT, repeated))
    able = known[np.isfinite(partners.distances[known][:, : min(3, partners.ids.shape[1])]).all(axis=1)]
    rows = able if len(able) <= SIMULATED_ROWS else np.sort(rng.choice(able, SIMULATED_ROWS, replace=False))
    model = SameModel(table, density, None, rates)
    if len(rows) < MIN_SIMULATED:
        return model
    strangers = Strangers.of(model, rows, partners.some(rows), bound, doubt[rows])
    for again in range(ROUNDS):
        left = np.isfinite(strangers.partners.distances[:, 0])
        if left.sum() < MIN_SIMULATED:
            return model
        rates = strangers.rates(repeated)
        classes = _regressed(table, density, strangers.some(left), rates, rng)
        model = SameModel(table, density, classes, rates)
        if again + 1 < ROUNDS:
            pair = pairs_at(table, rows, strangers.partners, 0)
            likely = left & (model.probabilities(pair, None).sum(axis=1) > LIKELY)
            if not likely.any():
                break
            strangers = strangers.without(likely, pair.distance == 0)
    return model


class Strangers(NamedTuple):
    """Rows to learn from, and those of their partners that may be strangers.

    Attributes
    ----------
    rows : array of int, shape (m,)
        The rows.
    partners : Partners
        Their partners.
    exact, near : array of shape (m,)
        How likely each had another partner, which was left out, or has one that is a copy: an equal one, or a near one.
    share : array of shape (m,)
        How likely the first partner is a stranger: what a row counts as an example of such.
    """

    rows: NDArray[np.int64]
    partners: Partners
    exact: Matrix
    near: Matrix
    share: Matrix

    @classmethod
    def of(
        cls, model: SameModel, rows: NDArray[np.int64], partners: Partners, bound: float, share: Matrix
    ) -> Strangers:
        """Leave out partners that are evidently the same: with whom as few strangers are expected as `bound` says."""
        equal = partners.distances[:, 0] == 0
        copies = np.where(share <= LIKELY, 1 - share, 0.0)
        found = cls(rows, partners, np.where(equal, copies, 0.0), np.where(equal, 0.0, copies), share)
        for _ in range(partners.ids.shape[1] - 1):
            pair = pairs_at(model.table, rows, found.partners, 0)
            same = np.isfinite(found.partners.distances[:, 0]) & (pair.strangers(model.density) <= bound)
            if not same.any():
                break
            found = found.without(same, pair.distance == 0)
        return found

    def without(self, rows: Mask, equal: Mask) -> Strangers:
        """Take the first partner from some of the rows."""
        first = np.arange(self.partners.ids.shape[1]) == 0
        left = self.partners.only(~(rows[:, None] & first))
        exact = np.where(rows & equal, 1.0, self.exact)
        near = np.where(rows & ~equal, 1.0, self.near)
        return Strangers(self.rows, left, exact, near, np.where(rows, 1.0, self.share))

    def some(self, which: Mask) -> Strangers:
        """Some of the rows."""
        return Strangers(
            self.rows[which], self.partners.some(which), self.exact[which], self.near[which], self.share[which]
        )

    def rates(self, repeated: float) -> Matrix:
        """How common copies are: at least what is usual."""
        exact, near = float(self.exact.mean()), float(np.mean(np.minimum(self.near, 1 - self.exact)))
        return np.asarray(np.maximum(RATES, [min(MOST_EXACT, exact + repeated), min(MOST_EXACT / 2, near), 0.0]))


def _regressed(
    table: ScaledTable,
    density: StrangerDensity,
    strangers: Strangers,
    rates: Matrix,
    rng: np.random.Generator,
) -> CopyModel:
    rows, partners = strangers.rows, strangers.partners
    few, share = discrete_values(table), strangers.share / strangers.share.mean()
    x, label, weight = [], [], []
    for kind, noise, heavy in KINDS:
        q = table.values[rows]
        if noise is not None:
            sigma = np.exp(rng.uniform(np.log(noise[0]), np.log(noise[1]), size=(len(q), 1)))
            q = q + sigma * rng.standard_normal(q.shape)
            for column, values in few.items():
                q[:, column] = snapped(q[:, column], values)
            q = np.where(table.observed[rows], q, 0.0)
        pair = _simulated_pairs(table, rows, q, partners, rng if kind else None)
        used = pair.common > 0
        pair = pair.some(used)
        x.append(pair.features(table, density))
        label.append(np.full(len(pair.values), kind))
        weight.append(heavy * (np.ones(len(pair.values)) if kind else share[used]))
    return learn_classes(np.concatenate(x), np.concatenate(label), np.concatenate(weight), rates)


def _simulated_pairs(
    table: ScaledTable, rows: NDArray[np.int64], q: Matrix, mine: Partners, rng: np.random.Generator | None
) -> RowPair:
    """Rows with new values: with their best partner, or with a copy of what they were that has the gaps of others."""
    observed = table.observed[rows]
    near = Partners(mine.ids, *table.compare(q, observed, mine.ids)).ordered()
    if rng is None:
        return pairs_at(table, rows, near, 0, q)
    seen = observed & table.observed[rng.integers(table.n, size=len(rows))]
    return RowPair.of(q, observed, np.where(seen, table.values[rows], 0.0), seen, near)
