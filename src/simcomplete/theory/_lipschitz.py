"""How fast the gradient of SMCNN can change: the constants behind every safe step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix
from simcomplete.errors import InputError
from simcomplete.theory._inputs import SLACK, extremes, factor, smcnn, symmetric


def cubic_constant(G: float) -> float:
    """Return 3 G^2, the Lipschitz constant of V -> V V^T V where |V| <= G, as in the paper's lemma.

    The smallest possible, and G need only bound the spectral norm.

    Examples
    --------
    >>> from simcomplete import theory
    >>> theory.cubic_constant(2.0)
    12.0
    """
    return 3 * check_number(G, "G") ** 2


def printed_constant(G: float, weight: float) -> float:
    """Return 12 G^2 + 2 weight, the gradient's Lipschitz constant as the paper prints it.

    Its proof writes 2 S0 where the gradient has 4 S0, bounds it by G^2, and then drops it. The constant is right
    only where S0 has no negative eigenvalue and none above 3 G^2 + weight: see `sharp_constant`.

    Examples
    --------
    >>> from simcomplete import theory
    >>> theory.printed_constant(1.0, weight=0.5)
    13.0
    """
    return 4 * cubic_constant(G) + 2 * check_number(weight, "weight")


def corrected_constant(S0: Any, G: float, weight: float) -> float:
    """Return 12 G^2 + 2 weight + 4 |S0|_2: the printed constant with the term its proof drops.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete import theory
    >>> theory.corrected_constant(np.eye(2), 1.0, weight=0.5)
    17.0
    """
    low, high = extremes(symmetric(S0, "S0"))
    return printed_constant(G, weight) + 4 * max(high, -low)


def sharp_constant(S0: Any, G: float, weight: float) -> float:
    """Return max(12 G^2 + 2 weight - 4 w_min, 4 w_max - 2 weight), the smallest constant on the ball |V| <= G.

    The second derivative of the cubic term lies between 0 and 12 G^2, so that of the objective lies between
    2 weight - 4 w_max and 12 G^2 + 2 weight - 4 w_min, with w the eigenvalues of S0; both ends are attained (at
    V = 0 along the top eigenvector, at V = G u along u itself, u the bottom eigenvector).

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete import theory
    >>> theory.sharp_constant(np.diag([1.0, -1.0]), 1.0, weight=0.5)
    17.0
    """
    low, high = extremes(symmetric(S0, "S0"))
    return max(printed_constant(G, weight) - 4 * low, 4 * high - 2 * weight)


@dataclass(frozen=True)
class GradientLipschitz:
    """Changes of the cubic term and of the gradient between two factors, and the Lipschitz constants.

    Attributes
    ----------
    cubic_ratio : float
        |V V^T V - W W^T W|_F / |V - W|_F.
    ratio : float
        |grad(V) - grad(W)|_F / |V - W|_F.
    cubic, printed, corrected, sharp : float
        The constants that should bound them, on the ball of radius `G`.
    G : float
        The radius.
    """

    cubic_ratio: float
    ratio: float
    cubic: float
    printed: float
    corrected: float
    sharp: float
    G: float

    @property
    def holds(self) -> bool:
        """3 G^2 bounds the cubic term, and both the corrected and the sharp constant bound the gradient."""
        return self._within(self.cubic_ratio, self.cubic) and self._within(self.ratio, min(self.corrected, self.sharp))

    @property
    def holds_as_printed(self) -> bool:
        """The paper's 12 G^2 + 2 weight bounds the gradient."""
        return self._within(self.ratio, self.printed)

    def _within(self, ratio: float, constant: float) -> bool:
        return ratio <= constant + SLACK * self.corrected


def gradient_lipschitz(S0: Any, V: Any, W: Any, *, weight: float, G: float | None = None) -> GradientLipschitz:
    """Measure how fast the gradient changes from V to W: the paper's two lemmas.

    Parameters
    ----------
    S0 : array of shape (n, n)
        Initial similarities, symmetric.
    V, W : array of shape (n, r)
        Two factors.
    weight : float
        Weight of the nuclear norm.
    G : float, optional
        Radius of the ball; None takes the larger Frobenius norm of the two. A bound on their spectral norms is
        enough.

    Returns
    -------
    GradientLipschitz

    Examples
    --------
    In one dimension the gradient is 4 v^3 - 4 s v + 2 weight v: with s = 1 and weight 0 it is 24 at 2, 0 at 1.

    >>> import numpy as np
    >>> from simcomplete import theory
    >>> check = theory.gradient_lipschitz([[1.0]], [[2.0]], [[1.0]], weight=0.0)
    >>> check.ratio, check.sharp, check.holds
    (24.0, 44.0, True)
    """
    S0 = symmetric(S0, "S0")
    V, W = factor(V, "V", len(S0)), factor(W, "W", len(S0))
    if V.shape != W.shape:
        raise InputError(f"V has shape {V.shape} and W {W.shape}; both need the same shape")
    apart = float(np.linalg.norm(V - W))
    if apart == 0:
        raise InputError("V and W are the same factor; give two different ones")
    largest = max(float(np.linalg.norm(X, 2)) for X in (V, W))
    if G is None:
        radius = max(float(np.linalg.norm(X)) for X in (V, W))
    else:
        radius = check_number(G, "G")
        if largest > radius * (1 + SLACK):
            raise InputError(f"G={radius:.6g} is below the spectral norm {largest:.6g} of V or W; give at least that")
    problem = smcnn(S0, weight, V.shape[1])
    cubic = V @ (V.T @ V) - W @ (W.T @ W)
    gradient = problem.gradient(V) - problem.gradient(W)
    return GradientLipschitz(
        cubic_ratio=float(np.linalg.norm(cubic)) / apart,
        ratio=float(np.linalg.norm(gradient)) / apart,
        cubic=cubic_constant(radius),
        printed=printed_constant(radius, weight),
        corrected=corrected_constant(S0, radius, weight),
        sharp=sharp_constant(S0, radius, weight),
        G=radius,
    )


@dataclass(frozen=True, eq=False)
class LipschitzCounterexample:
    """Two factors between which the gradient changes faster than the printed constant allows.

    Attributes
    ----------
    S0 : array of shape (3, 3)
        Similarities that contradict each other.
    V, W : array of shape (3, 1)
        The factors.
    weight : float
        Weight of the nuclear norm.
    check : GradientLipschitz
        `check.holds_as_printed` is False, `check.holds` True.
    """

    S0: Matrix
    V: Matrix
    W: Matrix
    weight: float
    check: GradientLipschitz


def lipschitz_counterexample() -> LipschitzCounterexample:
    """Three samples on which the printed constant fails, even with its proof's assumption |S0|_2 <= G^2.

    Sample 2 is like both others, which are unlike each other; so S0 has an eigenvalue below 0, as overlap
    similarities of incomplete data have: w = 1 - 0.9 sqrt(2) = -0.27 with u = (1, -sqrt(2), 1)/2, beside
    |S0|_2 = 1 + 0.9 sqrt(2) = G^2. From V = G u to W = 0.99 V the gradient changes by
    4 G^2 (1 + 0.99 + 0.99^2) - 4 w + 2 weight = 28.09 per unit at weight 0, more than 12 G^2 = 27.27.

    Returns
    -------
    LipschitzCounterexample

    Examples
    --------
    >>> from simcomplete import theory
    >>> check = theory.lipschitz_counterexample().check
    >>> f"{check.ratio:.2f} is above the printed constant {check.printed:.2f}"
    '28.09 is above the printed constant 27.27'
    >>> f"and below {check.sharp:.2f} and {check.corrected:.2f}"
    'and below 28.36 and 36.36'
    """
    S0 = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    G = float(np.sqrt(1 + 0.9 * np.sqrt(2)))
    V = G * np.array([[0.5], [-np.sqrt(0.5)], [0.5]])
    W = 0.99 * V
    return LipschitzCounterexample(S0, V, W, 0.0, gradient_lipschitz(S0, V, W, weight=0.0, G=G))
