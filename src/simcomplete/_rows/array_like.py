"""Mixin that makes row tables usable as arrays: arithmetic, matrix products from both sides, the transpose."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin
from numpy.typing import NDArray

from simcomplete._rows.xp import Array


class ArrayLike(NDArrayOperatorsMixin):
    """Products go through `__matmul__` and `__rmatmul__`, block by block; other operations read all rows."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **settings: Any) -> Any:
        if ufunc is np.matmul and method == "__call__" and not settings:
            left, right = inputs
            return left @ right if isinstance(left, ArrayLike) else right.__rmatmul__(left)
        return getattr(ufunc, method)(*(as_operand(x) for x in inputs), **settings)


class Transposed(ArrayLike):
    """The transpose of a row table: products are computed block by block, other operations read all of it."""

    ndim = 2

    def __init__(self, table: Any) -> None:
        self.T = table
        self.shape, self.dtype = table.shape[::-1], table.dtype

    def __matmul__(self, right: Any) -> Any:
        right = self.T if right is self.T else as_operand(right)

        def product(rows: Array, start: int) -> Array:
            other = rows if right is self.T else right[start : start + int(rows.shape[0])]
            return rows.T @ other

        return self.T.add(product)

    def __rmatmul__(self, left: Any) -> Any:
        left = as_operand(left)
        return self.T @ left if left.ndim == 1 else (self.T @ left.T).T

    def __getitem__(self, key: Any) -> Any:
        return np.asarray(self)[key]

    def __len__(self) -> int:
        return int(self.shape[0])

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.asarray(self.T, dtype=dtype).T


def as_operand(x: Any) -> Any:
    """Return the other operand as an array."""
    return np.asarray(x) if isinstance(x, (ArrayLike, list)) else x
