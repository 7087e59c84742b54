"""The problem with a weight for every entry, entries held and bounds: its objective, and the bound of its dual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._types import Mask, Matrix


@dataclass(frozen=True)
class Weighted:
    """The problem: A, squared weights with largest 1, bounds for every entry (equal where held), the floor a."""

    A: Matrix
    h2: Matrix
    low: Matrix
    high: Matrix
    floor: float

    @property
    def free(self) -> Mask:
        """Which entries may move."""
        return self.low < self.high

    def objective(self, X: Matrix) -> float:
        """Half the weighted squared distance."""
        return float(np.sum(self.h2 * np.square(X - self.A))) / 2

    def bound(self, Z: Matrix) -> float:
        """No valid X within the bounds has a smaller objective, whatever positive semi-definite Z is."""
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(self.h2 > 0, self.A + Z / self.h2, np.where(Z > 0, self.high, self.low))
        x = np.clip(x, self.low, self.high)
        return self.objective(x) - float(np.sum(Z * x)) + self.floor * float(np.trace(Z))
