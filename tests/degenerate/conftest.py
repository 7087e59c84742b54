"""Data that a numerical method easily trips over, by name: candidates and queries with NaN where a value is missing."""

import numpy as np
import pytest


def masked(P, seed=0):
    """Four of the candidates as queries with half of the values missing, one of them with nothing left."""
    rng = np.random.default_rng(seed)
    Q = np.array(P[rng.integers(len(P), size=4)], dtype=float)
    Q[rng.random(Q.shape) < 0.5] = np.nan
    Q[0] = np.nan
    return Q


def made():
    rng = np.random.default_rng(1)
    few, one_value = rng.random((7, 12)), np.full((3, 12), np.nan)
    one_value[0, 4] = 1.0
    three_zeros, zero_columns, huge_cell, half_zero = np.ones((45, 12)), rng.random((60, 4)), rng.random((60, 12)), None
    three_zeros[[0, 1, 2], [1, 3, 4]] = 0.0
    zero_columns[:, 1:3] = 0.0
    huge_cell[3, 4] = 1e300
    half_zero = rng.random((60, 12))
    half_zero[::2] = 0.0
    huge_query = masked(huge_cell[10:])
    huge_query[1] = np.nan
    huge_query[1, 3] = 1e300
    candidates = {
        "constant": np.ones((100, 12)),
        "constant + 1e-6, 52 rows": 1 + 1e-6 * rng.standard_normal((52, 12)),
        "constant + 1e-6, 95 rows": 1 + 1e-6 * rng.standard_normal((95, 12)),
        "all zero": np.zeros((60, 12)),
        "half of the rows zero": half_zero,
        "features of zeros": zero_columns,
        "one-hot": np.eye(12)[rng.integers(12, size=60)],
        "rank 1": np.outer(rng.standard_normal(60), rng.standard_normal(12)),
        "7 distinct rows": few[rng.integers(7, size=60)],
        "one feature": rng.standard_normal((60, 1)),
        "almost all zero": (rng.random((60, 12)) < 0.02) * 1.0,
        "sparse binary": (rng.random((60, 12)) < 0.1) * 1.0,
        "one cell of 1e300": huge_cell,
        "1e160": rng.random((60, 12)) * 1e160,
        "1e-165": rng.random((60, 12)) * 1e-165,
        "the smallest number": np.full((60, 12), 5e-324),
        "every scale": rng.random((60, 12)) * 2.0 ** rng.integers(-900, 900, (60, 1)),
    }
    return {
        **{name: (P, masked(P)) for name, P in candidates.items()},
        "constant but for three zeros": (three_zeros, one_value),
        "a query of 1e300": (huge_cell[10:], huge_query),
        "one candidate, a query of 1e300": (rng.random((1, 12)), huge_query),
        "queries 1e311 times as large": (np.full((3, 2), 1e-311), np.array([[1.0, np.nan]])),
        "nothing missing": (half_zero, half_zero[1:4]),
    }


FAMILIES = made()


@pytest.fixture(params=FAMILIES.values(), ids=FAMILIES.keys())
def family(request):
    """Candidates and queries of every family in turn."""
    P, Q = request.param
    return P.copy(), Q.copy()


@pytest.fixture(scope="session")
def families():
    """All families by name."""
    return FAMILIES
