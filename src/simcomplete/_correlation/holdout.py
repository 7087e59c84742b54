"""How far estimates from rows with gaps are off, learnt by hiding values of rows that are complete.

The missing values are drawn, so that the rows are complete and their moments known; the gaps of other rows are hidden,
and the estimate from what is left is compared with those moments. How much larger its errors are than the model says is
taken to hold for the estimate itself: this includes that the model was learnt from few rows, and heavy tails.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._correlation.expected import ExpectedRows
from simcomplete._correlation.moments import PairMoments, complete_moments
from simcomplete._types import Matrix, Vector

HOLDOUTS = 2  # for many columns
MOST_HOLDOUTS = 10
ENOUGH = 1000  # errors to learn from
SHARES = 99  # quantiles that are kept


@dataclass(frozen=True)
class ErrorQuantiles:
    """Quantiles of errors over the deviations that the model says, at shares from 0 to 1.

    Examples
    --------
    >>> ErrorQuantiles(np.array([0.0, 1.0, 2.0])).at(0.75)
    1.5
    """

    quantiles: Vector

    def at(self, share: float) -> float:
        """What a share of the errors does not exceed."""
        return float(np.interp(share, np.linspace(0.0, 1.0, len(self.quantiles)), self.quantiles))

    @property
    def root_mean_square(self) -> float:
        """Of the errors."""
        return float(np.sqrt(np.mean(np.square(self.quantiles))))


def estimated_moments(Z: Matrix) -> PairMoments:
    """Moments of the columns of rows in about standard units, NaN where missing."""
    return complete_moments(Z) if not np.isnan(Z).any() else ExpectedRows.fit(Z).moments()


def learnt_errors(rows: ExpectedRows, rng: np.random.Generator, *, of_correlations: bool) -> ErrorQuantiles:
    """Hide values of completed rows and see how far their estimates are off.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> Z = rng.standard_normal((100, 1)) + rng.standard_normal((100, 8))
    >>> Z[rng.random(Z.shape) < 0.2] = np.nan
    >>> learnt = learnt_errors(ExpectedRows.fit(Z), rng, of_correlations=True)
    >>> bool(1.2 < learnt.at(0.9) < 2.6)  # 1.645 if the model were all
    True
    """
    n, d = rows.Z.shape
    upper = np.triu_indices(d, 1 if of_correlations else 0)
    times = int(np.clip(-(-ENOUGH // max(1, len(upper[0]))), HOLDOUTS, MOST_HOLDOUTS))
    ratios = []
    for _ in range(times):
        Y = rows.drawn(rng)
        truth = complete_moments(Y)
        found = estimated_moments(np.where(rows.observed[rng.permutation(n)], Y, np.nan))
        off = found.entries(of_correlations=of_correlations) - truth.entries(of_correlations=of_correlations)
        variance = found.variance(of_correlations=of_correlations)[upper]
        known = variance > 0
        ratios.append(np.abs(off[upper][known]) / np.sqrt(variance[known]))
    ratio = np.concatenate(ratios)
    # Errors of a few pairs say little; the model's own are as good then.
    if len(ratio) == 0:
        ratio = np.abs(rng.standard_normal(ENOUGH))
    return ErrorQuantiles(np.quantile(ratio, np.linspace(0.0, 1.0, SHARES + 2)))
