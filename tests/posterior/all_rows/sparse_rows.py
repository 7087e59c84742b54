"""Rows for the tests beside it, and how they are completed."""

import numpy as np

from simcomplete._posterior.all_rows.em import Factors


def sparse(X, low=0.3, high=0.7, seed=5):
    """Rows that lose a share of their own."""
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < rng.uniform(low, high, (len(X), 1)), np.nan, X)


def drawn(n, d, rank, noise, seed=0):
    """Rows of a factor model, with its mean, loadings and noise."""
    rng = np.random.default_rng(seed)
    W, mean = rng.standard_normal((d, rank)), rng.standard_normal(d)
    psi = noise * rng.uniform(0.5, 1.5, d)
    X = mean + rng.standard_normal((n, rank)) @ W.T + np.sqrt(psi) * rng.standard_normal((n, d))
    return X, Factors(mean, W, psi)
