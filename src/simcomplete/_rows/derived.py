"""Unit rows of candidates with vectors of queries under them, made when they are asked for: a factor without a copy."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic

import numpy as np

from simcomplete._rows.passes import Part, Work
from simcomplete._rows.table import LazyRows, Rows
from simcomplete._rows.xp import Array, astype, device, is_numpy, like, namespace, to_numpy


class UnitRows(LazyRows):
    """Rows of a source divided by their length, in its library, on its device and in its type; zero rows stay.

    Parameters
    ----------
    source : array or source of rows, shape (n, d)
        Referred to, not copied: it must not change while this is in use.
    below : array of shape (m, d), optional
        Rows to come after them, as they are.

    Examples
    --------
    >>> rows = UnitRows(np.array([[3.0, 4.0], [0.0, 2.0]]), np.array([[0.5, 0.5]]))
    >>> rows.shape
    (3, 2)
    >>> rows[0:3]
    array([[0.6, 0.8],
           [0. , 1. ],
           [0.5, 0.5]])
    """

    def __init__(self, source: Array, below: Array = None) -> None:
        n, d = (int(size) for size in source.shape)
        self.source, self.below = source, below
        self.shape = (n + (0 if below is None else int(below.shape[0])), d)
        self.dtype = source.dtype
        self.device = device(source)
        if hasattr(source, "fold_rows"):  # rows that are elsewhere are made and worked on there
            self.fold_rows = self._fold_there

    def read(self, start: int, stop: int) -> Any:
        """Return rows from `start` up to `stop`."""
        n = int(self.source.shape[0])
        parts = [self._unit(self.source[start : min(stop, n), :])] if start < n else []
        if stop > n:
            parts.append(self.below[max(start - n, 0) : stop - n, :])
        return parts[0] if len(parts) == 1 else namespace(parts[0]).concat(parts, axis=0)

    def take(self, positions: Any) -> Any:
        """Return some rows, in the order asked for."""
        n, xp = int(self.source.shape[0]), namespace(self.source)
        inside = positions < n
        if inside.all():
            return self._unit(_taken(self.source, positions))
        if not inside.any():
            return _taken(self.below, positions - n)
        both = xp.concat([self.take(positions[inside]), self.take(positions[~inside])], axis=0)
        order = np.concatenate([np.flatnonzero(inside), np.flatnonzero(~inside)])
        return _taken(both, np.argsort(order))

    def _unit(self, rows: Array) -> Array:
        return astype(unit(rows), self.dtype)

    def _fold_there(
        self, work: Work[Part], merge: Callable[[Part, Part], Part], bytes_per_row: int, progress: bool | None = False
    ) -> Part:
        total: Part = self.source.fold_rows(OnUnit(work, self.dtype), merge, bytes_per_row, progress)
        return total if self.below is None else merge(total, work(self.below, int(self.source.shape[0])))

    def whole(self) -> Any:
        """Return all rows at once, refused beforehand when they would not fit."""
        return (
            super().whole() if is_numpy(self.source) or isinstance(self.source, LazyRows) else self.read(0, len(self))
        )

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Rows:
        return np.asarray(to_numpy(self.whole()), dtype=dtype)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace(self.source)


def unit(rows: Array) -> Array:
    """Rows divided by their length, in float64; zero rows stay."""
    xp = namespace(rows)
    wide = astype(rows, xp.float64)
    length = xp.sqrt(xp.sum(wide * wide, axis=1, keepdims=True))
    return wide / xp.where(length > 0, length, xp.ones_like(length))


@dataclass(frozen=True)
class OnUnit(Generic[Part]):
    """Work on unit rows, for where there are raw ones."""

    work: Work[Part]
    dtype: Any

    def __call__(self, X: Array, start: int) -> Part:
        """Do it."""
        return self.work(astype(unit(X), self.dtype), start)


def _taken(x: Array, positions: Any) -> Array:
    if is_numpy(x) or isinstance(x, LazyRows):
        return x[positions]
    return namespace(x).take(x, like(positions, x), axis=0)
