"""What is learnt from simulated queries: how long a query's vector should be, and how wrong similarities are.

The direction of u decides the ranking, its length the error: 1 when all is known, shorter the more stays unknown. The
length is learnt by a ridge regression on a few features. Rows whose similarities are known lose values and are to be
found again; they, and copies of them, are taken out of what the models see, or they would find themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._result.intervals import TIED, RankedErrors
from simcomplete._types import Matrix

SHORTEST, LONGEST = 0.03, 0.9999
RIDGE = 0.05
# A feature that hardly differs between simulated queries says nothing of them, but it may be another for real ones: it
# also depends on all candidates, of which the simulated queries are left out.
LEAST_SD = 0.1
SMALLEST_SIZE = 1e-24  # of |m|^2; rows are in units of a typical length
COPY = 1 - 1e-6  # cosine above which two rows are the same
QUANTILES = np.linspace(0.0, 1.0, 1001)
ENOUGH_QUERIES = 50  # simulated queries from which their errors are taken as they are
# Where there are fewer: measured such that intervals at 0.9 cover that of problems with 15 to 100 candidates.
WIDER = 3.6
LEVELS = np.linspace(0.0, 1.0, 201)  # of the quantiles by rank
FIRST_PAIRS = 150  # that the bucket of the first ranks holds at least
BUCKET_GROWTH = 2.5  # how much further each bucket of ranks reaches than the one before
LAST_BUCKET = 0.2  # share of the candidates that the last bucket has at least
LEAST_GAP = 1e-4  # of 1 - length^2 in an error's scale
SAME_ERROR = 1e-9  # mean squared errors that differ by less than this part are the same
NO_ERROR = 1e-24  # and so are those below this


@dataclass(frozen=True)
class Lengths:
    """log V = g0 + g . (f - mean)/sd, clipped to the range seen; length = min(1, scale / sqrt(1 + V/|m|^2))."""

    intercept: float
    slopes: Matrix
    mean: Matrix
    sd: Matrix
    low: float
    high: float
    scale: float = 1.0

    def of(self, features: Matrix, size: Matrix) -> Matrix:
        """Length of every row, from its features and the squared size of its completion."""
        y = self.intercept + ((features - self.mean) / self.sd) @ self.slopes
        with np.errstate(over="ignore"):  # infinitely uncertain: length 0
            V = np.exp(np.clip(y, self.low, self.high))
            return np.minimum(1.0, self.scale / np.sqrt(1.0 + V / np.maximum(size, 1e-300)))


def best_lengths(S: Matrix, T: Matrix) -> Matrix:
    """The length b that makes b S nearest to T, row by row, kept inside (0, 1)."""
    energy = np.sum(S * S, axis=1)
    b = np.sum(S * T, axis=1) / np.where(energy > 0, energy, 1.0)
    return np.clip(np.where(energy > 0, b, SHORTEST), SHORTEST, LONGEST)


def learn(features: Matrix, size: Matrix, S: Matrix, T: Matrix) -> tuple[Lengths, float]:
    """Fit lengths to simulated queries; return them and the mean squared error they leave.

    Parameters
    ----------
    features : array of shape (rows, 4)
        What tells how uncertain a row is.
    size : array of shape (rows,)
        |m|^2 of each completion.
    S, T : array of shape (rows, others)
        Similarities of the unit completion to other rows, and the true ones.
    """
    b = best_lengths(S, T)
    y = np.log(1.0 / b**2 - 1.0) + np.log(np.maximum(size, SMALLEST_SIZE))
    weight = np.maximum(b**2 * (1 - b**2), 1e-3)
    mean, sd = features.mean(axis=0), features.std(axis=0)
    sd = np.maximum(sd, LEAST_SD)
    Z = np.column_stack([np.ones(len(features)), (features - mean) / sd])
    ridge = RIDGE * weight.sum() * np.diag([0.0, *np.ones(features.shape[1])])
    g = np.linalg.solve(Z.T @ (Z * weight[:, None]) + ridge, Z.T @ (weight * y))
    plain = Lengths(float(g[0]), g[1:], mean, sd, float(y.min()), float(y.max()))
    beta = plain.of(features, size)
    scaled = beta[:, None] * S
    energy = float(np.sum(scaled * scaled))
    scale = float(np.sum(scaled * T)) / energy if energy > 0 else 1.0
    scale = max(min(scale, 1.0 / float(beta.max())), 0.0)
    fitted = Lengths(plain.intercept, plain.slopes, mean, sd, plain.low, plain.high, scale)
    final = fitted.of(features, size)
    return fitted, float(np.mean((T - final[:, None] * S) ** 2))


def first_best(errors: Sequence[float]) -> int:
    """Where the smallest mean squared error is; of those that differ by rounding only, the first.

    Examples
    --------
    >>> first_best([2.0, 1.0 + 1e-15, 1.0, float("nan")])
    1
    """
    values = np.where(np.isnan(errors), np.inf, errors)
    return int(np.argmax(values <= values.min() * (1 + SAME_ERROR) + NO_ERROR))


def error_quantiles(truth: Matrix, estimate: Matrix, length: Matrix) -> Matrix:
    """Quantiles of |error| / sqrt(1 - length^2) over simulated pairs, for intervals."""
    scale = np.sqrt(np.maximum(1 - length**2, LEAST_GAP))[:, None]
    return widened(np.quantile(np.abs(truth - estimate) / scale, QUANTILES), len(truth))


def widened(quantiles: Matrix, rows: float) -> Matrix:
    """Quantiles of errors as they are for other rows than those, few, that settings were chosen on.

    The errors of one row go together, so it is rows that are few, not pairs. Errors of what was fitted to them are too
    small, and the largest are not among them yet: quantiles grow, the more the further out they are. From
    `ENOUGH_QUERIES` simulated queries (200 candidates) on nothing is changed.

    Examples
    --------
    >>> widened(QUANTILES, 10)[[500, 900]].round(3), widened(QUANTILES, 50)[[500, 900]]
    (array([0.657, 1.41 ]), array([0.5, 0.9]))
    """
    shortage = max(1 / np.sqrt(rows) - 1 / np.sqrt(ENOUGH_QUERIES), 0.0)
    return np.asarray(quantiles * (1 + WIDER * shortage * QUANTILES))


def _mean_ranks(falling: Matrix, w: Matrix) -> Matrix:
    """Ranks of sorted items that stand for w candidates each; equal ones share the mean of theirs."""
    group = np.concatenate([[0], np.cumsum(falling[1:] != falling[:-1])])
    size = np.bincount(group, weights=w)
    return np.asarray((np.cumsum(size) - size / 2)[group])


class DeferredErrors(RankedErrors):
    """The same with a table that is made when it is first asked for: many results are never asked for intervals."""

    def __init__(self, make: Callable[[], tuple[Matrix, Matrix]], residuals: Matrix, simulated: Matrix) -> None:
        for name, value in (("_make", make), ("residuals", residuals), ("simulated", simulated)):
            object.__setattr__(self, name, value)

    def __getattr__(self, name: str) -> Any:
        if name not in ("shares", "table"):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        shares, table = self.__dict__["_make"]()
        for key, value in (("shares", shares), ("table", table), ("_make", None)):
            object.__setattr__(self, key, value)
        return self.__dict__[name]

    def __reduce__(self) -> Any:
        return RankedErrors, (self.shares, self.table, self.residuals, self.simulated)


def rank_table(S: Matrix, T: Matrix, spread: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Quantiles of the signed error (T - S) / spread, by the rank that an estimate has among those of its row.

    What is looked at first was chosen for its large estimates, so its errors are not those of all: they are learnt for
    ranks up to 1, 2.5, 6.25 and so on, each by itself.

    Parameters
    ----------
    S, T : array of shape (rows, items)
        Estimates and true similarities of simulated pairs.
    spread : array of shape (rows,)
        sqrt(1 - length^2) of each row.
    weights : array of shape (rows, items)
        How many candidates each item stands for.

    Returns
    -------
    shares, table : array of shape (buckets,) and (buckets, 201)
        Typical rank of each bucket as a share of all candidates, rising, and its quantiles at `LEVELS`.
    """
    near = S.round(TIED)
    order = np.argsort(-near, axis=1)  # equal ones share a rank
    w = np.take_along_axis(weights, order, axis=1)
    z = np.take_along_axis((T - S) / spread[:, None], order, axis=1)
    rank = np.stack([_mean_ranks(*each) for each in zip(np.take_along_axis(near, order, axis=1), w, strict=True)])
    n = float(w.sum(axis=1).mean())
    inside = w > 0
    rank, z, w = rank[inside], z[inside], w[inside]
    edges = [BUCKET_GROWTH**i for i in range(64) if BUCKET_GROWTH**i < (1 - LAST_BUCKET) * n]
    sizes = np.bincount(np.searchsorted(edges, rank), minlength=len(edges) + 1)
    edges = edges[int(np.searchsorted(np.cumsum(sizes[:-1]), FIRST_PAIRS)) :]  # the first are merged
    bucket = np.searchsorted(edges, rank)
    shares, table = [], []
    for b in range(len(edges) + 1):
        mine = np.flatnonzero(bucket == b)
        if len(mine):
            mine = mine[np.argsort(z[mine])]
            total = np.cumsum(w[mine])
            shares.append(float(np.exp(np.average(np.log(rank[mine] / n), weights=w[mine]))))
            table.append(np.interp(LEVELS, (total - w[mine] / 2) / total[-1], z[mine]))
    shortage = max(1 / np.sqrt(len(S)) - 1 / np.sqrt(ENOUGH_QUERIES), 0.0)
    middle = np.asarray(table)[:, len(LEVELS) // 2, None]
    return np.array(shares), middle + (np.asarray(table) - middle) * (1 + WIDER * shortage * np.abs(2 * LEVELS - 1))
