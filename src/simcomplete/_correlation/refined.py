"""The last step of Newton's method without another decomposition: eigenpairs moved to the first order.

Near the optimum a step d is so small that the positive part of T + Z(d) follows from the eigenpairs of T: with A, B the
eigenvectors of its positive and other eigenvalues a, b, and Z = Z(d),

    (T + Z)_+ = F F^T,   F = A (a^1/2 + G) + B K a^1/2,
    G_ij = (A^T Z A)_ij / (a_i^1/2 + a_j^1/2),   K_ij = (B^T Z A)_ij / (a_j - b_i),

up to terms of |Z|^2 / gap, the gap being that between both sides; F F^T is positive semi-definite whatever d is.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from simcomplete._correlation.dual import SINGLE, Dual
from simcomplete._correlation.held import Held
from simcomplete._correlation.psd import psd_gram
from simcomplete._rows.xp import astype, is_float32, like, namespace
from simcomplete._types import Vector

NEAR = 1e-6  # constraints that are missed by less may be met by it
GAP = 1e2  # times the step, which both sides of the spectrum must be apart at least; what is missed is looked at anyway


def refined(here: Dual, held: Held, d: Vector) -> Dual | None:
    """The point with the matrix that the step d leads to; its bound stays that of `here`. None where d is too large.

    Examples
    --------
    >>> T = np.array([[1.0, 0.9, 0.0], [0.9, 1.0, 0.9], [0.0, 0.9, 1.0]])
    >>> held = Held.of(np.eye(3))
    >>> w, U = np.linalg.eigh(T)
    >>> d = np.array([1e-7, -1e-7, 2e-7])
    >>> found = refined(Dual(np.zeros(3), w, U, 0.0, np.zeros(3)), held, d).primal()
    >>> moved, V = np.linalg.eigh(T + np.diag(d))
    >>> bool(np.abs(found - (V * np.maximum(moved, 0)) @ V.T).max() < 1e-12)
    True
    """
    k = here.below
    a, b = here.w[k:], here.w[:k]
    if not len(a) or not len(b):
        return None
    size = float(np.max(np.abs(d)))
    if float(a.min() - b.max()) < GAP * size or float(a.min()) < GAP * size:
        return None
    V, scale = here.U, 1.0
    if len(here.w) >= SINGLE:  # what is added is as small as d, so that half the digits are enough; in units of d
        V, scale = astype(V, namespace(V).float32), size
    A, B, kind = V[:, k:], V[:, :k], np.float32 if is_float32(V) else np.float64
    M = held.left(A, (d / scale).astype(kind))
    a, b = like(a.astype(kind), A), like(b.astype(kind), A)
    root = a**0.5
    G = (M @ A) / (root[:, None] + root)
    K = (M @ B).T / (a - b[:, None])
    added = astype(A @ G + B @ (K * root), namespace(here.U).float64)
    F = here.U[:, k:] * like(np.sqrt(here.w[k:]), here.U) + scale * added
    return replace(here, gradient=held.entries(F, F) - held.target, matrix=psd_gram(F), step=1.0)
