"""The direction of Newton's method on the dual, by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from simcomplete._correlation.dual import SINGLE, Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.psd import positive_ones
from simcomplete._types import Matrix, Vector

DENSE = 0.5  # where this share of the entries among the rows is held, they are taken for a block


@dataclass(frozen=True)
class Sides:
    """Eigenvectors A of positive and B of other eigenvalues, and tau = w_a / (w_a - w_b) between them.

    The derivative of T_+ in the direction Z is U (Omega * (U^T Z U)) U^T with Omega 1 among positive eigenvalues, 0
    among the others and tau between; only the side with fewer eigenvalues is multiplied out. Large products are in
    single precision: a direction needs few digits.
    """

    A: Any
    B: Any
    tau: Any
    fewer: Any
    more: Any
    between: Any

    @classmethod
    def of(cls, w: Vector, U: Matrix) -> Sides:
        """Both sides of a decomposition."""
        up = positive_ones(w)
        kind = np.float32 if len(U) >= SINGLE else np.float64
        V: Any = U.astype(kind, copy=False)
        v: Any = w.astype(kind, copy=False)
        A, B = V[:, up], V[:, ~up]
        tau = v[up][:, None] / (v[up][:, None] - v[~up])
        return cls(A, B, tau, *((A, B, tau) if A.shape[1] <= B.shape[1] else (B, A, (1 - tau).T)))

    def half(self, M: Any) -> Any:
        """Half of the derivative from the side of `fewer`, for M = fewer^T Z; from B, what is missing to all of Z."""
        return ((M @ self.fewer) / 2) @ self.fewer.T + (self.between * (M @ self.more)) @ self.more.T

    def squares(self) -> tuple[Any, Any, Any]:
        """Row sums of A * A, (A * A) tau and B * B: what the diagonal of the derivative is made of."""
        A2 = np.square(self.A)
        return np.sum(A2, axis=1), A2 @ self.tau, np.square(self.B)


def direction(here: Dual, held: Held, size: float, tol: float) -> Vector:
    """Solve V d = -gradient by conjugate gradients, V h = the held entries of the derivative of T_+ along Z(h)."""
    sides = Sides.of(here.w, here.U)
    missed = here.deviation / size
    # Levenberg's term: V is singular where U_a has a zero row; it vanishes with the gradient, so that the end is quick.
    ridge = min(1e-3, 0.1 * missed)

    def product(h: Vector) -> Vector:
        h = h.ravel()
        M = held.left(sides.fewer, h.astype(sides.A.dtype, copy=False))
        part = 2 * held.entries(sides.fewer, sides.half(M).T)
        V_h: Vector = (part if sides.fewer is sides.A else h - part) + ridge * h
        return V_h

    n = len(here.y)
    scaled = preconditioner(sides, held, ridge)
    V, inverse = (LinearOperator((n, n), f, dtype=here.gradient.dtype) for f in (product, scaled))
    # Far from the optimum a rough direction is as good; near it the error is to fall with the square of the deviation,
    # or to what the tolerance asks for.
    enough = min(0.1, max(0.1 * missed, 0.1 * tol / max(missed, tol, 1e-300), 1e-6))
    d: Vector = cg(V, -here.gradient, rtol=enough, maxiter=100, M=inverse)[0]
    return d if float(d @ here.gradient) < 0 else -here.gradient


def preconditioner(sides: Sides, held: Held, ridge: float) -> Callable[[Vector], Vector]:
    """Divide by about the diagonal of V, sum_kl Omega_kl u_ik^2 u_jl^2; a block that is held, in its own eigenvectors.

    With P = A A^T over the rows of a block, and one number t for all of tau, V H = P H P + t (P H Q + Q H P),
    Q = I - P, which the eigenvectors of P make diagonal. A block that is nearly singular makes P so, too.
    """
    sums, mixed, B2 = sides.squares()
    diagonal: Vector = sums**2 + 2 * np.sum(mixed * B2, axis=1) + ridge
    R, n = held.among, held.n
    if not len(R):
        return lambda x: np.asarray(x.ravel() / diagonal)
    if len(held.first) < DENSE * len(R) * (len(R) - 1) / 2:
        P = np.outer(sums[R], sums[R]) / 2 + mixed[R] @ B2[R].T
        both = np.concatenate([diagonal, (P + P.T)[held.first, held.second] + ridge])
        return lambda x: np.asarray(x.ravel() / both)
    p, E = np.linalg.eigh(sides.A[R] @ sides.A[R].T)
    p = np.clip(p, 0.0, 1.0)
    t = float(np.mean(sides.tau)) if sides.tau.size else 1.0
    of_block = np.outer(p, p) + t * (np.outer(p, 1 - p) + np.outer(1 - p, p)) + ridge + np.finfo(p.dtype).eps

    def inverse(x: Vector) -> Vector:
        x = x.ravel()
        solved = x.astype(np.result_type(x, E), copy=True)
        solved[:n] /= diagonal
        H = held.block(x)
        H[np.diag_indices(len(R))] = x[R]
        H = E @ ((E.T @ H @ E) / of_block) @ E.T
        solved[R], solved[n:] = np.diag(H), np.sqrt(2.0) * H[held.first, held.second]
        return solved

    return inverse
