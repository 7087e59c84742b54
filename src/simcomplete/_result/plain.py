"""Convert values to plain ones for JSON."""

from __future__ import annotations

from typing import Any

import numpy as np


def plain(value: Any) -> Any:
    """Turn NumPy numbers and arrays, tuples and non-finite numbers into what JSON can hold.

    Examples
    --------
    >>> plain({"a": (np.float64(0.5), np.inf), 1: np.array([True])})
    {'a': [0.5, None], '1': [True]}
    """
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, np.ndarray):
        return plain(value.tolist())
    if isinstance(value, (bool, str)) or value is None:
        return value
    if isinstance(value, (int, np.integer)):
        return int(value)
    if isinstance(value, (float, np.floating)):
        return float(value) if np.isfinite(value) else None
    return str(value)
