"""Rows times a number each, made when they are asked for."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._rows.table import LazyRows, Rows
from simcomplete._rows.xp import Array, like, namespace, to_numpy


class ScaledRows(LazyRows):
    """Rows of another source of rows, each times its own number.

    Examples
    --------
    >>> from simcomplete._rows.outside import RowSource
    >>> rows = ScaledRows(RowSource(np.array([[1.0, 2.0], [3.0, 4.0]]), "X"), np.array([2.0, 0.5]))
    >>> rows[0:2]
    array([[2. , 4. ],
           [1.5, 2. ]])
    """

    def __init__(self, source: LazyRows, scale: Array) -> None:
        self.source, self.scale = source, scale
        self.shape, self.dtype, self.device = source.shape, source.dtype, source.device

    def read(self, start: int, stop: int) -> Any:
        """Return rows from `start` up to `stop`."""
        return self.source.read(start, stop) * self.scale[start:stop][:, None]

    def take(self, positions: Any) -> Any:
        """Return some rows, in the order asked for."""
        return self.source.take(positions) * self.scale[like(positions, self.scale)][:, None]

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Rows:
        return np.asarray(to_numpy(self.whole()), dtype=dtype)

    def __array_namespace__(self, api_version: str | None = None) -> Any:
        return namespace(self.source)
