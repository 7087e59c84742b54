"""The problems: real digits, and large image-like data made from a seed."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_digits

import simcomplete as sc

Pair = tuple[NDArray[np.float64], NDArray[np.float64]]
MISSING = 0.8


def digits(n_candidates: int, n_queries: int, seed: int) -> Pair:
    """Candidates and queries from scikit-learn's handwritten digits (64 features), 80 percent missing."""
    X = load_digits().data
    X = X[np.random.default_rng(seed).permutation(len(X))]
    return X[:n_candidates], hide(X[n_candidates : n_candidates + n_queries], seed)


def imagelike(n_candidates: int, n_queries: int, d: int, seed: int) -> Pair:
    """Non-negative rows with a strong common direction and slowly falling spectrum, as images have."""
    rng = np.random.default_rng(seed)
    n, inner = n_candidates + n_queries, min(64, d)
    loadings = rng.standard_normal((inner, d)) / np.arange(1, inner + 1)[:, None]
    X = np.empty((n, d))
    for start in range(0, n, 10_000):  # in pieces, so that making the data is not the peak of memory
        rows = slice(start, min(start + 10_000, n))
        size = rows.stop - rows.start
        X[rows] = rng.standard_normal((size, inner)) @ loadings
        X[rows] += 1.5 + 0.2 * rng.standard_normal((size, d))
    np.maximum(X, 0, out=X)
    return X[:n_candidates], hide(X[n_candidates:], seed)


def hide(X: NDArray[np.float64], seed: int) -> NDArray[np.float64]:
    return np.where(sc.masks.random(X, missing=MISSING, random_state=seed), X, np.nan)
