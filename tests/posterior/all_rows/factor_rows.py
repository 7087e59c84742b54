"""Rows that a few factors explain, for the tests beside it."""

import numpy as np

NAN = np.nan


def drawn(n=80, d=12, seed=0):
    rng = np.random.default_rng(seed)
    X = 1.0 + rng.standard_normal((n, 3)) @ rng.standard_normal((3, d)) + 0.3 * rng.standard_normal((n, d))
    return X, np.where(rng.random((n, d)) < 0.35, NAN, X)
