"""How long a query's vector should be: 1 when all is known, shorter the more stays unknown.

The direction of u decides the ranking, its length the error. The length is learnt from simulated queries, whose true
similarities are known, by a ridge regression on a few features.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._posterior.shared.rows import Matrix

SHORTEST, LONGEST = 0.03, 0.9999
RIDGE = 0.05
SMALLEST_SIZE = 1e-24  # of |m|^2; rows are in units of a typical length


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
    sd = np.where(sd < 1e-6, 1.0, sd)
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
