"""A point of the dual problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._correlation.psd import positive_ones, psd_gram
from simcomplete._rows.xp import Array, like
from simcomplete._types import Vector

SINGLE = 300  # from this size on, what need not be exact is done in single precision, at half the cost


@dataclass(frozen=True)
class Dual:
    """A point of the dual: multipliers y, the eigenpairs of S0 + Z(y), theta and its gradient, the step to it.

    `matrix` is the positive part where that was found without eigenpairs of its own (`refined`): these are those of a
    point next to y then, and theta is a bound from above. Matrices are NumPy's or of another library, vectors always
    NumPy's.
    """

    y: Vector
    w: Vector
    U: Array
    theta: float
    gradient: Vector
    step: float = 1.0
    matrix: Array | None = None

    def primal(self) -> Array:
        """(S0 + Z(y))_+."""
        if self.matrix is not None:
            return self.matrix
        k = self.below
        return psd_gram(self.U[:, k:] * like(np.sqrt(self.w[k:]), self.U))

    def negative(self) -> Array:
        """(S0 + Z(y))_+ - (S0 + Z(y)): positive semi-definite, and the multiplier of the eigenvalues."""
        k = self.below
        return psd_gram(self.U[:, :k] * like(np.sqrt(np.maximum(-self.w[:k], 0.0)), self.U))

    @property
    def below(self) -> int:
        """How many eigenvalues are not positive: those of the first columns of U."""
        return int(np.sum(~positive_ones(self.w)))

    @property
    def deviation(self) -> float:
        """How much a constraint is missed by, at most."""
        return float(np.max(np.abs(self.gradient)))
