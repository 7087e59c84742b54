"""A local prior for rows of which every one may be incomplete: where rows like this one lie.

With a prior mean mu + a (xbar - mu), xbar the mean of a row's neighbours, the completion moves by a times
xbar - E[x | xbar where observed], for all strengths a at once: everything is linear.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._posterior.all_rows.em import Factors, Filled
from simcomplete._posterior.all_rows.packing import IncompleteRows
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, smoothing, sparse_weights
from simcomplete._posterior.shared.rows import nonzero_or_one, unit_rows
from simcomplete._rows.xp import top_k
from simcomplete._types import Matrix

NEIGHBOURS = 10.0  # effective number
LANDMARKS = 2000  # rows to find neighbours among
SAME = 1 - 1e-9  # cosine of completions above which a row tells another nothing new: it is itself, or a copy


@dataclass(frozen=True)
class Local:
    """Completed rows to find neighbours among, their directions, and how well each is known."""

    values: Matrix
    directions: Matrix
    lengths: Matrix

    @classmethod
    def of(cls, filled: Filled) -> Local | None:
        """Take completed rows; None where there is no other row to be near to."""
        if len(filled.values) < 2:
            return None
        size = np.sum(filled.values**2, axis=1)
        known = nonzero_or_one(size + filled.variance.sum(axis=1))
        return cls(filled.values, unit_rows(filled.values), np.sqrt(size / known))

    def shift(self, factors: Factors, rows: IncompleteRows, filled: Filled) -> Matrix:
        """How far the neighbours of completed rows would move what is missing of them."""
        out = np.zeros_like(filled.values)
        for part, some in rows.blocks(factors.row_bytes + 16 * len(self.values)):
            cosines = unit_rows(filled.values[part]) @ self.directions.T
            near = np.where(cosines > SAME, -1.0, cosines * self.lengths)
            ids, best = top_k(near, min(MAX_NEIGHBOURS, len(self.values) - 1))
            mean = sparse_weights(ids, smoothing(np.asarray(best), NEIGHBOURS), len(self.values)) @ self.values
            latent = factors.expect(IncompleteRows(mean * some.observed, some.observed, some.pattern))
            out[part] = (mean - factors.mean - latent.z @ factors.loadings.T) * (1.0 - some.observed)
        return out
