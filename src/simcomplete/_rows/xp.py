"""The seam to array libraries: the only file that knows how they differ.

Code elsewhere asks for the namespace once, at its door, and then speaks the Array API standard. Arrays stay
in the library and on the device they came in; only vectors as short as the rank travel to NumPy.
"""

from __future__ import annotations

import sys
from typing import Any

import array_api_compat
import numpy as np
from numpy.typing import NDArray

# An array of any library that follows the standard. There is no common type to name: see the standard's FAQ.
Array = Any
# The module that works on such arrays: numpy, torch, array_api_strict, ... as array_api_compat wraps them.
Namespace = Any


def is_array(x: object) -> bool:
    """Tell whether `x` is an array of a library that follows the standard."""
    return isinstance(x, np.ndarray) or bool(array_api_compat.is_array_api_obj(x))


def is_numpy(x: Array) -> bool:
    """Tell whether `x` is a NumPy array, for the routes that SciPy makes faster."""
    return isinstance(x, np.ndarray)


def is_dask(x: object) -> bool:
    """Tell whether `x` is a dask array; does not need dask."""
    return bool(array_api_compat.is_dask_array(x))


def namespace(x: Array) -> Namespace:
    """Return the module that works on `x`."""
    return array_api_compat.array_namespace(x)


def device(x: Array) -> Any:
    """Return the device `x` lives on."""
    return array_api_compat.device(x)


def on_accelerator(x: Array) -> bool:
    """Tell whether `x` lives on a device of its own, such as a GPU."""
    return "cpu" not in str(device(x)).lower()


def free_on_device(x: Array) -> int:
    """Free memory of the accelerator that `x` lives on, in bytes; 0 where there is none, or it does not tell."""
    if not (array_api_compat.is_torch_array(x) and x.is_cuda):
        return 0
    cuda = sys.modules["torch"].cuda
    free: int = cuda.mem_get_info(x.device)[0] + cuda.memory_reserved(x.device) - cuda.memory_allocated(x.device)
    return free


def to_numpy(x: Array) -> NDArray[Any]:
    """Bring an array of any library and device to NumPy, without a copy where there need be none."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu())
    xp = namespace(x)
    if hasattr(xp, "Device"):  # array_api_strict: its second device is fenced off on purpose
        x = array_api_compat.to_device(x, xp.Device("CPU_DEVICE"))
    elif array_api_compat.is_cupy_array(x):
        return np.asarray(x.get())
    return np.asarray(x)


def like(values: NDArray[Any], x: Array, dtype: Any = None) -> Array:
    """Bring a NumPy array to the library and device of `x`."""
    if isinstance(x, np.ndarray):
        return np.asarray(values, dtype=dtype)
    return namespace(x).asarray(values, dtype=dtype, device=device(x))


def astype(x: Array, dtype: Any) -> Array:
    """Cast without a copy where the type is right already."""
    return namespace(x).astype(x, dtype, copy=False)


def is_float32(x: Array) -> bool:
    """Tell whether `x` holds 32-bit floats."""
    return bool(x.dtype == namespace(x).float32)


def zeros(x: Array, shape: tuple[int, ...], dtype: Any = None) -> Array:
    """Zeros in the library, on the device and (unless told) of the type of `x`."""
    return namespace(x).zeros(shape, dtype=x.dtype if dtype is None else dtype, device=device(x))


def empty(x: Array, shape: tuple[int, ...]) -> Array:
    """Room for values in the library, on the device and of the type of `x`."""
    return namespace(x).empty(shape, dtype=x.dtype, device=device(x))


def subtract_outer(H: Array, a: Array, b: Array) -> Array:
    """H - a b^T, in the place of H where the library can: three passes over memory less."""
    if isinstance(H, np.ndarray):
        # A few rows at a time stay in the cache. Not by SciPy's BLAS: its threads would wait in the way of NumPy's.
        for start in range(0, len(H), 64):
            rows = slice(start, start + 64)
            H[rows] -= a[rows, None] * b
        return H
    if array_api_compat.is_torch_array(H):
        return H.addr_(a, b, alpha=-1)
    return H - a[:, None] * b[None, :]


def set_entries(S: Array, rows: NDArray[Any], cols: NDArray[Any], values: Array) -> None:
    """Write single entries in place; the standard has no name for this."""
    if isinstance(S, np.ndarray) or array_api_compat.is_torch_array(S):
        S[rows, cols] = values
    else:
        for k, (i, j) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
            S[i, j] = values[k]


def set_diagonal(S: Array, values: Array) -> None:
    """Write the diagonal of a square array in place."""
    every = np.arange(S.shape[0])
    set_entries(S, every, every, values)


def largest(scores: Array, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Positions and values of the `k` largest of every row in NumPy, best first, ties by lower position."""
    xp = namespace(scores)
    if array_api_compat.is_torch_array(scores) and k < int(scores.shape[1]):
        # Several times faster than a sort; where equal values straddle the k-th place it may take the wrong ones.
        values, where = scores.topk(k, dim=1)
        tied = bool(((scores >= values[:, -1:]).sum(dim=1) > k).any())
        if not tied:
            ids, best = to_numpy(where), to_numpy(values)
            order = np.lexsort((ids, -best), axis=1)
            return np.take_along_axis(ids, order, axis=1), np.take_along_axis(best, order, axis=1)
    order = xp.argsort(scores, axis=1, descending=True, stable=True)[:, :k]
    return to_numpy(order).astype(np.int64), to_numpy(xp.take_along_axis(scores, order, axis=1))
