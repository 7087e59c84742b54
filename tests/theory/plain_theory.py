"""Matrices, and the paper's formulas written out once more."""

from __future__ import annotations

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

numbers = st.floats(-3, 3, allow_nan=False, width=32).map(lambda x: round(x, 3))
relaxed = settings(deadline=None)  # a busy machine is no failure
weights = st.sampled_from([0.0, 0.001, 0.3, 1.0, 4.0])


@st.composite
def problems(draw, factors=1):
    """A symmetric S0 of any signature, and factors that fit it."""
    n, r = draw(st.integers(1, 6)), draw(st.integers(1, 4))
    A = draw(arrays(float, (n, n), elements=numbers))
    return A + A.T, *(draw(arrays(float, (n, r), elements=numbers)) for _ in range(factors))


def objective(S0, V, weight):
    return np.sum((V @ V.T - S0) ** 2) + weight * np.sum(V**2)


def gradient(S0, V, weight):
    return 4 * (V @ V.T - S0) @ V + 2 * weight * V
