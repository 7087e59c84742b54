"""Data for the tests of masks."""

from __future__ import annotations

import numpy as np

X = np.random.default_rng(5).normal(size=(40, 64))
