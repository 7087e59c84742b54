"""Support for several array libraries: the only file that depends on how they differ.

Other code gets the namespace of its input and then uses the Array API standard. Arrays stay in their library and on
their device; only vectors as short as the rank are brought to NumPy.
"""

from __future__ import annotations

import sys
from typing import Any

import array_api_compat
import array_api_compat.numpy
import numpy as np
import scipy.linalg
from numpy.typing import NDArray

SPLIT = 256  # columns per strip of a symmetric product, in libraries that do not make use of the symmetry

# An array of any library that follows the standard. There is no common type to name: see the standard's FAQ.
Array = Any
# The module that works on such arrays: numpy, torch, array_api_strict, ... as array_api_compat wraps them.
Namespace = Any


def is_array(x: object) -> bool:
    """Return whether `x` is an array of a library that follows the standard."""
    return isinstance(x, np.ndarray) or bool(array_api_compat.is_array_api_obj(x))


def is_numpy(x: Array) -> bool:
    """Return whether `x` is a NumPy array, for which SciPy has faster functions."""
    return isinstance(x, np.ndarray)


def memory_map_under(x: object) -> np.memmap[Any, Any] | None:
    """The memory map that `x` is, or is a part of; None for other arrays."""
    root = None
    while isinstance(x, np.ndarray):
        root = x if isinstance(x, np.memmap) else root
        x = x.base
    return root


def is_dask(x: object) -> bool:
    """Return whether `x` is a dask array, without importing dask."""
    return bool(array_api_compat.is_dask_array(x))


def namespace(x: Array) -> Namespace:
    """Return the module that works on `x`."""
    if type(x) is np.ndarray:  # called many times in a search for one row
        return array_api_compat.numpy
    return array_api_compat.array_namespace(x)


def device(x: Array) -> Any:
    """Return the device `x` lives on."""
    return array_api_compat.device(x)


def on_accelerator(x: Array) -> bool:
    """Return whether `x` is on an accelerator, such as a GPU."""
    return "cpu" not in str(device(x)).lower()


def free_on_device(x: Array) -> int:
    """Return the free memory of the accelerator of `x`, in bytes; 0 if there is none, or if it is unknown."""
    if not (array_api_compat.is_torch_array(x) and x.is_cuda):
        return 0
    cuda = sys.modules["torch"].cuda
    free: int = cuda.mem_get_info(x.device)[0] + cuda.memory_reserved(x.device) - cuda.memory_allocated(x.device)
    return free


def to_numpy(x: Array) -> NDArray[Any]:
    """Convert an array of any library and device to NumPy, without a copy if possible."""
    if isinstance(x, np.ndarray):
        return x
    if array_api_compat.is_torch_array(x):
        return np.asarray(x.detach().cpu())
    xp = namespace(x)
    if hasattr(xp, "Device"):  # array_api_strict refuses to convert from its second device
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
    """Cast, without a copy if the type is right already."""
    return namespace(x).astype(x, dtype, copy=False)


def is_float32(x: Array) -> bool:
    """Return whether `x` has 32-bit floats."""
    return bool(x.dtype == namespace(x).float32)


def rows_not_finite(x: Array) -> NDArray[np.int64]:
    """Positions of the rows of an array (or values of a vector) that hold NaN or an infinity.

    A row is examined only if its sum is not finite, which needs no second array.
    """
    xp = namespace(x)
    with np.errstate(over="ignore", invalid="ignore"):
        sums = x if x.ndim == 1 else xp.sum(x, axis=1)
        suspect = np.flatnonzero(~to_numpy(xp.isfinite(sums))).astype(np.int64)
    if x.ndim == 1:
        return suspect
    return np.array([i for i in suspect if not bool(xp.all(xp.isfinite(x[int(i), :])))], dtype=np.int64)


def rows_without_values(x: Array) -> NDArray[np.int64]:
    """Positions of the rows of an array in which every value is NaN; with NumPy, a row is read up to its first value.

    Examples
    --------
    >>> rows_without_values(np.array([[np.nan, np.nan], [np.nan, 1.0]]))
    array([0])
    """
    if not is_numpy(x):
        xp = namespace(x)
        return np.flatnonzero(to_numpy(xp.all(xp.isnan(x), axis=1))).astype(np.int64)
    left = np.flatnonzero(np.isnan(x[:, 0]))
    for j in range(1, x.shape[1]):
        if not len(left):
            break
        left = left[np.isnan(x[left, j])]
    return left.astype(np.int64)


def zeros(x: Array, shape: tuple[int, ...], dtype: Any = None) -> Array:
    """Zeros in the library, on the device and (unless given) of the type of `x`."""
    return namespace(x).zeros(shape, dtype=x.dtype if dtype is None else dtype, device=device(x))


def empty(x: Array, shape: tuple[int, ...]) -> Array:
    """Uninitialised array in the library, on the device and of the type of `x`."""
    return namespace(x).empty(shape, dtype=x.dtype, device=device(x))


def count_true(x: Array) -> int:
    """How many entries of a boolean array are true."""
    xp = namespace(x)
    return int(np.count_nonzero(x) if is_numpy(x) else xp.sum(xp.astype(x, xp.int64)))


def set_entries(S: Array, rows: NDArray[Any], cols: NDArray[Any], values: Array) -> None:
    """Write single entries in place; the standard has no function for this."""
    if isinstance(S, np.ndarray) or array_api_compat.is_torch_array(S):
        S[rows, cols] = values
    else:
        for k, (i, j) in enumerate(zip(rows.tolist(), cols.tolist(), strict=True)):
            S[i, j] = values[k]


def diagonal(S: Array) -> Array:
    """A copy of the diagonal of a square array."""
    return np.diag(S).copy() if isinstance(S, np.ndarray) else copied(namespace(S).linalg.diagonal(S))


def copied(x: Array) -> Array:
    """A copy in the same library, on the same device."""
    return namespace(x).asarray(x, copy=True)


def set_diagonal(S: Array, values: Array) -> None:
    """Write the diagonal of a square array in place."""
    every = np.arange(S.shape[0])
    set_entries(S, every, every, values)


def top_k(scores: Array, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Positions and values of the `k` largest of every row in NumPy, best first, ties by lower position.

    Examples
    --------
    >>> top_k(np.array([[0.5, 0.9, 0.5, 0.1]]), 2)
    (array([[1, 0]]), array([[0.9, 0.5]]))
    """
    if not is_numpy(scores):
        return _top_k_elsewhere(scores, k)
    n = scores.shape[1]
    if len(scores) == 1:  # faster than the general way for a single row
        row = scores[0]
        good = (row >= np.partition(row, n - k)[n - k]).nonzero()[0] if k < n else np.arange(n)
        best = good[np.argsort(-row[good], kind="stable")[:k]]
        return best[None], row[best][None]
    ids = np.empty((len(scores), k), dtype=np.int64)
    # All values above the k-th largest of a row are taken, and values equal to it by position.
    limit = np.partition(scores, n - k, axis=1)[:, n - k] if k < n else scores.min(axis=1)
    for i, row in enumerate(scores):
        good = np.flatnonzero(row >= limit[i])
        ids[i] = good[np.argsort(-row[good], kind="stable")][:k]
    return ids, np.take_along_axis(scores, ids, axis=1)


def _top_k_elsewhere(scores: Array, k: int) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """The same for an array of another library than NumPy."""
    xp = namespace(scores)
    if array_api_compat.is_torch_array(scores) and k < int(scores.shape[1]):
        # Several times faster than a sort, but among values equal to the k-th it may take the wrong ones.
        values, where = scores.topk(k + 1, dim=1)
        if not bool((values[:, k] == values[:, k - 1]).any()):
            ids, best = to_numpy(where[:, :k]), to_numpy(values[:, :k])
            order = np.lexsort((ids, -best), axis=1)
            return np.take_along_axis(ids, order, axis=1), np.take_along_axis(best, order, axis=1)
    order = xp.argsort(scores, axis=1, descending=True, stable=True)[:, :k]
    return to_numpy(order).astype(np.int64), to_numpy(xp.take_along_axis(scores, order, axis=1))


def symmetric_product(H: Array) -> Array:
    """Return H^T H with half of the work: NumPy makes use of the symmetry, other libraries compute strips."""
    m = int(H.shape[1])
    if is_numpy(H) or m <= 2 * SPLIT:
        return H.T @ H
    xp = namespace(H)
    strips = [slice(k, min(k + SPLIT, m)) for k in range(0, m, SPLIT)]
    G = xp.zeros_like(H[:1, :]) + xp.zeros_like(H[:1, :]).T
    for part in strips:
        G[part, part.start :] = H[:, part].T @ H[:, part.start :]
        G[part.start :, part] = G[part, part.start :].T
    return G


def solve_triangular(R: Array, Y: Array, *, lower: bool = False) -> Array:
    """Return X with R X = Y, R upper or lower triangular; the standard knows only matrices of no special form."""
    if isinstance(R, np.ndarray):
        return scipy.linalg.solve_triangular(R, Y, lower=lower, check_finite=False)
    if array_api_compat.is_torch_array(R):
        return sys.modules["torch"].linalg.solve_triangular(R, Y, upper=not lower)
    return namespace(R).linalg.solve(R, Y)


def unit_array(rows: Array) -> Array:
    """Rows divided by their length, in float64; zero rows stay.

    Examples
    --------
    >>> unit_array(np.array([[3.0, 4.0], [3e200, 4e200], [3e-200, 4e-200], [0.0, 0.0]]))
    array([[0.6, 0.8],
           [0.6, 0.8],
           [0.6, 0.8],
           [0. , 0. ]])
    """
    xp = namespace(rows)
    wide = astype(rows, xp.float64)
    energy = squared_lengths(wide)
    if not ordinary(energy):
        wide = scale_rows(wide)
        energy = squared_lengths(wide)
    return wide / xp.sqrt(xp.where(energy > 0, energy, xp.ones_like(energy)))


def squared_lengths(Z: Array) -> Array:
    """Squared lengths of rows, (n, 1); infinite or 0 on overflow or underflow, without a warning."""
    with np.errstate(over="ignore"):
        return namespace(Z).sum(Z * Z, axis=1, keepdims=True)


def ordinary(energy: Array) -> bool:
    """Return whether squared lengths are in a range in which rows need not be scaled first."""
    return bool(namespace(energy).all((energy > 1e-100) & (energy < 1e100)))


def scale_rows(Z: Array) -> Array:
    """Divide each row by the power of two below its largest magnitude, which is exact; squares then stay in range."""
    xp = namespace(Z)
    top = xp.max(xp.abs(Z), axis=1, keepdims=True)
    exponent = xp.floor(xp.log2(xp.where(top > 0, top, xp.ones_like(top))))
    # In two halves, because 2^-1074 (the smallest number there is) has no reciprocal.
    half = xp.floor(exponent / 2)
    base = xp.full_like(exponent, 2.0)
    return Z / xp.pow(base, half) / xp.pow(base, exponent - half)
