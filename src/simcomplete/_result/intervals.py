"""Error bars of completed similarities, learnt from queries that were simulated."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError


@dataclass(frozen=True)
class IntervalModel:
    """Half-width of a pair at a level: the level's quantile times the spread of the pair.

    The spread of two rows is sqrt(1 - l_i^2 l_j^2), l the lengths of their vectors. Complete rows have length 1, so
    that two of them have spread 0: their similarity is exact.

    Attributes
    ----------
    spread : array of shape (n_q,)
        sqrt(1 - length^2) of every query, 0 where all is known.
    quantiles : array of shape (1001,)
        Of |error| / spread over simulated pairs, at 0, 0.001, ..., 1.

    Examples
    --------
    Two queries after three candidates; the intervals of all with the first candidate.

    >>> model = IntervalModel(np.array([0.5, 0.1]), np.linspace(0, 2, 1001))
    >>> model.half_width(0.9, rows=np.array([2, 3, 4]), cols=np.array([0]), first_query=3)
    array([[0.  ],
           [0.9 ],
           [0.18]])
    """

    spread: NDArray[np.float64]
    quantiles: NDArray[np.float64]

    def half_width(
        self, level: float, rows: NDArray[np.int64], cols: NDArray[np.int64], first_query: int = 0
    ) -> NDArray[np.float64]:
        """Half-widths of the intervals of pairs, by positions in the result; rows before `first_query` are complete."""
        if isinstance(level, bool) or not isinstance(level, (int, float, np.floating)) or not 0 < level < 1:
            raise InputError(f"level={level!r} must be a number between 0 and 1, such as 0.9")
        z = float(np.interp(level, np.linspace(0, 1, len(self.quantiles)), self.quantiles))
        a, b = (self._squared_spread(which, first_query) for which in (rows[:, None], cols[None, :]))
        spread = np.sqrt(a + b - a * b)  # 1 - (1 - a)(1 - b), with all digits where a or b is 0
        return np.where(rows[:, None] == cols[None, :], 0.0, z * spread)

    def _squared_spread(self, positions: NDArray[np.int64], first_query: int) -> NDArray[np.float64]:
        # Complete rows take the 0 that is put before the queries; there may be no queries at all.
        spread = np.concatenate([[0.0], self.spread])[np.maximum(positions - first_query + 1, 0)]
        return np.asarray(spread**2)

    @property
    def confidence(self) -> NDArray[np.float64]:
        """One number per query, from 0 (nothing is known) to 1 (everything is): the length of its vector."""
        return np.sqrt(np.maximum(1 - self.spread**2, 0.0))


def required(model: IntervalModel | None, method: str) -> IntervalModel:
    """The model of a result, or an error that says which results have one."""
    if model is None:
        raise InputError(f"this {method!r} result has no error bars; method='posterior' has, from 40 candidates on")
    return model


def around(middle: NDArray[Any], width: NDArray[np.float64]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Intervals of that half-width around similarities, clipped to [-1, 1]."""
    width = width.astype(middle.dtype)
    return np.clip(middle - width, -1.0, 1.0), np.clip(middle + width, -1.0, 1.0)
