"""Steps of gradient descent: how far to go along the negative gradient, by four rules.

Curvature decides. Where V has spectral norm |V|_2, the objective bends by at most 4 (3 |V|_2^2 + |S0|_2) + 2 weight,
so one over that is a step under which it falls. At the optimum it bends by about 8 lambda_max(S0) along the largest
eigenvector, so no fixed step above 1/(4 lambda_max) can settle there.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np

from simcomplete._rows.xp import Array, like, namespace, to_numpy
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.penalties import SpectralProblem

# The Krylov space the ends of the spectrum are found in: a block of vectors, and products with it.
BLOCK, PRODUCTS = 8, 6
LONGEST = 1e6  # longest step to try, over 1/(|S0|_2 + weight)
SUFFICIENT = 1e-4  # share of the decrease a straight slope promises that a step must keep (Armijo)


@dataclass(frozen=True)
class Point:
    """A factor with what descent needs there: objective, gradient and its norm, the step that led to it.

    `trial` is the step to try first from here, for the rule that tries.
    """

    V: Array
    objective: float
    gradient: Array
    slope: float
    step: float | None = None
    trial: float | None = None


Rule = Callable[[Point], Point]


def evaluate_point(problem: SpectralProblem, V: Array, step: float | None = None) -> Point:
    """Objective and gradient at V, from one product with S0; numbers that overflow come out as NaN, in silence.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> from simcomplete._spectral.penalties import NoPenalty
    >>> problem = SpectralProblem(DenseSimilarity(np.eye(2)), NoPenalty(), weight=0.0, rank=1)
    >>> point = evaluate_point(problem, np.array([[2.0], [0.0]]))  # |diag(4, 0) - I|^2, slope 4 * (4 - 1) * 2
    >>> point.objective, point.slope
    (10.0, 24.0)
    """
    xp = namespace(V)
    with np.errstate(over="ignore", invalid="ignore"):  # the driver checks what comes out
        if not math.isfinite(float(xp.sum(V * V))):  # eigenvalues of V^T V would be refused
            return Point(V, math.nan, V, math.nan, step)
        objective, gradient = problem.terms(V, problem.operator.matmul(V))
        return Point(V, objective, gradient, math.sqrt(float(xp.sum(gradient * gradient))), step)


def spectrum_ends(operator: Operator, seed: int = 0) -> tuple[float, float]:
    """Smallest and largest eigenvalue of S0, estimated from inside by a few products with a block of vectors.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> low, high = spectrum_ends(DenseSimilarity(np.diag([3.0, -1.0, 2.0])))
    >>> round(low, 6), round(high, 6)
    (-1.0, 3.0)
    """
    n, model = operator.n, operator.array
    xp = namespace(model)
    if n <= BLOCK * PRODUCTS:
        K = like(np.eye(n), model, dtype=xp.float64)
    else:
        start = np.random.default_rng(seed).standard_normal((n, BLOCK))
        K, W = None, like(start, model, dtype=xp.float64)
        for _ in range(PRODUCTS):
            # Anew over all columns: Householder's K is orthonormal even where W brings nothing new.
            K = xp.linalg.qr(W if K is None else xp.concat([K, W], axis=1), mode="reduced")[0]
            W = operator.matmul(K[:, -BLOCK:])
            W = W / max(float(xp.max(xp.abs(W))), 1e-300)
    small = to_numpy(K.T @ operator.matmul(K))
    w = np.linalg.eigvalsh((small + small.T) / 2)
    return float(w[0]), float(w[-1])


@dataclass(frozen=True)
class Fixed:
    """The same step every time, as in the paper's Algorithms 1 and 2."""

    problem: SpectralProblem
    gamma: float

    def __call__(self, point: Point) -> Point:
        """V - gamma * gradient."""
        return evaluate_point(self.problem, point.V - self.gamma * point.gradient, self.gamma)


@dataclass(frozen=True)
class Safe:
    """One over the bound on the curvature at V; `size` is |S0|_2."""

    problem: SpectralProblem
    size: float

    def gamma(self, V: Array) -> float:
        """1 / (4 (3 |V|_2^2 + |S0|_2) + 2 weight), from the small matrix V^T V."""
        gram = to_numpy(V.T @ V)
        s = np.maximum(np.linalg.eigvalsh((gram + gram.T) / 2), 0.0)
        # value(x^2) bends by 2 d + 4 s d' with s = x^2. d(2 s) - d(s) is s d' for penalties that grow like s or s^2:
        # 2 for SMCNN, at most 2 for SMCNmF, and 12 s for SMC_F, which the 2 of the formula would miss.
        d = self.problem.penalty.derivative
        bend = max(2.0, float(np.max(2 * d(s) + 4 * (d(2 * s) - d(s)))))
        curvature = 4 * (3 * float(s[-1]) + self.size) + bend * self.problem.weight
        return 1 / curvature if curvature > 0 else 1.0

    def __call__(self, point: Point) -> Point:
        """V - gamma(V) * gradient."""
        gamma = self.gamma(point.V)
        return evaluate_point(self.problem, point.V - gamma * point.gradient, gamma)


@dataclass(frozen=True)
class Backtracking:
    """Halve until the objective falls enough (Armijo), from a first try that follows the curvature just met.

    That try is the secant step |dV|^2 / <dV, dG> of Barzilai and Borwein, or twice the last step where the
    objective bends down; with it a few hundred steps do what a fixed step does in many thousands.
    """

    problem: SpectralProblem
    first: Safe

    def __call__(self, point: Point) -> Point:
        """V - gamma * gradient, for the first gamma tried that lowers the objective enough."""
        longest = LONGEST / max(self.first.size + self.problem.weight, 1e-12)  # finite, so that halving ends
        gamma = min(point.trial or self.first.gamma(point.V), longest)
        # Without this, rounding of the objective near the optimum would refuse every step; with it, none is refused
        # for ever.
        noise = 8 * np.finfo(np.float64).eps * max(self.problem.scale, abs(point.objective))
        while True:
            result = evaluate_point(self.problem, point.V - gamma * point.gradient, gamma)
            if result.objective <= point.objective - SUFFICIENT * gamma * point.slope**2 + noise:
                return replace(result, trial=_secant(point, result, gamma))
            gamma /= 2


def _secant(before: Point, now: Point, gamma: float) -> float:
    xp = namespace(now.V)
    move = now.V - before.V
    bend = float(xp.sum(move * (now.gradient - before.gradient)))
    return float(xp.sum(move * move)) / bend if bend > 0 else 2 * gamma
