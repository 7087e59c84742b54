"""The self-supervised choice of the settings of the filter of similarities.

They are chosen on simulated queries: candidates whose true similarities are known, seen through simulated noise.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import product

import numpy as np

from simcomplete._posterior.candidates.grid import QUANTILES, widened
from simcomplete._posterior.shared.rows import COPY
from simcomplete._posterior.similarities.filtering import (
    Directions,
    Noise,
    WienerSetting,
    filtered,
    local_prior,
    noise_of,
    padded,
)
from simcomplete._types import Matrix

SIMULATED = {"full": 400, "fast": 200}  # simulated queries
FOLDS_OF_CANDIDATES = 5  # folds of the candidates; each in turn is the simulated queries, the others stay candidates
ROUNDS = 20  # so often at most where few candidates make few simulated queries
SHORTEST_GAP = 1e-4  # floor of 1 - |v|^2 under an error

PARTS = (0.0, 0.01, 0.03, 0.1, 0.3, 1.0)
# f = 0 is the bare neighbour average, which can be far off: it is only ever compared beside other f.
GRIDS = {
    "full": (
        *(WienerSetting(10.0, 0.0, f) for f in PARTS),  # without a local prior its neighbours do not matter
        *(WienerSetting(*s) for s in product((3.0, 5.0, 10.0, 20.0), (0.75, 1.0), PARTS)),
    ),
    "fast": tuple(WienerSetting(10.0, 1.0, f) for f in PARTS),
}


@dataclass(frozen=True)
class Choice:
    """The setting that found simulated queries best, and how wrong it was about them."""

    setting: WienerSetting
    error: float
    quantiles: Matrix


@dataclass(frozen=True)
class SimilaritiesHoldout:
    """Simulated queries: noisy coordinates, true similarities to the others, and what they are filtered with."""

    others: Directions
    truth: Matrix
    y: Matrix
    priors: dict[float, Matrix]
    lam: Matrix
    noise: Matrix

    def vectors(self, setting: WienerSetting) -> Matrix:
        """The simulated queries, filtered."""
        return filtered(self.y, self.priors[setting.k], self.lam, self.noise, setting)

    def errors(self, setting: WienerSetting) -> tuple[Matrix, Matrix]:
        """Error of every simulated similarity (queries, others), and sqrt(1 - |v|^2) of every query."""
        v = self.vectors(setting)
        gap = np.sqrt(np.maximum(1.0 - np.sum(v * v, axis=1, keepdims=True), SHORTEST_GAP))
        return v @ self.others.rows.T - self.truth.T, gap

    def total(self, settings: Iterable[WienerSetting]) -> Matrix:
        """Sum of squared errors of every setting, in coordinates, which are orthogonal: no similarity is formed."""
        target = self.others.coordinates(self.truth)
        outside = float(np.sum(self.truth**2) - np.sum(self.others.w * target**2))
        sums = [float(np.sum(self.others.w * (self.vectors(s) - target) ** 2)) for s in settings]
        return np.array(sums) + max(outside, 0.0)


def hold_out_candidates(
    S: Matrix, lam: Matrix, noise: Noise, scales: Matrix, ks: set[float], count: int, rng: np.random.Generator
) -> SimilaritiesHoldout:
    """Take some candidates and their copies out, and show their similarities to the others with simulated noise.

    Parameters
    ----------
    S : array of shape (n, n)
        Exact similarities, unit diagonal.
    lam : array
        Population variances.
    noise : Noise
        What real queries suffer from.
    scales : array of shape (n_q,)
        How much each real query does, relative to the mean; simulated ones draw from them.
    ks : set of float
        Numbers of neighbours to prepare.
    count : int
        How many candidates to hold out.
    """
    n = len(S)
    distinct = np.flatnonzero(~np.triu(S > COPY, 1).any(axis=0))
    held = distinct[rng.choice(len(distinct), min(count, len(distinct)), replace=False)]
    copies = np.flatnonzero(np.any(S[:, held] > COPY, axis=1))
    gone = np.union1d(held, copies)
    rest = np.setdiff1d(np.arange(n), gone if len(gone) <= n / 2 else held)
    others = Directions.of(S[np.ix_(rest, rest)])
    truth = S[np.ix_(rest, held)]
    scale = scales[rng.integers(len(scales), size=len(held))]
    rows = others.rows
    z = rng.standard_normal((len(held), len(others.w)))
    # A cosine is of unit vectors: noise turns a query, it does not make it longer. Where candidates share a strong
    # direction, noise along it would drown the choice, and is not there.
    towards = others.coordinates(truth)
    towards /= np.maximum(np.sqrt(np.sum(towards**2, axis=1, keepdims=True)), 1e-150)
    z -= towards * np.sum(towards * z, axis=1, keepdims=True)
    moved = np.sqrt(noise.sig2) * (rows @ z.T) + np.sqrt(noise.tau2) * rng.standard_normal(truth.shape)
    s0 = truth + moved * np.sqrt(np.where(np.isfinite(scale), scale, 0.0))
    s0[:, np.isinf(scale)] = 0.0  # nothing observed
    return SimilaritiesHoldout(
        others,
        truth,
        others.coordinates(s0),
        {k: local_prior(rows, s0, k) for k in ks},
        padded(lam, len(others.w)),
        noise_of(noise, scale, others.w),
    )


def choose_wiener(
    S: Matrix, lam: Matrix, noise: Noise, scales: Matrix, effort: str, rng: np.random.Generator
) -> Choice:
    """Return the setting with the smallest squared error on simulated queries."""
    n = len(S)
    if n < 2:  # nothing can be held out: what was seen is kept, and no error is smaller than the largest
        return Choice(WienerSetting(1.0, 0.0, 1.0), 1.0, np.ones_like(QUANTILES))
    grid, wanted = GRIDS[effort], SIMULATED[effort]
    count = min(wanted, max(n // FOLDS_OF_CANDIDATES, 1))
    rounds = min(ROUNDS, -(-wanted // count))
    ks = {setting.k for setting in grid}
    holdouts = [hold_out_candidates(S, lam, noise, scales, ks, count, rng) for _ in range(rounds)]
    totals = np.sum([holdout.total(grid) for holdout in holdouts], axis=0)
    best = int(np.argmin(totals))
    errors = [holdout.errors(grid[best]) for holdout in holdouts]
    ratios = np.concatenate([np.abs(error / gap).ravel() for error, gap in errors])
    return Choice(grid[best], float(totals[best]) / len(ratios), widened(np.quantile(ratios, QUANTILES), n / 3))
