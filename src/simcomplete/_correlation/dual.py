"""A point of the dual problem."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from simcomplete._correlation.psd import positive_ones, psd_gram
from simcomplete._types import Matrix, Vector

SINGLE = 300  # from this size on, what need not be exact is done in single precision, at half the cost


@dataclass(frozen=True)
class Dual:
    """A point of the dual: multipliers y, the eigenpairs of S0 + Z(y), theta and its gradient, the step to it.

    `matrix` is the positive part at a point next to y, where that was found without eigenpairs of its own (`refined`);
    the gradient is then that of this matrix.
    """

    y: Vector
    w: Vector
    U: Matrix
    theta: float
    gradient: Vector
    step: float = 1.0
    matrix: Matrix | None = None

    def primal(self) -> Matrix:
        """(S0 + Z(y))_+."""
        if self.matrix is not None:
            return self.matrix
        up = positive_ones(self.w)
        return psd_gram(self.U[:, up] * np.sqrt(self.w[up]))

    @property
    def deviation(self) -> float:
        """How much a constraint is missed by, at most."""
        return float(np.max(np.abs(self.gradient)))
