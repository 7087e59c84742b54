"""Element-wise steps on blocks of rows, written to where something is already.

Beside the products of a pass these steps are limited by memory. So NumPy works on a few rows at a time, which stay in
the cache, and torch casts and scales in one kernel: an operation with `out=` on two types converts values while it
reads them, on a GPU without an array in between.
"""

from __future__ import annotations

import sys

import array_api_compat
import numpy as np

from simcomplete._rows.xp import Array

FEW_ROWS = 64  # that NumPy works on at a time


def divide_rows(out: Array, X: Array, lengths: Array) -> None:
    """Write X / lengths to `out`, of another type perhaps; NumPy reads `out` itself, which must hold X then.

    Examples
    --------
    >>> out = np.array([[3.0, 4.0], [6.0, 8.0]])
    >>> divide_rows(out, out.astype(np.float32), np.array([[5.0], [10.0]]))
    >>> out
    array([[0.6, 0.8],
           [0.6, 0.8]])
    """
    if array_api_compat.is_torch_array(out):
        sys.modules["torch"].div(X, lengths, out=out)
    else:
        out /= lengths  # a view: through the array that it is of, it would be copied onto itself


def divide_and_subtract_outer(H: Array, X: Array, lengths: Array, a: Array, b: Array) -> None:
    """Divide the first columns of H, which hold X, by `lengths`, and take a b^T off all of H, in its place.

    Examples
    --------
    >>> H = np.array([[3.0, 4.0, 1.0]])
    >>> divide_and_subtract_outer(H, H[:, :2].copy(), np.array([[5.0]]), np.array([2.0]), np.array([0.1, 0.2, 0.3]))
    >>> H
    array([[0.4, 0.4, 0.4]])
    """
    d = int(X.shape[1])
    if isinstance(H, np.ndarray):
        for start in range(0, len(H), FEW_ROWS):
            rows = slice(start, start + FEW_ROWS)
            H[rows, :d] /= lengths[rows]
            H[rows] -= a[rows, None] * b
        return
    divide_rows(H[:, :d], X, lengths)
    subtract_outer(H, a, b)


def subtract_outer(H: Array, a: Array, b: Array) -> None:
    """Take a b^T off H, in its place."""
    if isinstance(H, np.ndarray):
        # Not by SciPy's BLAS: its threads would wait in the way of NumPy's.
        for start in range(0, len(H), FEW_ROWS):
            rows = slice(start, start + FEW_ROWS)
            H[rows] -= a[rows, None] * b
    elif array_api_compat.is_torch_array(H):
        H.addr_(a, b, alpha=-1)
    else:
        H -= a[:, None] * b[None, :]
