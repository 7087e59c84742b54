"""A Gaussian model of candidates: statistics that can be up- and downdated, and its covariance.

Up to `WIDE` features the covariance is a matrix; beyond, a low-rank part plus a diagonal: nothing d x d is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg

from simcomplete._posterior.candidates.covariance import Covariance, Dense, LowRank
from simcomplete._posterior.shared.rows import Matrix
from simcomplete._rows.xp import Array, namespace, to_numpy
from simcomplete._similarity.gram import symmetric_product

WIDE = 2000  # features
RANK = 96
# What is left of sums that cancelled is rounding: no mean, and no variance. It would make a covariance that is none.
SUM_ROUNDING = 1e-14  # of a sum of squares, relative
VALUE_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a value, relative


@dataclass(frozen=True)
class Statistics:
    """Number of rows, their sum and the sum of their outer products about a centre: all that a Gaussian needs.

    Exact to update. The centre lies among the rows, so that a strong common direction does not drown what differs.
    """

    n: float
    centre: Array
    total: Array
    outer: Array
    squares: Array  # of all values that went in or out again: rounding is a part of them

    @classmethod
    def of(cls, X: Array, centre: Array) -> Statistics:
        """Statistics of rows, in one pass, in their library."""
        Y = X - centre
        xp, outer = namespace(Y), symmetric_product(Y)
        return cls(float(X.shape[0]), centre, xp.sum(Y, axis=0), outer, xp.linalg.diagonal(outer))

    def plus(self, other: Statistics) -> Statistics:
        """Statistics with more rows, about the same centre."""
        total, outer, squares = self.total + other.total, self.outer + other.outer, self.squares + other.squares
        return Statistics(self.n + other.n, self.centre, total, outer, squares)

    def minus(self, other: Statistics) -> Statistics:
        """Statistics with some rows taken out again."""
        total, outer, squares = self.total - other.total, self.outer - other.outer, self.squares + other.squares
        return Statistics(self.n - other.n, self.centre, total, outer, squares)

    def in_numpy(self) -> Statistics:
        """The same in NumPy."""
        return Statistics(self.n, *(to_numpy(x) for x in (self.centre, self.total, self.outer, self.squares)))

    @cached_property
    def mean(self) -> Matrix:
        """Mean row."""
        mean = np.asarray(self.centre + self.total / self.n)
        rounding = SUM_ROUNDING * (np.abs(self.centre) + np.sqrt(self.squares / self.n))
        return np.where(np.abs(mean) > rounding, mean, 0.0)

    @cached_property
    def covariance(self) -> Covariance:
        """Covariance, with divisor n."""
        off = self.total / self.n
        C = self.outer / self.n - np.outer(off, off)
        C = (C + C.T) / 2
        constant = np.diag(C) <= SUM_ROUNDING * self.squares / self.n + (VALUE_ROUNDING * self.mean) ** 2
        C[constant] = 0.0
        C[:, constant] = 0.0
        return Dense(C)


@dataclass(frozen=True)
class WideStatistics:
    """The same for many features: some rows themselves are kept, and the covariance is low-rank plus diagonal."""

    rows: Matrix

    @cached_property
    def mean(self) -> Matrix:
        """Mean row."""
        return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def covariance(self) -> Covariance:
        """Leading directions of the centred rows, and what variance they leave to each feature."""
        X = (self.rows - self.mean) / np.sqrt(len(self.rows))
        X[:, np.sum(X * X, axis=0) <= (VALUE_ROUNDING * self.mean) ** 2] = 0.0
        rank = min(RANK, len(X))
        # Fewer rows than features: eigenvectors of the small Gram matrix give those of the large one.
        t2, E = scipy.linalg.eigh(X @ X.T, subset_by_index=(len(X) - rank, len(X) - 1))
        kept = t2 > 1e-12 * max(float(t2[-1]), 1e-300)
        W = X.T @ E[:, kept]
        return LowRank(W, np.maximum(np.sum(X * X, axis=0) - np.sum(W * W, axis=1), 0.0))


@dataclass(frozen=True)
class Space:
    """What is known of all candidates together, as they are ("raw") or with unit length ("unit")."""

    name: str
    statistics: Statistics | WideStatistics
    lowest: Matrix
    highest: Matrix


def is_wide(d: int) -> bool:
    """Whether rows have too many features for a covariance matrix."""
    return d > WIDE
