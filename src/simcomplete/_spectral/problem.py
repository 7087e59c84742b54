"""The paper's problem: a loss against S0, a penalty on eigenvalues, a bound on the rank."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from simcomplete._rows.xp import Array, like, namespace, to_numpy
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.penalties import Penalty, Vector


@dataclass(frozen=True)
class SpectralProblem:
    """``min_V |V V^T - S0|_F^2 + weight * penalty(eigenvalues of V V^T)``, V of shape (n, rank).

    V V^T is never formed: its norm is that of V^T V, and ``(V V^T - S0) V = V (V^T V) - S0 V``.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> problem = SpectralProblem(DenseSimilarity(np.eye(2)), Nuclear(), weight=1.0, rank=1)
    >>> problem.objective(np.array([[1.0], [0.0]]))  # |diag(1, 0) - I|^2 + 1 * 1
    2.0
    """

    operator: Operator
    penalty: Penalty
    weight: float
    rank: int

    @cached_property
    def scale(self) -> float:
        """|S0|_F^2, the objective of V = 0."""
        return self.operator.squared_norm()

    def objective(self, V: Array, SV: Array | None = None) -> float:
        """Objective at V; give SV = S0 V where it is at hand."""
        return self.terms(V, self.operator.matmul(V) if SV is None else SV)[0]

    def gradient(self, V: Array, SV: Array | None = None) -> Array:
        """Gradient at V: 4 (V V^T - S0) V + 2 weight V Q diag(derivative) Q^T, with V^T V = Q diag(s) Q^T."""
        return self.terms(V, self.operator.matmul(V) if SV is None else SV)[1]

    def terms(self, V: Array, SV: Array) -> tuple[float, Array]:
        """Objective and gradient together, from one product with S0."""
        xp = namespace(V)
        gram = to_numpy(V.T @ V)
        s, Q = np.linalg.eigh((gram + gram.T) / 2)
        s = np.maximum(s, 0.0)
        value = float(np.sum(gram * gram)) - 2 * float(xp.sum(V * SV)) + self.scale
        value += self.weight * self.penalty.value(s)
        inner = 4 * gram + 2 * self.weight * (Q * self.penalty.derivative(s)) @ Q.T
        return value, V @ like(inner, V, dtype=V.dtype) - 4 * SV

    def optimum(self, w: Vector) -> float:
        """Objective of the global optimum, given the `rank` largest eigenvalues of S0."""
        s = self.penalty.shrink(w, self.weight)
        return self.scale - float(np.sum(w * w - (s - w) ** 2)) + self.weight * self.penalty.value(s)
