"""Error bars of completed similarities, from queries that were simulated."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Bars:
    """Half-width of query q at a level: the level's quantile times `spread` of q.

    Attributes
    ----------
    spread : array of shape (n_q,)
        sqrt(1 - length^2) of every query, 0 where all is known.
    quantiles : array of shape (1001,)
        Of |error| / spread over simulated pairs, at 0, 0.001, ..., 1.

    Examples
    --------
    >>> bars = Bars(np.array([0.5, 0.1]), np.linspace(0, 2, 1001))
    >>> bars.half_width(0.9)
    array([0.9 , 0.18])
    """

    spread: Matrix
    quantiles: Matrix

    def half_width(self, level: float) -> Matrix:
        """Half-width of every query's interval."""
        if isinstance(level, bool) or not isinstance(level, (int, float)) or not 0 < level < 1:
            raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.9")
        z = float(np.interp(level, np.linspace(0, 1, len(self.quantiles)), self.quantiles))
        return z * self.spread

    @property
    def confidence(self) -> Matrix:
        """One number per query, from 0 (nothing is known) to 1 (everything is): the length of its vector."""
        return np.sqrt(np.maximum(1 - self.spread**2, 0.0))
