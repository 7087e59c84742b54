"""The probability that a candidate is truly among the first k, from joint draws of errors and simulated queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import IntervalModel, RankedErrors
from simcomplete._result.matrix import take
from simcomplete._result.pairs import joint_levels, sampled
from simcomplete._result.recalibration import of_place, regress, simulated_pairs
from simcomplete._rows.xp import to_numpy

if TYPE_CHECKING:
    from simcomplete._result.completion import Completion

LEVELS_HELD = 2**24
BEST_AT_LEAST, BEST_PER_K = 200, 20  # number of candidates that may be among the first k


class TopDraws:
    """Joint draws of errors for the best candidates of a query, which count how often each is among the first k."""

    def __init__(self, done: Completion, model: IntervalModel, k: int, most: int) -> None:
        assert model.ranked is not None  # remembered from earlier calls
        self.errors, self.k, self.most = model.ranked, k, most
        n, count = done.n_candidates, len(model.ranked.residuals)
        self.table = model.table((np.arange(count) + 0.5) / count, n)
        self.kinds = np.searchsorted(RankedErrors.edges(n), np.arange(most), side="right")  # by place
        self.rank: NDArray[np.float64] = np.arange(1, most + 1, dtype=np.float64)
        self.matrix, self.n = done.matrix, n
        # Levels are the same for every query; those of all candidates are kept if they take little memory.
        every = np.arange(n) if n * count <= LEVELS_HELD else None
        self.levels = None if every is None else joint_levels(done.matrix, model.ranked, every).astype(np.float32)

    def features(self, S: NDArray[Any], ids: NDArray[np.int64], spread: float, own: int | None) -> NDArray[np.float64]:
        """Return the regression's columns for one query's best candidates, best first."""
        levels = joint_levels(self.matrix, self.errors, ids) if self.levels is None else self.levels[ids]
        if own is not None and levels.shape[1] > 1:  # a simulated query must not use its own error
            levels = np.delete(levels, own, axis=1)
        count = len(self.errors.residuals)
        draws = S[:, None] + spread * self.table[self.kinds[: len(S), None], (levels * count).astype(np.int64)]
        k = min(self.k, len(S))
        first = np.argpartition(-draws, k - 1, axis=0)[:k]
        share = np.bincount(first.ravel(), minlength=len(S)) / draws.shape[1]
        return of_place(share, self.rank[: len(S)], (S - S[k - 1]) / spread)

    def regression(self) -> NDArray[np.float64]:
        """Fit to the simulated queries how often such candidates are among the first k."""
        unit = to_numpy(take(self.matrix.factor, sampled(self.n)))
        # If there are too many candidates, a sample is used, and ranks are those within the sample.
        estimate, truth = simulated_pairs(self.errors, unit)
        X, y = [], []
        for row, (S, T) in enumerate(zip(estimate, truth, strict=True)):
            order = np.argsort(-S, kind="stable")[: min(self.most, int(np.isfinite(S).sum()))]
            if len(order) < self.k:
                continue
            X.append(self.features(S[order], sampled(self.n)[order], self.errors.spread[row], row))
            kth = np.partition(-np.nan_to_num(T, nan=-2.0), self.k - 1)[self.k - 1]
            y.append(-T[order] <= kth)
        if not X:
            return np.array([1.0, 0, 0, 0, 0, 0])
        return regress(np.concatenate(X), np.concatenate(y).astype(np.float64))
