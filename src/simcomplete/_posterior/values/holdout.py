"""Values hidden on purpose, to learn how far the deviations of a model have to be stretched.

Some rows lose what other rows lack, a model is fitted to what is left, and its deviations are compared with its errors:
those of nine values in ten should lie within 1.645 of them, as in a normal distribution.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.values.members import Members
from simcomplete._posterior.values.stacking import stacked_weights
from simcomplete._types import Mask, Matrix, Vector

ROWS = 600  # rows to learn from, at most
MAX_HELD_OUT = 150  # of these lose values, at most, and at most a quarter
MIN_HELD_OUT = 5
MIN_VALUES = 30  # hidden values to learn anything from
LARGEST_LOSS = 0.5  # of what an incomplete row has
LEVEL = 0.9
NORMAL = 1.6448536269514722  # a normal distribution has LEVEL within so many deviations
PRIOR_VALUES = 30.0  # hidden values that the common level counts for beside those of a feature
SMALLEST_DEVIATION = 1e-6  # in standard units
LEVELS = (0.05, 20.0)


@dataclass(frozen=True)
class ValueHoldout:
    """Rows in standard units of which some lost values, and what they had."""

    rows: Matrix
    held_out: NDArray[np.int64]
    truth: Matrix

    @classmethod
    def of(cls, Z: Matrix, masks: Mask, rng: np.random.Generator) -> ValueHoldout | None:
        """Let some rows lose what rows with the masks lack; None where there is too little to learn from.

        Complete rows come first: there the whole of a mask can be put on. Incomplete rows lose at most half of
        what they have.
        """
        some = Z[np.sort(rng.permutation(len(Z))[:ROWS])]
        known = ~np.isnan(some)
        whole: Mask = np.asarray(known.all(axis=1))
        order = rng.permutation(len(some))
        order = order[np.argsort(~whole[order], kind="stable")]
        shown = masks[rng.integers(len(masks), size=len(order))]
        lost = known[order] & ~shown
        for row, (gone, had) in enumerate(zip(lost, known[order], strict=True)):
            most = int(had.sum()) - 1 if had.all() else int(LARGEST_LOSS * had.sum())
            if gone.sum() > most:
                lost[row, rng.permutation(np.flatnonzero(gone))[most:]] = False
        usable = np.flatnonzero(lost.any(axis=1))[: min(MAX_HELD_OUT, len(some) // 4)]
        if len(usable) < MIN_HELD_OUT or lost[usable].sum() < MIN_VALUES:
            return None
        held_out, rows = order[usable], some.copy()
        hidden = lost[usable]
        truth = np.where(hidden, some[held_out], np.nan)
        rows[held_out] = np.where(hidden, np.nan, some[held_out])
        # A feature that nobody has any more cannot be compared.
        empty = np.isnan(rows).all(axis=0)
        rows[np.ix_(held_out, np.flatnonzero(empty))] = some[np.ix_(held_out, np.flatnonzero(empty))]
        truth[:, empty] = np.nan
        return cls(rows, held_out, truth)

    def learn(self, members: Members) -> tuple[Vector, Vector]:
        """Weights of members that were fitted to `rows`, and what deviations of every feature are multiplied by."""
        found = members.expect(self.rows[self.held_out])
        hidden = ~np.isnan(self.truth)
        weights = np.ones(1)
        if len(found.means) > 1:
            weights = stacked_weights(found.means[:, hidden], self.truth[hidden])
        deviation = np.sqrt(np.maximum(found.variance, SMALLEST_DEVIATION**2))
        ratios = np.abs(self.truth - np.tensordot(weights, found.means, axes=1)) / deviation
        common = np.clip(np.quantile(ratios[hidden], LEVEL) / NORMAL, *LEVELS)
        level = np.array([shrunk_level(ratios[hidden[:, f], f], float(common)) for f in range(self.truth.shape[1])])
        # Rows that lost values know less than any did before: what is too wide for them may be right for the others.
        return weights, level / np.sqrt(min(common, 1.0)) if members.calibrated else level


def shrunk_level(ratios: Vector, common: float) -> float:
    """The level of one feature, drawn to that of all by the number of its values.

    Examples
    --------
    >>> shrunk_level(np.array([]), 2.0)
    2.0
    >>> round(shrunk_level(np.full(3000, 1.645), 2.0), 2)
    1.01
    """
    if len(ratios) == 0:
        return common
    own = np.clip(np.quantile(ratios, LEVEL) / NORMAL, *LEVELS)
    weight = len(ratios) / (len(ratios) + PRIOR_VALUES)
    return float(np.exp(weight * np.log(own) + (1 - weight) * np.log(common)))
