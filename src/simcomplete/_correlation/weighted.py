"""The problem with a weight for every entry, entries held and bounds: its objective, and the bound of its dual."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcomplete._types import Mask, Matrix

SAME = 1e-12  # a bound within this share of what every valid matrix keeps is that


@dataclass(frozen=True)
class Weighted:
    """The problem: A, squared weights with largest 1, bounds for every entry (equal where held), the floor a.

    Where held entries make every valid X - a I singular, `face` has orthonormal columns of which it is a combination.
    """

    A: Matrix
    h2: Matrix
    low: Matrix
    high: Matrix
    floor: float
    face: Matrix | None = None

    @property
    def free(self) -> Mask:
        """Which entries may move."""
        return self.low < self.high

    @cached_property
    def needed(self) -> tuple[Matrix, Matrix]:
        """The bounds, infinite where every valid matrix keeps them: beside those, multipliers would be ambiguous.

        Examples
        --------
        >>> low, high = np.array([[1.0, -1.0], [-1.0, 1.0]]), np.array([[1.0, 0.5], [0.5, 1.0]])
        >>> Weighted(np.eye(2), 1 - np.eye(2), low, high, 0.0).needed[0]
        array([[  1., -inf],
               [-inf,   1.]])
        """
        root = np.sqrt(np.maximum(np.diag(self.low) - self.floor, 0.0))
        most = (1 - SAME) * np.outer(root, root)
        low = np.where(self.free & (self.low <= -most), -np.inf, self.low)
        return low, np.where(self.free & (self.high >= most), np.inf, self.high)

    def objective(self, X: Matrix) -> float:
        """Half the weighted squared distance."""
        return float(np.sum(self.h2 * np.square(X - self.A))) / 2

    def bound(self, Z: Matrix) -> float:
        """No valid X within the bounds has a smaller objective, whatever Z is, positive semi-definite on the face."""
        with np.errstate(divide="ignore", invalid="ignore"):
            x = np.where(self.h2 > 0, self.A + Z / self.h2, np.where(Z > 0, self.high, self.low))
        x = np.clip(x, self.low, self.high)
        own = self.floor * float(np.trace(Z))
        # Large multipliers cancel out: what rounding may have added is taken off.
        noise = len(x) * np.finfo(np.float64).eps * (float(np.sum(np.abs(Z * x))) + own)
        return self.objective(x) - float(np.sum(Z * x)) + own - noise - self._beside_face(Z)

    def _beside_face(self, Z: Matrix) -> float:
        """How far below 0 <Z, X - a I> can be because held entries are of the face but for rounding.

        With R the projection beside it, tr(R (X - a I)) = t is known, and |R (X - a I)|_F^2 <= t tr(X - a I).
        """
        if self.face is None:
            return 0.0
        R = np.eye(len(Z)) - self.face @ self.face.T
        b = np.diag(self.low) - self.floor
        t = max(float(np.sum(R * self.low)) - self.floor * float(np.trace(R)), 0.0)
        t += len(Z) * np.finfo(np.float64).eps * float(b.sum())
        return float(np.linalg.norm(R @ Z) * (2 * np.sqrt(t * b.sum()) + t))
