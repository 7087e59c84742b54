"""Joint draws of missing values: deviations that are correlated as the values of a row are.

A Gaussian of complete rows is learnt by filling in rows with draws from the last one, some times over (stochastic EM:
draws have the spread that expected values lack). A draw of a whole row, moved so that it agrees with what is observed
of it, is a draw given what is observed (Matheron's rule): nothing of the size of a row's covariance is factorised but
what conditioning takes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.linalg

from simcomplete._posterior.candidates.covariance import (
    Conditioner,
    Covariance,
    Dense,
    LowRank,
    conditional_variances,
)
from simcomplete._posterior.candidates.moments import Statistics, WideStatistics, is_wide
from simcomplete._posterior.shared.rows import RowValues, nonzero_or_one
from simcomplete._types import Mask, Matrix, Vector

ROUNDS = 8
LEAST_SHRINKAGE = 0.01


@dataclass(frozen=True)
class JointDraws:
    """A Gaussian of rows in standard units, to draw the missing part of rows from.

    Examples
    --------
    >>> C = Dense(np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.9], [0.0, 0.9, 1.0]]))
    >>> draws = JointDraws(np.zeros(3), C)
    >>> found = draws.deviations(np.array([[True, False, False]] * 5000), np.random.default_rng(0))
    >>> (found.T @ found / 5000).round(1)
    array([[0. , 0. , 0. ],
           [0. , 1. , 0.9],
           [0. , 0.9, 1. ]])
    """

    mean: Vector
    covariance: Covariance

    @classmethod
    def learn(cls, Z: Matrix, found: RowValues, rng: np.random.Generator) -> JointDraws:
        """Learn from rows, NaN where missing, starting from their values and deviations."""
        observed = ~np.isnan(Z)
        filled = found.mean + found.std * rng.standard_normal(Z.shape)
        for _ in range(ROUNDS if not observed.all() else 0):
            filled = cls.of(filled)._filled(Z, observed, rng)
        return cls.of(filled)

    @classmethod
    def of(cls, filled: Matrix) -> JointDraws:
        """A Gaussian of complete rows, its covariance shrunk as Ledoit and Wolf say."""
        from sklearn.covariance import ledoit_wolf_shrinkage  # slow to import, and needed here only

        delta = max(float(ledoit_wolf_shrinkage(filled)), LEAST_SHRINKAGE) if len(filled) > 1 else 1.0
        known: Statistics | WideStatistics
        known = WideStatistics(filled) if is_wide(filled.shape[1]) else Statistics.of(filled, filled.mean(axis=0))
        return cls(known.mean, known.covariance.shrunk(delta))

    def deviations(self, observed: Mask, rng: np.random.Generator) -> Matrix:
        """Draws with mean 0 and variance 1, correlated as missing values are given the observed ones; 0 for these."""
        drawn = self._given(observed, self._rows(len(observed), rng))
        size = np.sqrt(conditional_variances(self.covariance, observed))
        return np.asarray(drawn / nonzero_or_one(size))

    def _filled(self, Z: Matrix, observed: Mask, rng: np.random.Generator) -> Matrix:
        gap = np.where(observed, Z - self.mean, 0.0)
        (weights,) = Conditioner(self.covariance, observed).weigh(gap[None])
        expected = self.mean + self.covariance.times(weights)
        return np.where(observed, Z, expected + self._given(observed, self._rows(len(Z), rng)))

    def _given(self, observed: Mask, drawn: Matrix) -> Matrix:
        """What draws of whole rows leave when what their observed part tells of the rest is taken out."""
        (weights,) = Conditioner(self.covariance, observed).weigh(np.where(observed, drawn, 0.0)[None])
        return np.where(observed, 0.0, drawn - self.covariance.times(weights))

    def _rows(self, n: int, rng: np.random.Generator) -> Matrix:
        """Draws of whole rows about 0."""
        C = self.covariance
        if isinstance(C, LowRank):
            return rng.standard_normal((n, C.W.shape[1])) @ C.W.T + rng.standard_normal((n, len(C.psi))) * np.sqrt(
                C.psi
            )
        assert isinstance(C, Dense)  # there are two kinds
        return rng.standard_normal((n, len(C.C))) @ square_root(C.C)


def square_root(C: Matrix) -> Matrix:
    """A matrix R with R^T R = C; eigenvalues that rounding has made negative count as 0.

    Examples
    --------
    >>> R = square_root(np.array([[2.0, 1.0], [1.0, 2.0]]))
    >>> (R.T @ R).round(6)
    array([[2., 1.],
           [1., 2.]])
    """
    values, vectors = scipy.linalg.eigh(C)
    return np.asarray(np.sqrt(np.maximum(values, 0.0))[:, None] * vectors.T)
