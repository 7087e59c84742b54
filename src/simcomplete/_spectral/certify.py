"""Compute the certificate of a factor, exact or descended to: the same check for every solver."""

from __future__ import annotations

import numpy as np

from simcomplete._result.certificate import Certificate
from simcomplete._rows.xp import Array, like, namespace, to_numpy
from simcomplete._similarity.operator import Operator
from simcomplete._spectral.penalties import SpectralProblem
from simcomplete._types import Vector

EXTRA = 8  # vectors in the block that looks for larger eigenvalues outside
STEPS = 3  # products with it


def certify(problem: SpectralProblem, V: Array, w: Vector, *, verify: bool = True, seed: int = 0) -> Certificate:
    """Judge a factor against the optimum that the `rank` largest eigenvalues `w` of S0 allow.

    Parameters
    ----------
    problem : SpectralProblem
        What V should minimise.
    V : array of shape (n, rank), float64
        The factor.
    w : array of shape (rank,)
        The largest eigenvalues of S0, falling.
    verify : bool
        Also compute the eigen-residual and look for larger eigenvalues outside; costs a few products with S0. Without
        it V is taken for the exact factor and not looked at.
    seed : int
        Of the vectors that look outside.
    """
    shrunk = problem.penalty.shrink(w, problem.weight)
    residual = absolute = outside = None
    if verify:
        gram = to_numpy(V.T @ V)
        rank = numerical_rank(np.linalg.eigvalsh((gram + gram.T) / 2), problem.operator.n)
        SV = problem.operator.matmul(V)
        objective = problem.objective(V, SV)
        directions, products = _directions(V, SV, gram, rank)
        residual, absolute = _residual(directions, products)
        if rank < problem.operator.n:
            outside = largest_outside(problem.operator, directions, seed)
    else:
        # The columns of an exact factor are eigenvectors, so V^T S0 V needs no product.
        rank = numerical_rank(shrunk, problem.operator.n)
        objective = problem.scale + float(np.sum(shrunk**2 - 2 * shrunk * w))
        objective += problem.weight * problem.penalty.value(shrunk)
    return build_certificate(problem, w, objective, rank, (residual, absolute, outside), verify)


def build_certificate(
    problem: SpectralProblem,
    w: Vector,
    objective: float,
    rank: int,
    residuals: tuple[float | None, float | None, float | None],
    verified: bool,
) -> Certificate:
    """Write the certificate; `residuals` are relative, absolute, and the largest eigenvalue outside."""
    bound = problem.optimum(w)
    return Certificate(
        objective=objective,
        lower_bound=bound,
        gap=max(objective - bound, 0.0),
        scale=problem.scale,
        residual=residuals[0],
        absolute_residual=residuals[1],
        largest_outside=residuals[2],
        smallest_kept=float(w[max(rank, 1) - 1]),
        rank=rank,
        rank_below_bound=rank < problem.rank,
        verified=verified,
    )


def numerical_rank(s: Vector, n: int) -> int:
    """How many eigenvalues are more than rounding."""
    return int(np.sum(s > n * np.finfo(np.float64).eps * max(float(np.max(s)), 0.0)))


def _directions(V: Array, SV: Array, gram: Vector, rank: int) -> tuple[Array, Array]:
    """Unit vectors along the kept part of V, and S0 times them.

    The columns of an exact factor are orthogonal and only need scaling; those of a descended one are rotated
    first. Rotating an exact one would mix small columns into large ones.
    """
    if rank == 0:
        return V[:, :0], SV[:, :0]
    length = np.sqrt(np.maximum(np.diag(gram), 0.0))
    safe = np.where(length > 0, length, 1.0)
    correlation = gram / safe[:, None] / safe[None, :]
    if np.max(np.abs(correlation - np.diag(np.diag(correlation)))) < 1e-6:
        kept = np.argsort(-length, kind="stable")[:rank]
        rotation = np.eye(len(length))[:, kept] / length[kept]
    else:
        s, Q = np.linalg.eigh((gram + gram.T) / 2)
        # A descended factor has columns on their way to 0, which point nowhere yet.
        grown = int(np.sum(s > 1e-8 * s[-1]))
        rotation = Q[:, ::-1][:, :grown] / np.sqrt(s[::-1][:grown])
    rotation = like(rotation, V, dtype=V.dtype)
    return V @ rotation, SV @ rotation


def _residual(U: Array, SU: Array) -> tuple[float, float]:
    """Largest |S0 u - w u| / |w| and largest |S0 u - w u|, with w = u^T S0 u."""
    if U.shape[1] == 0:
        return 0.0, 0.0
    xp = namespace(U)
    w = xp.sum(U * SU, axis=0)
    error = xp.sqrt(xp.sum((SU - U * w) ** 2, axis=0))
    return float(xp.max(error / xp.abs(xp.where(w == 0, xp.ones_like(w), w)))), float(xp.max(error))


def largest_outside(operator: Operator, U: Array, seed: int) -> float:
    """Largest eigenvalue a block of random vectors, kept orthogonal to U, finds in a few products.

    Always at most the true one, so it can refute "these are the largest", which a residual cannot.
    """
    xp = namespace(U)
    n = operator.n
    block = min(EXTRA, n - int(U.shape[1]))
    start = like(np.random.default_rng(seed).standard_normal((n, block)), U, dtype=U.dtype)
    basis = [_orthonormal(start, [U])]
    for _ in range(STEPS - 1):
        basis.append(_orthonormal(operator.matmul(basis[-1]), [U, *basis]))
    K = xp.concat(basis, axis=1)
    small = to_numpy(K.T @ operator.matmul(K))
    return float(np.linalg.eigvalsh((small + small.T) / 2)[-1])


def _orthonormal(X: Array, against: list[Array]) -> Array:
    xp = namespace(X)
    before = float(xp.max(xp.abs(X)))
    for _ in range(2):  # twice is enough
        for U in against:
            X = X - U @ (U.T @ X)
    Q, R = xp.linalg.qr(X, mode="reduced")
    # Directions that were already spanned come out as noise: leave them at zero.
    size = xp.abs(xp.linalg.diagonal(R))
    return Q * xp.astype(size > 1e-10 * before, Q.dtype)
