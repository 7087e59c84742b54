"""Rows that are difficult for float32, to search among."""

import numpy as np
from hypothesis import HealthCheck


def some_rows(kind, rng, n, d):
    """Rows of a kind that is difficult for float32."""
    X = rng.normal(size=(n, d))
    if kind == "duplicates":
        X = X[rng.integers(0, max(1, n // 7), n)]
    elif kind == "nearly":  # equal in float32, different in float64
        X = X[:1] + 1e-9 * X
    elif kind == "sparse":
        X = X * (rng.random((n, d)) < 0.05)
    elif kind == "integers":
        X = rng.integers(-1, 2, (n, d)).astype(float)
    elif kind == "tiny":
        X = X * 10.0 ** rng.integers(-300, 1, (n, d))
    elif kind == "one large":
        X[:, 0] *= 1e30
    elif kind == "positive":
        X = np.abs(X) + 3
    elif kind == "huge":
        X = X * 10.0 ** rng.integers(-200, 200, (n, 1))
    return X


KINDS = ("plain", "duplicates", "nearly", "sparse", "integers", "tiny", "one large", "positive", "huge")
EVERY = {"suppress_health_check": [HealthCheck.function_scoped_fixture], "deadline": None}
