"""Explicit starting arrays: checked once, for every method that takes them."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.xp import is_array, to_numpy
from simcomplete.errors import InputError


def given_array(value: Any, name: str, shape: tuple[int | str, ...]) -> NDArray[np.float64]:
    """Return finite numbers of a shape, where a word stands for any length of at least 1.

    Examples
    --------
    >>> given_array([[1, 2]], "start", ("rank", 2))
    array([[1., 2.]])
    >>> given_array([[1, 2]], "start", ("rank", 3))
    Traceback (most recent call last):
    simcomplete.errors.InputError: start has shape (1, 2); finite numbers of shape (rank, 3) are needed
    """
    try:
        array = np.asarray(to_numpy(value) if is_array(value) else value, dtype=np.float64)
    except (TypeError, ValueError):
        array = np.array(np.nan)
    fits = array.ndim == len(shape) and all(
        have >= 1 if isinstance(want, str) else have == want for have, want in zip(array.shape, shape, strict=True)
    )
    if not fits or not np.isfinite(array).all():
        what = f"has shape {array.shape}" if array.ndim else f"is {value!r}"
        raise InputError(f"{name} {what}; finite numbers of shape ({', '.join(map(str, shape))}) are needed")
    return array
