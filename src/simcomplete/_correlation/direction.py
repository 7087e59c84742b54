"""The direction of Newton's method on the dual, by preconditioned conjugate gradients."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse.linalg import LinearOperator, cg

from simcomplete._correlation.dual import SINGLE, Dual
from simcomplete._correlation.held import FEW, ROOT, Held
from simcomplete._correlation.psd import positive_ones
from simcomplete._rows.xp import Array, astype, is_float32, like, namespace, to_numpy
from simcomplete._types import Vector

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
    def of(cls, w: Vector, U: Array) -> Sides:
        """Both sides of a decomposition."""
        k = int(np.sum(~positive_ones(w)))
        V: Any = astype(U, namespace(U).float32) if len(w) >= SINGLE else U
        v: Any = like(w.astype(np.float32 if is_float32(V) else np.float64), V)
        A, B = V[:, k:], V[:, :k]
        tau = v[k:][:, None] / (v[k:][:, None] - v[:k])
        return cls(A, B, tau, *((A, B, tau) if A.shape[1] <= B.shape[1] else (B, A, (1 - tau).T)))

    @property
    def kind(self) -> type[np.floating[Any]]:
        """NumPy's type of the same precision."""
        return np.float32 if is_float32(self.A) else np.float64

    def half(self, M: Any) -> Any:
        """Half of the derivative from the side of `fewer`, for M = fewer^T Z; from B, what is missing to all of Z."""
        return ((M @ self.fewer) / 2) @ self.fewer.T + (self.between * (M @ self.more)) @ self.more.T

    def squares(self) -> tuple[Any, Any, Any]:
        """Row sums of A * A, (A * A) tau and B * B: what the diagonal of the derivative is made of."""
        A2, B2 = self.A * self.A, self.B * self.B
        return namespace(A2).sum(A2, axis=1), A2 @ self.tau, B2


@dataclass(frozen=True)
class System:
    """V d = -gradient at a point of the dual, V h = the held entries of the derivative of T_+ along Z(h)."""

    sides: Sides
    product: LinearOperator
    inverse: LinearOperator

    @classmethod
    def at(cls, here: Dual, held: Held, size: float) -> System:
        """The system of a point; `size` is that of the constraints."""
        sides = Sides.of(here.w, here.U)
        # Levenberg's term: V is singular where U_a has a zero row; it vanishes with the gradient: the end is quick.
        ridge = min(1e-3, 0.1 * here.deviation / size)
        part = derivative(sides, held)

        def product(h: Vector) -> Vector:
            h = h.ravel()
            of_fewer = part(h.astype(sides.kind, copy=False))
            V_h: Vector = (of_fewer if sides.fewer is sides.A else h - of_fewer) + ridge * h
            return V_h

        n, kind = len(here.y), here.gradient.dtype
        scaled = preconditioner(sides, held, ridge)
        return cls(sides, *(LinearOperator((n, n), f, dtype=kind) for f in (product, scaled)))

    def solve(self, gradient: Vector, size: float, tol: float) -> Vector:
        """The direction d, by preconditioned conjugate gradients."""
        missed = float(np.max(np.abs(gradient))) / size
        # Far from the optimum a rough direction is as good; near it the error is to fall with the square of the
        # deviation, or to what the tolerance asks for.
        enough = min(0.1, max(missed, 0.3 * tol / max(missed, tol, 1e-300), 1e-6))
        d: Vector = cg(self.product, -gradient, rtol=enough, maxiter=100, M=self.inverse)[0]
        return d if float(d @ gradient) < 0 else -gradient


def derivative(sides: Sides, held: Held) -> Callable[[Vector], Vector]:
    """Held entries of the derivative along Z(h) from the side of `fewer`; from B, what is missing to h.

    With F that side and P = F F^T, the part within it is P Z P: (P * P) h for the diagonal, and little more to compute
    for entries among a few rows.
    """
    R = held.among
    if len(R) and FEW * len(R) > held.n:
        return lambda h: 2 * held.entries(sides.fewer, sides.half(held.left(sides.fewer, h)).T)
    P = sides.fewer @ (sides.fewer[R].T if len(R) else sides.fewer.T)
    within = (sides.fewer @ sides.fewer.T) ** 2 if len(R) else P**2

    def part(h: Vector) -> Vector:
        across = sides.fewer @ (sides.between * (held.left(sides.fewer, h) @ sides.more))
        V_h = 2 * held.entries(across, sides.more)
        V_h[: held.n] += to_numpy(within @ like(h[: held.n], within))
        if len(R):  # what the block has in the diagonal, and what all has in the block
            PB = P @ held.block(h)
            V_h[: held.n] += np.einsum("ij,ij->i", PB, P)
            V_h[held.n :] += ROOT * (P.T @ (P * h[: held.n, None]) + PB[R] @ P[R])[held.first, held.second]
        return V_h

    return part


def preconditioner(sides: Sides, held: Held, ridge: float) -> Callable[[Vector], Vector]:
    """Divide by about the diagonal of V, sum_kl Omega_kl u_ik^2 u_jl^2; a block that is held, in its own eigenvectors.

    With P = A A^T over the rows of a block, and one number t for all of tau, V H = P H P + t (P H Q + Q H P),
    Q = I - P, which the eigenvectors of P make diagonal. A block that is nearly singular makes P so, too.
    """
    sums, mixed, B2 = sides.squares()
    diagonal: Vector = to_numpy(sums**2 + 2 * namespace(B2).sum(mixed * B2, axis=1)) + ridge
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
