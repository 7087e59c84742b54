"""Regressions that recalibrate P(similarity > t), one for every threshold t, learnt once per set of candidates."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import IntervalModel, RankedErrors
from simcomplete._result.pairs import LEVELS_KEPT, Pairs, places_among, share_beyond
from simcomplete._result.recalibration import CLIP, how_far, of_threshold, regress, simulated_pairs

REGRESSED, LEAST_REGRESSED = 60_000, 300  # simulated pairs to learn from
REGRESSIONS_KEPT = 64  # thresholds
Regression = tuple[NDArray[np.float64], float] | None  # coefficients, and how far to move; None if nothing was learnt


def known_regression(
    known: dict[float, Regression], model: IntervalModel, t: float, unit: Callable[[], NDArray[np.float64]]
) -> Regression:
    """Return the regression at a threshold; it is learnt once and kept in `known`, which belongs to the candidates.

    `unit` reads some of them, see `sampled`.
    """
    if t in known:
        return known[t]
    found = threshold_regression(model, t, unit())
    for oldest in list(known)[: len(known) + 1 - REGRESSIONS_KEPT]:
        known.pop(oldest, None)
    known[t] = found
    return found


def threshold_regression(model: IntervalModel, t: float, unit: NDArray[np.float64]) -> Regression:
    """Learn how to correct P(similarity > t) from simulated pairs, and how far to move; None if there are too few."""
    if model.ranked is None:
        return None
    estimate, truth = simulated_pairs(model.ranked, unit)
    levels = np.linspace(0, 1, LEVELS_KEPT)
    edges = -np.sort(-estimate, axis=1)[:, RankedErrors.edges(len(unit)) - 1]
    spread = np.broadcast_to(model.ranked.spread[:, None], estimate.shape)
    pairs = Pairs(estimate, spread, places_among(estimate, edges))
    p = share_beyond(pairs, t, model.table(levels, len(unit)), levels)
    open_ = np.isfinite(estimate) & (p > CLIP) & (p < 1 - CLIP)
    where = np.flatnonzero(open_)
    where = where[:: max(1, len(where) // REGRESSED)]
    if len(where) < LEAST_REGRESSED:
        return None
    y = (truth.ravel()[where] > t).astype(np.float64)
    X = of_threshold(p.ravel()[where], spread.ravel()[where])
    return regress(X, y), how_far(X, y, where // len(unit))
