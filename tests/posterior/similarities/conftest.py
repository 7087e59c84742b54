"""Similarities for the tests of the filter."""

import numpy as np
import pytest
from plain_filter import unit

import simcomplete as sc


@pytest.fixture(scope="module")
def cloud():
    """Unit rows of 8 features in a few clusters: 240 candidates, 40 queries, and their similarities."""
    rng = np.random.default_rng(3)
    centres = 2 * rng.standard_normal((6, 8))
    X = unit(centres[rng.integers(6, size=280)] + rng.standard_normal((280, 8)))
    return X, X @ X.T, 240


@pytest.fixture(scope="module")
def masked(digits, hide):
    """300 digits as candidates, 80 as queries with .7 missing: truth, overlap similarities, observed features."""
    X = np.concatenate([digits[:300], hide(digits[300:380], 0.7)])
    T = unit(digits[:380])
    return T @ T.T, sc.overlap_similarity(X, progress=False), (~np.isnan(X[300:])).sum(axis=1)
