"""What the posterior models have in common: their settings, and a vector with its length for every row.

For unit rows E[cos(p, q) | observed] = p . E[q/|q| | observed] for every candidate p, so the best estimate in the
squared sense needs one vector u per query, at most 1 long: similarities are products with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Protocol

import numpy as np

from simcomplete._posterior.shared.rows import Matrix
from simcomplete.errors import InputError

Effort = Literal["full", "fast", "best"]
Objective = Literal["error", "recall"]
EFFORTS = ("full", "fast", "best")
OBJECTIVES = ("error", "recall")


def check_settings(effort: str, objective: str = "error") -> None:
    """Refuse settings there are not."""
    if effort not in EFFORTS:
        raise InputError(f"effort={effort!r} is unknown; use 'full', 'fast' or 'best'")
    if objective not in OBJECTIVES:
        raise InputError(f"objective={objective!r} is unknown; use 'error' or 'recall'")


@dataclass(frozen=True)
class Vectors:
    """One vector per query, and its length: 1 when everything is known."""

    u: Matrix
    length: Matrix

    @property
    def uncertainty(self) -> Matrix:
        """What intervals grow with: sqrt(1 - length^2), 0 where all is known."""
        return np.sqrt(np.where(self.length < 1, np.maximum(1 - self.length**2, 1e-4), 0.0))


class PosteriorModel(Protocol):
    """What estimators use of a fitted model."""

    @property
    def unit(self) -> Any:
        """Vectors of the fitted rows, (n, d): unit rows where they are complete."""

    @property
    def choice(self) -> Any:
        """What was chosen; `as_dict` gives plain values."""

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing, each row by itself."""


def diagonal_deficit(U: Matrix) -> Matrix:
    """What the squared lengths of rows lack to 1; exactly 0 where it is rounding."""
    deficit = 1 - np.sum(U * U, axis=1)
    return np.where(deficit > 4 * U.shape[1] * np.finfo(np.float64).eps, deficit, 0.0)


def typical_length(P: Matrix) -> float:
    """Median length of a row that is not zero, so that squares of huge or tiny values stay in range; 1 for none."""
    top = float(np.max(np.abs(P)))
    if top == 0:
        return 1.0
    with np.errstate(over="ignore"):
        length = np.sqrt(np.sum((P / top) ** 2, axis=1))
    return max(top * float(np.median(length[length > 0])), float(np.finfo(np.float64).tiny))
