"""A Gaussian model of candidates: statistics that can be up- and downdated, and its covariance.

Up to `WIDE` features the covariance is a matrix; beyond, a low-rank part plus a diagonal: nothing d x d is held.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Covariance, Dense, LowRank

Matrix = NDArray[np.float64]
WIDE = 2000
RANK = 96


@dataclass(frozen=True)
class Statistics:
    """Number of rows, their sum and the sum of their outer products: all that a Gaussian needs, exact to update."""

    n: float
    total: Matrix
    outer: Matrix

    @classmethod
    def of(cls, X: Matrix) -> Statistics:
        """Statistics of rows, in one pass."""
        return cls(float(len(X)), X.sum(axis=0), X.T @ X)

    def with_rows(self, X: Matrix) -> Statistics:
        """Statistics with more rows."""
        return Statistics(self.n + len(X), self.total + X.sum(axis=0), self.outer + X.T @ X)

    def without(self, X: Matrix) -> Statistics:
        """Statistics with some rows taken out again."""
        return Statistics(self.n - len(X), self.total - X.sum(axis=0), self.outer - X.T @ X)

    @cached_property
    def mean(self) -> Matrix:
        """Mean row."""
        return self.total / self.n

    @cached_property
    def covariance(self) -> Covariance:
        """Covariance, with divisor n."""
        C = self.outer / self.n - np.outer(self.mean, self.mean)
        C = (C + C.T) / 2
        # Cancellation can leave a variance slightly below zero; a row taken out may leave nothing at all.
        diagonal = np.diag_indices(len(C))
        C[diagonal] = np.maximum(C[diagonal], 0.0)
        return Dense(C)


@dataclass(frozen=True)
class WideStatistics:
    """The same for many features: the rows themselves are kept, and the covariance is low-rank plus diagonal."""

    rows: Matrix

    @property
    def n(self) -> float:
        """How many rows."""
        return float(len(self.rows))

    @cached_property
    def mean(self) -> Matrix:
        """Mean row."""
        return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def covariance(self) -> Covariance:
        """Leading directions of the centred rows, and what variance they leave to each feature."""
        X = (self.rows - self.mean) / np.sqrt(len(self.rows))
        rank = min(RANK, len(X))
        # Fewer rows than features: eigenvectors of the small Gram matrix give those of the large one.
        t2, E = scipy.linalg.eigh(X @ X.T, subset_by_index=(len(X) - rank, len(X) - 1))
        kept = t2 > 1e-12 * max(float(t2[-1]), 1e-300)
        W = X.T @ E[:, kept]
        return LowRank(W, np.maximum(np.sum(X * X, axis=0) - np.sum(W * W, axis=1), 0.0))


def statistics(X: Matrix) -> Statistics | WideStatistics:
    """Statistics of rows in the form that suits their width."""
    return Statistics.of(X) if X.shape[1] <= WIDE else WideStatistics(X)
