"""When a point that descent can stop at is the global optimum."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix
from simcomplete.theory._inputs import SLACK, factor, smcnn, symmetric


@dataclass(frozen=True)
class GlobalOptimality:
    """First- and second-order conditions at a factor, and how far it is from the global optimum.

    Attributes
    ----------
    gradient_norm : float
        |grad(V)|_F, 0 at a stationary point.
    curvature : float
        Smallest second derivative of the objective along x q^T, |x| = 1, q the right singular vector of V's
        smallest singular value. Negative: a way down, so V is no second-order point.
    multiplier : float
        Smallest eigenvalue of M = 2 (V V^T - S0) + weight I, the gradient in S. Where rank(V) < r it is half the
        curvature.
    rank, rank_bound : int
        Rank of V and its number of columns r.
    objective, optimum : float
        At V, and the global optimum over rank at most r, by the closed form.
    gap_bound : float
        |grad|_F |V|_F / 2 + max(-multiplier, 0) trace(S*): the gap never exceeds it, whatever V.
    scale : float
        |S0|_F^2; tolerances are fractions of it.
    n : int
        How many samples.
    tolerance : float
        What counts as 0, relative to the natural size of each number.
    """

    gradient_norm: float
    curvature: float
    multiplier: float
    rank: int
    rank_bound: int
    objective: float
    optimum: float
    gap_bound: float
    scale: float
    n: int
    tolerance: float

    @property
    def gap(self) -> float:
        """Objective minus optimum."""
        return self.objective - self.optimum

    @property
    def stationary(self) -> bool:
        """The gradient is 0."""
        return bool(self.gradient_norm <= self.tolerance * self.scale**0.75)

    @property
    def second_order(self) -> bool:
        """Stationary, and no way down by curvature."""
        return self.stationary and self.curvature >= -self.tolerance * self.scale**0.5

    @property
    def rank_below_bound(self) -> bool:
        """The paper's Lower-Rank Matrix Property, rank < r."""
        return self.rank < self.rank_bound

    @property
    def optimal(self) -> bool:
        """The gap is 0; a tolerance in the conditions costs at most sqrt(n) times as much here."""
        return bool(self.gap <= self.tolerance * self.n**0.5 * self.scale)

    @property
    def holds(self) -> bool:
        """The corrected theorem: a second-order point with rank < r is optimal; and the bound on the gap."""
        theorem = self.optimal or not (self.second_order and self.rank_below_bound)
        return theorem and self.gap <= self.gap_bound + SLACK * self.scale

    @property
    def holds_as_printed(self) -> bool:
        """The paper's theorem: a stationary point with rank < r is optimal."""
        return self.optimal or not (self.stationary and self.rank_below_bound)


def global_optimality(
    S0: Any, V: Any, *, weight: float = 0.0, tolerance: float = 1e-6, rank_tolerance: float | None = None
) -> GlobalOptimality:
    """Check the paper's theorem that rank(V) < r at the end of a descent means the global optimum.

    f(S) = |S - S0|_F^2 + weight trace(S) is convex, so S = V V^T is optimal over all positive semi-definite matrices
    when M V = 0 and M is positive semi-definite, M the gradient of f. M V = 0 says that V is stationary. Where
    rank(V) < r there is a unit q with V q = 0, and the second derivative along x q^T is 2 x^T M x: a second-order
    point has M positive semi-definite and is optimal. A merely stationary point need not be: see
    `stationary_counterexample`. (The rank is no obstacle either: at a stationary point of rank r the second
    derivative along x q^T is negative for some x unless the r largest eigenvalues were kept.)

    Parameters
    ----------
    S0 : array of shape (n, n)
        Initial similarities, symmetric.
    V : array of shape (n, r)
        The factor to check.
    weight : float
        Weight of the nuclear norm; 0 is the problem the paper states the theorem for.
    tolerance : float
        What counts as 0: times |S0|_F^1.5 for the gradient, |S0|_F for curvature, sqrt(n) |S0|_F^2 for the gap.
    rank_tolerance : float, optional
        Eigenvalues of V V^T below this share of the largest count as 0; None means n times the machine epsilon.
        After a descent that was stopped, give what the stop allows.

    Returns
    -------
    GlobalOptimality

    Examples
    --------
    The eigenvalues of S0 are 1.5 and 0.5; weight 2 shrinks them to 0.5 and 0, so V has rank 1 < 2 and is optimal.

    >>> import numpy as np
    >>> from simcomplete import theory
    >>> S0 = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> check = theory.global_optimality(S0, np.array([[0.5, 0.0], [0.5, 0.0]]), weight=2.0)
    >>> check.second_order, check.rank_below_bound, check.optimal
    (True, True, True)
    """
    S0 = symmetric(S0, "S0")
    n = len(S0)
    V = factor(V, "V", n)
    r = int(V.shape[1])
    problem = smcnn(S0, weight, r)
    tolerance = check_number(tolerance, "tolerance")
    share = n * np.finfo(np.float64).eps if rank_tolerance is None else check_number(rank_tolerance, "rank_tolerance")

    w = np.linalg.eigvalsh(S0)[::-1]
    _, sigma, Qt = np.linalg.svd(V)
    sigma = np.concatenate([sigma, np.zeros(r - len(sigma))])  # more columns than rows: the others are 0
    v = V @ Qt[-1]
    M = 2 * (V @ V.T - S0) + weight * np.eye(n)
    along = 2 * M + 4 * sigma[-1] ** 2 * np.eye(n) + 4 * np.outer(v, v)
    multiplier = float(np.linalg.eigvalsh(M)[0])
    gradient_norm = float(np.linalg.norm(problem.gradient(V)))
    trace = float(np.sum(problem.penalty.shrink(w, weight)))
    return GlobalOptimality(
        gradient_norm=gradient_norm,
        curvature=float(np.linalg.eigvalsh(along)[0]),
        multiplier=multiplier,
        rank=int(np.sum(sigma**2 > share * sigma[0] ** 2)),
        rank_bound=r,
        objective=problem.objective(V),
        optimum=problem.optimum(w[:r]),
        gap_bound=gradient_norm * float(np.linalg.norm(V)) / 2 + max(-multiplier, 0.0) * trace,
        scale=problem.scale,
        n=n,
        tolerance=tolerance,
    )


@dataclass(frozen=True, eq=False)
class StationaryCounterexample:
    """A stationary point of rank below the bound that is not optimal.

    Attributes
    ----------
    S0 : array of shape (2, 2)
        Similarities.
    V : array of shape (2, 1)
        Zeros.
    check : GlobalOptimality
        `check.holds_as_printed` is False; `check.curvature` shows the way down.
    """

    S0: Matrix
    V: Matrix
    check: GlobalOptimality


def stationary_counterexample() -> StationaryCounterexample:
    """V = 0: stationary, of rank 0 < 1, and not optimal, against the paper's theorem.

    S0 has eigenvalues 1.5 and 0.5. At V = 0 the gradient 4 (V V^T - S0) V is 0 and the objective is |S0|_F^2 = 2.5;
    the optimum of rank 1 is 0.5^2 = 0.25. The curvature -4 * 1.5 = -6 along the top eigenvector shows this.

    Returns
    -------
    StationaryCounterexample

    Examples
    --------
    >>> from simcomplete import theory
    >>> check = theory.stationary_counterexample().check
    >>> check.stationary, check.rank_below_bound, check.optimal, round(check.curvature, 9)
    (True, True, False, -6.0)
    """
    S0, V = np.array([[1.0, 0.5], [0.5, 1.0]]), np.zeros((2, 1))
    return StationaryCounterexample(S0, V, global_optimality(S0, V))
