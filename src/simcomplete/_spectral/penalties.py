"""The paper's problem: a loss, and a penalty on the eigenvalues s >= 0 of the completed matrix.

A penalty is a few small functions.

The problem is ``min |S - S0|_F^2 + weight * value(eigenvalues of S)`` over S positive semi-definite of rank at
most r. `value` and `derivative` give its gradient for any penalty; `shrink` maps the r largest eigenvalues of S0
to those of the global optimum (the proximal map, one vector at a time).
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np

from simcomplete._rows.passes import Target
from simcomplete._rows.xp import Array, like, namespace, to_numpy
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.eigen.routes import Spectrum
from simcomplete._types import Vector


class Penalty(Protocol):
    """What solvers ask of a penalty."""

    def value(self, s: Vector) -> float:
        """Penalty of eigenvalues s >= 0."""

    def derivative(self, s: Vector) -> Vector:
        """Its derivative in each eigenvalue."""

    def shrink(self, w: Vector, weight: float) -> Vector:
        """Minimise ``sum (s - w)^2 + weight * value(s)`` over s >= 0, for w in falling order."""

    def expand(self, s: Vector, weight: float) -> Vector:
        """Return the eigenvalues of S0 that `shrink` mapped to s > 0; for adding new rows to an optimum."""


@dataclass(frozen=True)
class Nuclear:
    """The sum of eigenvalues, |S|_* = |V|_F^2: SMCNN, equation 9 of the paper."""

    def value(self, s: Vector) -> float:
        """Sum of s."""
        return float(np.sum(s))

    def derivative(self, s: Vector) -> Vector:
        """1 everywhere."""
        return np.ones_like(s)

    def shrink(self, w: Vector, weight: float) -> Vector:
        """Lower every eigenvalue by weight/2, not below 0."""
        return np.maximum(w - weight / 2, 0.0)

    def expand(self, s: Vector, weight: float) -> Vector:
        """Raise by weight/2."""
        return s + weight / 2


@dataclass(frozen=True)
class NuclearMinusFrobenius:
    """The sum of eigenvalues minus their Euclidean length, |S|_* - |S|_F: SMCNmF, equation 10 of the paper.

    Zero for matrices of rank one, so large eigenvalues are shrunk less.
    """

    def value(self, s: Vector) -> float:
        """Sum minus length of s."""
        return float(np.sum(s) - np.linalg.norm(s))

    def derivative(self, s: Vector) -> Vector:
        """1 - s/|s|; at s = 0, where there is no derivative, the limit along no direction is left out: 1."""
        length = np.linalg.norm(s)
        return np.ones_like(s) if length == 0 else 1 - s / length

    def shrink(self, w: Vector, weight: float) -> Vector:
        """Lower by weight/2, then lengthen by weight/2; when nothing is left, the one largest stays as it is."""
        a = weight / 2
        z = np.maximum(w - a, 0.0)
        length = float(np.linalg.norm(z))
        if length > 0:
            return z * ((length + a) / length)
        one = np.zeros_like(w)
        if w.size:
            one[0] = max(w[0], 0.0)
        return one

    def expand(self, s: Vector, weight: float) -> Vector:
        """Shorten by weight/2, then raise by weight/2; what is not longer than that was one eigenvalue, untouched."""
        a = weight / 2
        length = float(np.linalg.norm(s))
        return s if length <= a else s * ((length - a) / length) + a


@dataclass(frozen=True)
class NoPenalty:
    """Nothing: SMC_NR, the nearest positive semi-definite matrix of rank at most r."""

    def value(self, s: Vector) -> float:
        """Nothing."""
        return 0.0

    def derivative(self, s: Vector) -> Vector:
        """0 everywhere."""
        return np.zeros_like(s)

    def shrink(self, w: Vector, weight: float) -> Vector:
        """Drop negative eigenvalues."""
        return np.maximum(w, 0.0)

    def expand(self, s: Vector, weight: float) -> Vector:
        """Nothing to undo."""
        return s


@dataclass(frozen=True)
class SquaredFrobenius:
    """The sum of squared eigenvalues |S|_F^2, times a coefficient: SMC_F.

    The gradient the paper prints belongs to coefficient 1/2 (see docs/deviations.md).
    """

    coefficient: float = 1.0

    def value(self, s: Vector) -> float:
        """Sum of squares."""
        return float(self.coefficient * np.sum(s * s))

    def derivative(self, s: Vector) -> Vector:
        """Twice s."""
        return 2 * self.coefficient * s

    def shrink(self, w: Vector, weight: float) -> Vector:
        """Divide by 1 + weight."""
        return np.maximum(w, 0.0) / (1 + self.coefficient * weight)

    def expand(self, s: Vector, weight: float) -> Vector:
        """Multiply by 1 + weight."""
        return s * (1 + self.coefficient * weight)


@dataclass(frozen=True)
class SpectralProblem:
    """``min_V |V V^T - S0|_F^2 + weight * penalty(eigenvalues of V V^T)``, V of shape (n, rank).

    V V^T is never formed: its norm is that of V^T V, and ``(V V^T - S0) V = V (V^T V) - S0 V``.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._similarity.operator import DenseSimilarity
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

    def factor(self, spectrum: Spectrum, target: Target = None, dtype: Any = None) -> Array:
        """The optimal factor, given the largest eigenpairs of S0.

        Where rows are made one by one, in a table that `target` makes and in that type.
        """
        return spectrum.scaled_vectors(np.sqrt(self.penalty.shrink(spectrum.w, self.weight)), target, dtype)

    def optimum(self, w: Vector) -> float:
        """Objective of the global optimum, given the `rank` largest eigenvalues of S0."""
        s = self.penalty.shrink(w, self.weight)
        return self.scale - float(np.sum(w * w - (s - w) ** 2)) + self.weight * self.penalty.value(s)
