"""The nearest positive semi-definite matrix with a given diagonal b: what DMC computes.

    min |S - S0|_F^2   over   S positive semi-definite,  S_ii = b_i

The problem is convex and has one solution; `newton` finds it by climbing the dual. With T_+ the positive semi-definite
part of T,

    |S - S0|_F^2 >= |S0|_F^2 - 2 theta(y),   theta(y) = |(S0 + Diag(y))_+|_F^2 / 2 - b.y,

for every S that meets the constraints, with equality for S = (S0 + Diag(y))_+ at the minimum of theta, whose gradient
is diag((S0 + Diag(y))_+) - b. The slower routes, which take a box or further entries to hold, are in `alternating`.

References
----------
Qi, Sun, A quadratically convergent Newton method for computing the nearest correlation matrix, SIAM J. Matrix Anal.
Appl. 2006; Borsdorf, Higham, A preconditioned Newton algorithm for it, IMA J. Numer. Anal. 2010.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.sparse.linalg import LinearOperator, cg

from simcomplete._method.iterate import Facts, Limits, Run, Stop, iterate
from simcomplete._result.status import Status
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

PART = 4  # one side of the spectrum is computed alone when it has at most n / PART eigenvalues
HALVINGS = 30  # of a step that does not lower theta enough
QUIET = Limits(progress=False)


def psd_part(T: Matrix, positive: int | None = None) -> tuple[Matrix, int]:
    """The nearest positive semi-definite matrix, and how many eigenvalues are positive.

    Parameters
    ----------
    T : array of shape (n, n)
        Symmetric.
    positive : int, optional
        About how many eigenvalues are positive, if known: the smaller side of the spectrum is computed alone, where
        that is cheaper. S0 of n_p complete candidates has at most n - n_p negative ones.

    Examples
    --------
    >>> psd_part(np.array([[0.0, 1.0], [1.0, 0.0]]))  # eigenvalues 1 and -1
    (array([[0.5, 0.5],
           [0.5, 0.5]]), 1)
    """
    n = len(T)
    if positive is not None and PART * (n - positive) <= n:
        w, U = eigh(T, subset_by_value=(-np.inf, 0.0), check_finite=False)
        return T + _gram(U * np.sqrt(-w)), n - len(w)
    if positive is not None and PART * positive <= n:
        w, U = eigh(T, subset_by_value=(0.0, np.inf), check_finite=False)
        return _gram(U * np.sqrt(w)), len(w)
    w, U = eigh(T, driver="evd", check_finite=False)
    up = positive_ones(w)
    return _gram(U[:, up] * np.sqrt(w[up])), int(up.sum())


def positive_ones(w: Vector) -> NDArray[np.bool_]:
    """Which eigenvalues are above 0 and no rounding of it: singular S0 are common, and runs must not depend on luck."""
    return w > len(w) * np.finfo(np.float64).eps * float(np.max(np.abs(w)))


def _gram(F: Matrix) -> Matrix:
    return F @ F.T  # bit-symmetric: one triangle is computed and copied


def with_diagonal(X: Matrix, b: Vector) -> Matrix:
    """Scale rows and columns of a positive semi-definite X to the diagonal b >= 0: S = D^-1/2 X D^-1/2 for b = 1.

    Examples
    --------
    >>> with_diagonal(np.array([[4.0, 2.0], [2.0, 4.0]]), np.ones(2))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    own = np.diag(X)
    alive = own > np.finfo(np.float64).eps * max(float(own.max()), 0.0)  # less is rounding, and has no direction
    scale = np.sqrt(np.where(alive, b, 0.0) / np.where(alive, own, 1.0))
    S: Matrix = X * np.outer(scale, scale)
    np.fill_diagonal(S, b)
    return S


def target_diagonal(S0: Matrix) -> Vector:
    """The diagonal to keep, or say that no positive semi-definite matrix has it."""
    b: Vector = np.diag(S0).copy()
    if b.min() < 0:
        i = int(b.argmin())
        raise InputError(
            f"S0[{i}, {i}] = {b[i]:.4g} is negative, and no positive semi-definite matrix has such a diagonal; "
            "give 1 there, or use method='smcnn', which does not keep the diagonal"
        )
    return b


@dataclass(frozen=True)
class Dual:
    """A point of the dual: multipliers y, the eigenpairs of S0 + Diag(y), theta and its gradient, the step to it."""

    y: Vector
    w: Vector
    U: Matrix
    theta: float
    gradient: Vector
    step: float = 1.0

    def primal(self) -> Matrix:
        """(S0 + Diag(y))_+."""
        up = positive_ones(self.w)
        return _gram(self.U[:, up] * np.sqrt(self.w[up]))


def newton(S0: Matrix, b: Vector, tol: float = 1e-10, limits: Limits = QUIET) -> tuple[Matrix, Run[Dual]]:
    """Semismooth Newton method on the dual: some ten eigendecompositions, quadratic at the end.

    Parameters
    ----------
    S0 : array of shape (n, n)
        Symmetric.
    b : array of shape (n,)
        The diagonal to have, above 0.
    tol : float
        Stop where no diagonal entry is further than tol * max(b) from its target.
    limits : Limits
        What else ends the run.

    Returns
    -------
    X, run : array of shape (n, n), Run
        Positive semi-definite, its diagonal within the tolerance.

    Examples
    --------
    >>> X, run = newton(np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]]), np.ones(3))
    >>> X.round(3)
    array([[1.   , 0.743, 0.105],
           [0.743, 1.   , 0.743],
           [0.105, 0.743, 1.   ]])
    >>> run.n_iter, run.status.code
    (3, 'converged')
    """
    size, squares = float(b.max()), float(np.sum(S0 * S0))

    def at(y: Vector, step: float = 1.0) -> Dual:
        w, U = eigh(S0 + np.diag(y), driver="evd", check_finite=False)
        up = positive_ones(w)
        theta = float(np.sum(w[up] ** 2)) / 2 - float(b @ y)
        return Dual(y, w, U, theta, np.square(U[:, up]) @ w[up] - b, step)

    def step(here: Dual) -> Dual:
        d = _direction(here, size)
        slope = float(d @ here.gradient)
        noise = 8 * np.finfo(np.float64).eps * (squares + abs(here.theta))
        gamma = 1.0
        for _ in range(HALVINGS):
            found = at(here.y + gamma * d, gamma)
            if found.theta <= here.theta + 1e-4 * gamma * slope + noise:
                return found
            gamma /= 2
        return replace(here, step=0.0)

    def measure(here: Dual) -> Facts:
        deviation = float(np.max(np.abs(here.gradient)))
        return {"deviation": deviation, "lower_bound": squares - 2 * here.theta, "step": here.step}

    run = iterate(at(np.zeros_like(b)), step, measure=measure, stop=stop_at(tol * size), limits=limits)
    return run.best.primal(), run


def stop_at(small: float) -> Stop:
    """Stop where the deviation from the constraints is at most `small`, or no step is left."""

    def stop(facts: Facts, recent: Any) -> Status | None:
        deviation = facts["deviation"]
        if deviation <= small:
            return Status("converged", f"no constraint is missed by more than {deviation:.1e}")
        if facts.get("step") == 0:
            told = f"rounding leaves no further step; constraints are missed by up to {deviation:.1e}"
            return Status("stalled", told, ok=deviation <= 1e4 * small)
        return None

    return stop


def _direction(here: Dual, size: float) -> Vector:
    """Solve V d = -gradient by conjugate gradients, V h = diag(U (Omega * (U^T Diag(h) U)) U^T).

    Omega_ij = (max(w_i, 0) - max(w_j, 0)) / (w_i - w_j): 1 among positive eigenvalues a, 0 among the others b, and
    tau = w_a / (w_a - w_b) between. Only the smaller of the two sides is multiplied out.
    """
    up = positive_ones(here.w)
    A, B = here.U[:, up], here.U[:, ~up]
    tau = here.w[up][:, None] / (here.w[up][:, None] - here.w[~up])
    fewer, more, between = (A, B, tau) if A.shape[1] <= B.shape[1] else (B, A, (1 - tau).T)
    # Levenberg's term: V is singular where U_a has a zero row; it vanishes with the gradient, so that the end is quick.
    ridge = min(1e-3, 0.1 * float(np.max(np.abs(here.gradient))) / size)

    def product(h: Vector) -> Vector:
        h = h.ravel()
        M = fewer.T * h
        half = ((M @ fewer) / 2) @ fewer.T + (between * (M @ more)) @ more.T
        part = 2 * np.einsum("ij,ji->i", fewer, half)
        V_h: Vector = (part if fewer is A else h - part) + ridge * h
        return V_h

    A2, B2 = np.square(A), np.square(B)
    diagonal = np.sum(A2, axis=1) ** 2 + 2 * np.sum((A2 @ tau) * B2, axis=1) + ridge
    n = len(here.y)
    V, scaled = (LinearOperator((n, n), matvec=f, dtype=np.float64) for f in (product, lambda x: x.ravel() / diagonal))
    d: Vector = cg(V, -here.gradient, rtol=1e-3, maxiter=100, M=scaled)[0]
    return d if float(d @ here.gradient) < 0 else -here.gradient
