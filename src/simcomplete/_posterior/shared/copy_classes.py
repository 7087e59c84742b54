"""Classes of copies: what is played to learn them, and how likely a row belongs to each.

A row is fresh, or a copy of another: exact, near (noise up to a tenth of a feature's standard deviation) or rough (up
to a half).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.optimize
from numpy.typing import NDArray

from simcomplete._types import Matrix

# Class (0 fresh, 1 exact, 2 near, 3 rough), noise in standard deviations (log-uniform), weight. Fresh rows have noise,
# too: else whatever is noisy, or no whole number, would be a copy.
KINDS: tuple[tuple[int, tuple[float, float] | None, float], ...] = (
    (0, None, 0.5),
    (0, (0.02, 0.5), 0.5),
    (1, None, 1.0),
    (2, (0.02, 0.1), 1.0),
    (3, (0.1, 0.5), 1.0),
)
RATES = np.array([0.02, 0.015, 0.003])  # of exact, near and rough copies, where nothing is known
MOST_EXACT = 0.5
RIDGE, STEPS = 0.3, 60  # of the regression
NATS = 1.0  # of evidence that one observed value can bring


@dataclass(frozen=True)
class CopyModel:
    """Scores of the classes fresh, exact, near, rough: linear in features and their products, and the classes' rates.

    Attributes
    ----------
    weights : array of shape (columns, 4)
        Of the regression.
    low, high, mean, sd : array of shape (7,)
        Range, mean and standard deviation of the features seen.
    rates : array of shape (3,)
        How common exact, near and rough copies are.
    """

    weights: Matrix
    low: Matrix
    high: Matrix
    mean: Matrix
    sd: Matrix
    rates: Matrix

    def probabilities(self, x: Matrix, observed: Matrix, prior: float | None, odds: float = 1.0) -> Matrix:
        """P(exact), P(near), P(rough) of rows, from their features and numbers of observed values."""
        z = (np.clip(x, self.low, self.high) - self.mean) / self.sd
        score = _with_products(z) @ self.weights
        evidence = np.minimum(score[:, 1:] - score[:, :1], NATS * observed[:, None])
        rates = self.rates if prior is None else self.rates * (prior / self.rates.sum())
        total = rates.sum()
        weight = odds * rates / max(1 - total, 1e-9) * np.exp(evidence)
        return np.asarray(weight / (1 + weight.sum(axis=1, keepdims=True)))


def _with_products(z: Matrix) -> Matrix:
    first, second = np.triu_indices(z.shape[1])
    return np.column_stack([np.ones(len(z)), z, z[:, first] * z[:, second]])


def learn_classes(x: Matrix, label: NDArray[np.int64], weight: Matrix, rates: Matrix) -> CopyModel:
    """Regress classes (0 fresh, then the copies) on features and their products."""
    low, high, mean = x.min(axis=0), x.max(axis=0), x.mean(axis=0)
    sd = np.where(x.std(axis=0) < 1e-9, 1.0, x.std(axis=0))
    A = _with_products((x - mean) / sd)
    Y = np.eye(4)[label]
    penalty = np.full((A.shape[1], 1), RIDGE)
    penalty[0] = 0.0

    def cost(flat: Matrix) -> tuple[float, Matrix]:
        W = flat.reshape(A.shape[1], 4)
        G = A @ W
        G = G - G.max(axis=1, keepdims=True)
        total = np.log(np.sum(np.exp(G), axis=1))
        loss = np.sum(weight * (total - np.sum(Y * G, axis=1))) + 0.5 * np.sum(penalty * W * W)
        slope = A.T @ (weight[:, None] * (np.exp(G - total[:, None]) - Y)) + penalty * W
        return float(loss), slope.ravel()

    start = np.zeros(A.shape[1] * 4)
    found = scipy.optimize.minimize(cost, start, jac=True, method="L-BFGS-B", options={"maxiter": STEPS})
    return CopyModel(found.x.reshape(A.shape[1], 4), low, high, mean, sd, rates)


def nothing_learnt() -> CopyModel:
    """Where every candidate is a copy of another: no evidence for anything but the rates."""
    zeros = np.zeros(7)
    return CopyModel(np.zeros((36, 4)), zeros, zeros, zeros, zeros + 1, RATES)


def snapped(x: Matrix, values: Matrix) -> Matrix:
    """The nearest of some rising values."""
    if len(values) == 1:
        return np.full_like(x, values[0])
    right = np.clip(np.searchsorted(values, x), 1, len(values) - 1)
    return np.asarray(np.where(x - values[right - 1] < values[right] - x, values[right - 1], values[right]))
