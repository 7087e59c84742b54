"""Rows by name, slice or position."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._result.matrix import Selection
from simcomplete.errors import InputError


def select(rows: Any, name: str, n: int, n_candidates: int, together: bool) -> Selection:
    """Turn what users say about rows into a slice or positions.

    Examples
    --------
    >>> select("queries", "rows", 5, 3, False)
    slice(3, 5, None)
    >>> select(-1, "rows", 5, 3, False)
    array([4])
    """
    if rows is None:
        return slice(0, n)
    if isinstance(rows, str):
        if rows == "candidates":
            return slice(0, n_candidates)
        if rows == "queries":
            return slice(0 if together else n_candidates, n)
        raise InputError(f"{name}={rows!r} is unknown; use 'candidates', 'queries', a slice or positions")
    try:
        picked = np.atleast_1d(np.arange(n)[rows])
    except IndexError as error:
        raise InputError(f"{name}={rows!r} does not fit the {n} rows: {error}") from error
    if picked.ndim != 1:
        raise InputError(f"{name} has {picked.ndim} dimensions; give a flat list of positions")
    return picked.astype(np.int64)
