"""The kinds of NumPy arrays that signatures name."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

Matrix: TypeAlias = NDArray[np.float64]
Vector: TypeAlias = NDArray[np.float64]
Mask: TypeAlias = NDArray[np.bool_]  # True where a value was observed
Positions: TypeAlias = NDArray[np.int64]  # of rows or features
