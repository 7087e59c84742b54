"""Corrections of P(similarity > t): logistic regressions at some thresholds, learnt once per set of candidates.

Each regression is fitted separately, so that a larger threshold could get a larger probability. Probabilities at all
other thresholds are interpolated such that they never rise with the threshold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import IntervalModel, Levels, RankedErrors
from simcomplete._result.pairs import LEVELS_KEPT, Pairs, places_among, share_beyond
from simcomplete._result.recalibration import CLIP, how_far, logistic, of_threshold, regress, simulated_pairs

SHARES = (0.5, 0.3, 0.2, 0.1, 0.05, 0.02, 0.01, 0.004)  # of true similarities above the thresholds that are learnt
SIMULATED_PAIRS = 200_000  # that these are looked for among
REGRESSED, LEAST_REGRESSED = 10_000, 300  # pairs of each regression


class Correction(NamedTuple):
    """Recalibration of P(similarity > t) by regressions at some thresholds.

    Attributes
    ----------
    thresholds : array of shape (m,)
        Where it was learnt, rising.
    coefficients : array of shape (m, 4)
        Of the logit, on what `of_threshold` makes of a probability; it never falls when the probability rises.
    """

    thresholds: NDArray[np.float64]
    coefficients: NDArray[np.float64]

    def corrected(self, pairs: Pairs, p: Levels, t: float, z: Levels, levels: Levels) -> Levels:
        """Correct probabilities between 0 and 1 of pairs in one dimension; a larger t never gets a larger one.

        The same pairs are looked at for the thresholds around t: the probability is between theirs, each taken to be
        at least as large as those of the thresholds above it.
        """
        k = int(np.searchsorted(self.thresholds, t, side="right")) - 1
        low = np.zeros(p.shape)
        left = np.arange(len(p))
        for j in range(k + 1, len(self.thresholds)):
            above, left = self._at(pairs, left, j, z, levels)
            low[left] = np.maximum(low[left], above)
        between = logistic(self._logit(p, pairs.spread, t, k))
        if k < 0:
            return np.asarray(np.maximum(between, low))
        below, _ = self._at(pairs, np.arange(len(p)), k, z, levels)  # none is 0, where p is above 0
        return np.asarray(np.clip(between, low, np.maximum(below, low)))

    def _at(
        self, pairs: Pairs, left: NDArray[np.int64], j: int, z: Levels, levels: Levels
    ) -> tuple[Levels, NDArray[np.int64]]:
        """Probabilities of a threshold that was learnt, of those pairs for which it is not 0."""
        some = pairs.some(left)
        p = share_beyond(some, float(self.thresholds[j]), z, levels)
        there = p > 0
        p, spread = p[there], some.spread[there]
        open_ = p < 1
        p[open_] = logistic(of_threshold(p[open_], spread[open_]) @ self.coefficients[j])
        return p, left[there]

    def _logit(self, p: Levels, spread: Levels, t: float, k: int) -> Levels:
        """Between those of the two thresholds around t, linearly; their mean where the upper one is the larger."""
        X, last = of_threshold(p, spread), len(self.thresholds) - 1
        if not 0 <= k < last:
            return np.asarray(X @ self.coefficients[min(max(k, 0), last)])
        before, after = self.thresholds[k : k + 2]
        share = (after - t) / (after - before)
        lower, upper = X @ self.coefficients[k], X @ self.coefficients[k + 1]
        return np.asarray(np.where(upper > lower, (lower + upper) / 2, share * lower + (1 - share) * upper))


def known_correction(
    known: list[Correction | None], model: IntervalModel, unit: Callable[[], NDArray[np.float64]]
) -> Correction | None:
    """Return the correction, learnt once and kept in `known`, which belongs to these candidates.

    `unit` reads some of them, see `sampled`. None where there was too little to learn from.
    """
    if not known:
        known.append(learn_correction(model, unit()))
    return known[0]


def learn_correction(model: IntervalModel, unit: NDArray[np.float64]) -> Correction | None:
    """Learn from the simulated queries' similarities with some candidates, given as unit rows."""
    if model.ranked is None:
        return None
    estimate, truth = simulated_pairs(model.ranked, unit)
    edges = -np.sort(-estimate, axis=1)[:, RankedErrors.edges(len(unit)) - 1]
    spread = np.broadcast_to(model.ranked.spread[:, None], estimate.shape)
    kind, some = places_among(estimate, edges), np.flatnonzero(np.isfinite(estimate))
    some = some[:: max(1, len(some) // SIMULATED_PAIRS)]
    if not len(some):
        return None
    pairs = Pairs(estimate.ravel()[some], spread.ravel()[some], kind.ravel()[some])
    z, true, query = model.table(np.linspace(0, 1, LEVELS_KEPT), len(unit)), truth.ravel()[some], some // len(unit)
    wanted = np.unique(np.quantile(true, 1 - np.array(SHARES)))
    found = [(t, threshold_regression(pairs, z, t, true, query)) for t in wanted]
    learnt = [(t, each) for t, each in found if each is not None]
    return Correction(np.array([t for t, _ in learnt]), np.stack([each for _, each in learnt])) if learnt else None


def threshold_regression(
    pairs: Pairs, z: Levels, t: float, truth: Levels, query: NDArray[np.int64]
) -> NDArray[np.float64] | None:
    """Coefficients of the logit of P(similarity > t), from simulated pairs; None where too few of them are open."""
    p = share_beyond(pairs, t, z, np.linspace(0, 1, LEVELS_KEPT))
    where = np.flatnonzero((p > CLIP) & (p < 1 - CLIP))
    where = where[:: max(1, len(where) // REGRESSED)]
    if len(where) < LEAST_REGRESSED:
        return None
    X, y = of_threshold(p[where], pairs.spread[where]), (truth[where] > t).astype(np.float64)
    far = how_far(X, y, query[where])
    b = far * regress(X, y)
    b[0] += 1 - far
    b[0] = max(b[0], 0.0)  # so that it never falls when the probability rises ...
    b[2] = max(b[2], -b[0])  # ... also above a half
    return b
