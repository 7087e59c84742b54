"""Steps over every value of a block of rows, which are limited by memory: each reads and writes rows once.

NumPy does them in a few rows at a time, which stay in the cache. On a GPU they are single kernels, where these can be
used; elsewhere the array library does one step after the other.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import array_api_compat
import numpy as np

from simcomplete._rows import gpu_kernels
from simcomplete._rows.xp import Array, astype, empty, is_numpy, namespace

FEW_ROWS = 64  # that NumPy works on at a time: they are in the cache for every step


def cast_and_square(X: Array, out: Array) -> Array:
    """Write rows X into `out`, of another type perhaps, and return their squares in that type.

    Examples
    --------
    >>> Z = np.empty((1, 2))
    >>> cast_and_square(np.array([[2.0, 3.0]], dtype=np.float32), Z), Z
    (array([[4., 9.]]), array([[2., 3.]]))
    """
    squares = empty(out, (int(out.shape[0]), int(out.shape[1])))
    if not gpu_kernels.ran("square", _square, X, out, squares):
        _square(X, out, squares)
    return squares


def divide_and_reflect(H: Array, X: Array, lengths: Array, reflector: Array | None) -> None:
    """Write X / lengths into the first columns of H, and reflect all of H, if there is a reflector.

    Examples
    --------
    >>> H = np.array([[0.0, 0.0, 1.0]])
    >>> divide_and_reflect(H, np.array([[3.0, 4.0]]), np.array([[5.0]]), np.array([0.0, 0.6, 0.8]))
    >>> H.round(3)
    array([[ 0.6  , -0.736, -1.048]])
    """
    if not gpu_kernels.ran("divide", _divide, X, H, lengths, reflector):
        _divide(X, H, lengths, reflector)


def product_into(out: Array, A: Array, B: Array) -> None:
    """Write the matrix product A B into `out`, part of a larger array perhaps; NumPy makes no other array for it.

    Examples
    --------
    >>> H = np.zeros((2, 2))
    >>> product_into(H[:, 1:], np.array([[1.0], [2.0]]), np.array([[3.0]]))
    >>> H
    array([[0., 3.],
           [0., 6.]])
    """
    if is_numpy(out):
        np.matmul(A, B, out=out)
    else:
        out[:, :] = A @ B


def clip_in_place(S: Array) -> None:
    """Bring similarities that rounding carried beyond [-1, 1] back, in their place."""
    if is_numpy(S):
        np.clip(S, -1.0, 1.0, out=S)
    else:
        S[:, :] = namespace(S).clip(S, -1.0, 1.0)


def subtract_outer(H: Array, a: Array, b: Array) -> None:
    """Subtract a b^T from H in its place, in torch by one kernel."""
    if array_api_compat.is_torch_array(H):
        H.addr_(a, b, alpha=-1)
    else:
        H -= a[:, None] * b[None, :]


def _square(X: Array, out: Array, squares: Array) -> None:
    for rows in _few(out):
        some = out[rows, :]
        some[:, :] = X[rows, :]  # cast on the way
        if is_numpy(some):
            np.multiply(some, some, out=squares[rows, :])
        else:
            squares[rows, :] = some * some


def _divide(X: Array, H: Array, lengths: Array, reflector: Array | None) -> None:
    for rows in _few(H):
        part = H[rows, :]
        _divide_rows(part[:, : X.shape[1]], X[rows, :], lengths[rows, :])
        if reflector is not None:
            subtract_outer(part, 2 * (part @ reflector), reflector)


def _divide_rows(out: Array, X: Array, lengths: Array) -> None:
    if is_numpy(out):
        out[:, :] = X  # cast by itself: NumPy divides values of two types in small pieces, with copies of the lengths
        out /= lengths
    elif array_api_compat.is_torch_array(out) and not X.requires_grad:
        sys.modules["torch"].div(X, lengths, out=out)  # casts in the same kernel
    else:
        out[:, :] = astype(X, out.dtype) / lengths


def _few(H: Array) -> Iterator[slice]:
    n = int(H.shape[0])
    each = FEW_ROWS if is_numpy(H) else max(1, n)
    return (slice(start, min(start + each, n)) for start in range(0, n, each))
