"""Error bars of completed similarities, from queries that were simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Bars:
    """Half-width of a pair at a level: the level's quantile times the spread of the pair.

    The spread of two rows is sqrt(1 - l_i^2 l_j^2), l the lengths of their vectors. Complete candidates have length 1.

    Attributes
    ----------
    spread : array of shape (n_q,)
        sqrt(1 - length^2) of every query, 0 where all is known.
    quantiles : array of shape (1001,)
        Of |error| / spread over simulated pairs, at 0, 0.001, ..., 1.

    Examples
    --------
    >>> bars = Bars(np.array([0.5, 0.1]), np.linspace(0, 2, 1001))
    >>> bars.half_width(0.9, np.array([0, 1]))
    array([[0.9 ],
           [0.18]])
    """

    spread: Matrix
    quantiles: Matrix

    def half_width(
        self, level: float, rows: NDArray[np.int64], cols: NDArray[np.int64] | None = None
    ) -> NDArray[np.float64]:
        """Half-widths of queries' intervals with complete candidates, (rows, 1), or with each other, (rows, cols)."""
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.9")
        z = float(np.interp(level, np.linspace(0, 1, len(self.quantiles)), self.quantiles))
        if cols is None:
            return z * self.spread[rows][:, None]
        known = 1 - self.spread**2
        width = np.sqrt(np.maximum(1 - np.outer(known[rows], known[cols]), 0.0))
        return np.where(rows[:, None] == cols[None, :], 0.0, z * width)

    @property
    def confidence(self) -> Matrix:
        """One number per query, from 0 (nothing is known) to 1 (everything is): the length of its vector."""
        return np.sqrt(np.maximum(1 - self.spread**2, 0.0))
