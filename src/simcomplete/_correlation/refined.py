"""The last steps of Newton's method without another decomposition: eigenpairs moved to the first order.

Near the optimum a step d is so small that the positive part of T + Z, Z = Z(d), follows from the eigenpairs of T. Those
of eigenvalues next to 0, few, are first turned among each other to what Z makes of them. With A, B the eigenvectors of
positive and other eigenvalues a, b, and E = Z in these, without the block of those turned,

    (T + Z)_+ = F F^T,   F = A (a^1/2 + G) + B K a^1/2,
    G_ij = E_ij / (a_i^1/2 + a_j^1/2),   K_ij = E_ij / (a_j - b_i),

up to terms of |E|^2 / gap, the gap being that to eigenvalues next to 0; F F^T is positive semi-definite whatever d is.
The bound is as exact: theta(y + d) <= |T + Z + N|_F^2 / 2 - b.(y + d) for every positive semi-definite N, and
N = (B - A K^T) C (B - A K^T)^T with C = -(diag(b) + E) among B, which is the negative part to the first order.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcomplete._correlation.direction import System
from simcomplete._correlation.dual import SINGLE, Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.psd import psd_gram
from simcomplete._rows.xp import Array, astype, is_float32, like, namespace, to_numpy
from simcomplete._types import Vector

NEAR = 1e-3  # constraints that are missed by less may be met by such steps
GAP = 1e2  # eigenvalues within so many norms of Z are next to 0,
LEAST = 1e1  # or within so many, where they would be too many:
WINDOW = 8  # at most one in so many
STEPS, NEARER = 4, 0.1  # how many such steps, and what each has to leave of what constraints are missed by


def refined(here: Dual, held: Held, system: System, d: Vector, size: float, tol: float) -> Dual | None:
    """The point where no constraint is missed by more than tol * size; None where it is too far for such steps.

    `size` is that of the constraints, `system` the linear one of `here`, and d its solution.
    """
    missed = here.gradient
    for _ in range(STEPS):
        found = Moved.by(here, held, d)
        if found is None:
            return None
        before, missed = float(np.max(np.abs(missed))), held.entries(found.F, found.F) - held.target
        now = float(np.max(np.abs(missed)))
        if now <= tol * size:
            theta = min(found.theta(), here.theta)
            return replace(here, y=here.y + d, theta=theta, gradient=missed, matrix=psd_gram(found.F), step=1.0)
        if now > NEARER * before:
            return None
        d = d + system.solve(missed, size, tol)
    return None


@dataclass(frozen=True)
class Moved:
    """What a step d makes of the eigenpairs of T.

    Attributes
    ----------
    F : array of shape (n, k)
        With F F^T = (T + Z)_+ to the first order.
    held : Held
        The constraints.
    norm, unit, edge : float, array, float
        Of Z, and d divided by it: E and K are in units of the first. Eigenvalues that were turned were below the last.
    a, b, B : arrays
        Eigenvalues that are positive; the others, and their eigenvectors.
    within, across, K, BK : arrays
        E among positive ones, and between them and the others; K^T; B K.
    turned, inner : int, array
        How many of the last of B were turned, and Z among them.
    base : float
        Twice theta at y + d, to the first order.
    """

    F: Array
    held: Held
    norm: float
    unit: Vector
    edge: float
    a: Array
    b: Array
    B: Array
    within: Array
    across: Array
    K: Array
    BK: Array
    turned: int
    inner: Array
    base: float

    @classmethod
    def by(cls, here: Dual, held: Held, d: Vector) -> Moved | None:
        """The eigenpairs moved; None where d is too large.

        Examples
        --------
        >>> T = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
        >>> held = Held.of(np.eye(3))
        >>> w, U = np.linalg.eigh(T)
        >>> d = np.array([1e-7, -1e-7, 2e-7])
        >>> F = Moved.by(Dual(np.zeros(3), w, U, 0.0, np.zeros(3)), held, d).F
        >>> moved, V = np.linalg.eigh(T + np.diag(d))
        >>> bool(np.abs(F @ F.T - (V * np.maximum(moved, 0)) @ V.T).max() < 1e-12)
        True
        """
        n, norm, xp = len(here.w), held.norm(d), namespace(here.U)
        edge = min(GAP * norm, float(np.partition(np.abs(here.w), n // WINDOW)[n // WINDOW]))
        low, high = map(int, np.searchsorted(here.w, [-edge, edge]))
        if edge < LEAST * norm or high == n or high == 0:
            return None
        near, old = here.U[:, low:high], here.w[low:high]
        E = to_numpy(held.left(near, d) @ near)
        mu, turn = np.linalg.eigh(np.diag(old) + (E + E.T) / 2)
        U = xp.concat([here.U[:, :low], near @ like(turn, near), here.U[:, high:]], axis=1) if len(mu) else here.U
        w, k = np.concatenate([here.w[:low], mu, here.w[high:]]), int(low + np.sum(mu <= 0))
        V: Any = astype(U, xp.float32) if n >= SINGLE else U  # what is added is small: half the digits are enough
        kind = np.float32 if is_float32(V) else np.float64
        unit: Vector = np.asarray(d / norm, dtype=kind)
        A, B = V[:, k:], V[:, :k]
        a, b = like(w[k:].astype(kind), V), like(w[:k].astype(kind), V)
        M = held.left(A, unit)
        within, across = M @ A, M @ B
        within[: high - k, : high - k] = 0.0
        across[: high - k, low:] = 0.0
        root, K = a**0.5, across / (a[:, None] - b)
        BK = B @ K.T
        added = A @ (within / (root[:, None] + root)) + BK * root
        F = U[:, k:] * like(np.sqrt(w[k:]), U) + norm * astype(added, xp.float64)
        inner = turn[:, : k - low].T @ (E / norm) @ turn[:, : k - low]
        # Of eigenvalues further from 0 the square and what it grows by to the first order; of those turned, the new.
        base = 2 * float(here.theta + d @ here.gradient)
        base += float(np.sum(np.square(w[k:high])) - np.sum((old * (old + 2 * np.diag(E)))[max(here.below - low, 0) :]))
        return cls(
            F, held, norm, unit, edge, a, b, B, within, across, K, BK, k - low, like(inner.astype(kind), V), base
        )

    def theta(self) -> float:
        """A bound of theta at y + d from above, exact to the second order."""
        xp, t, far = namespace(self.K), self.norm, self.b.shape[0] - self.turned
        CK = -self.b * self.K - t * (self.held.left(self.BK, self.unit) @ self.B)  # transposed
        # C is positive definite among eigenvalues far from 0, and with some slack among all.
        slack = t**2 / (self.edge - t) if self.turned else 0.0
        CK[:, far:] += t * (self.K[:, far:] @ self.inner) + slack * self.K[:, far:]
        within, across = self.within + t * (self.K @ CK.T), self.across - CK
        second = 2 * self.a[:, None] * (self.K * CK)

        def total(x: Array) -> float:
            return float(xp.sum(x, dtype=xp.float64))

        squares = total(second) + total(within * within) + 2 * total(across * across)
        return (self.base + t * t * squares + self.turned * slack**2) / 2
