"""The largest eigenpairs from products with blocks of vectors alone: block Lanczos with thick restarts.

A product with 32 vectors reads the matrix once and costs hardly more than a product with one, so many are taken
together. The basis K is kept orthonormal by projecting twice; when it is full, the best directions in it go on.

References
----------
Wu, Simon, Thick-restart Lanczos method for large symmetric eigenvalue problems, SIAM J. Matrix Anal. Appl. 2000.
"""

from __future__ import annotations

import numpy as np

from simcomplete._rows.budget import require
from simcomplete._rows.progress import track
from simcomplete._rows.xp import Array, like, namespace, to_numpy, zeros
from simcomplete._similarity.operator import Operator
from simcomplete._types import Vector
from simcomplete.errors import SimcompleteError

BLOCK = 32  # vectors in a product
ROOM = 12  # blocks in the basis beside what is wanted, of which one is carried over a restart
TOL = 1e-11  # of the largest eigenvalue: where residuals end
LOOK = 3  # products between two looks at the eigenvalues
PRODUCTS = 2000  # at most
NOTHING = 1e-12  # of the largest eigenvalue: a direction of this length is rounding


def largest_by_products(
    operator: Operator, rank: int, seed: int = 0, *, in_size: bool = False
) -> tuple[Vector, Array] | None:
    """Return the `rank` largest eigenvalues of S0, falling, and their vectors, in the library of S0.

    Parameters
    ----------
    operator : Operator
        S0.
    rank : int
        How many. None is returned where a basis for so many would be as large as S0: decompose it instead.
    seed : int
        Of the first vectors.
    in_size : bool
        The largest in absolute value, of either sign.

    Examples
    --------
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> S = np.diag(np.arange(-60.0, 40.0))
    >>> largest_by_products(DenseSimilarity(S), 3)[0].round(9)
    array([39., 38., 37.])
    >>> largest_by_products(DenseSimilarity(S), 3, in_size=True)[0].round(9)
    array([-60., -59., -58.])
    """
    n, model = operator.n, operator.array
    block = min(BLOCK, (n // 2 - rank) // (ROOM + 1))
    if block < 1:
        return None
    xp, rng = namespace(model), np.random.default_rng(seed)
    most = rank + ROOM * block
    require(2 * n * (most + block) * 8, f"a basis of {n} x {most + block}", "ask for a smaller rank")
    K = zeros(model, (n, most + block), xp.float64)
    T = np.zeros((most, most))
    K[:, :block] = xp.linalg.qr(_random(rng, n, block, model), mode="reduced")[0]
    done = 0  # columns of K that were multiplied; the next `block` are waiting
    for _ in track(iter(range(PRODUCTS)), "eigenvalues, products", operator.progress):  # how many it takes, none knows
        new = slice(done, done + block)
        W = operator.matmul(K[:, new])
        done += block
        W, H = _apart(W, K[:, :done])
        T[:done, new] = to_numpy(H)
        T[new, :done] = T[:done, new].T
        Q, R = _next(W, K[:, :done], NOTHING * float(np.max(np.abs(T))), rng)
        K[:, done : done + block] = Q
        full = done + block > most
        if not full and (done < rank or done % (LOOK * block)):
            continue
        w, Y = np.linalg.eigh(T[:done, :done])
        order = np.argsort(-np.abs(w) if in_size else -w, kind="stable")
        w, Y = w[order], Y[:, order]
        left = np.linalg.norm(R @ Y[done - block :, :rank], axis=0)  # |S0 u - w u|
        if left.max() <= TOL * np.abs(w).max():
            return w[:rank].copy(), K[:, :done] @ like(Y[:, :rank], K)
        if full:
            done = rank + block
            K[:, :done] = K[:, : len(w)] @ like(Y[:, :done], K)
            K[:, done : done + block] = Q
            T[:] = 0.0
            np.fill_diagonal(T[:done, :done], w[:done])
    raise SimcompleteError(
        f"the iterative eigensolver has not found {rank} eigenvalues in {PRODUCTS} products; "
        "use route='partial', or a smaller rank"
    )


def _random(rng: np.random.Generator, n: int, count: int, model: Array) -> Array:
    return like(rng.standard_normal((n, count)), model, dtype=namespace(model).float64)


def _apart(W: Array, K: Array) -> tuple[Array, Array]:
    """W without what lies in the span of K, by two projections, and its coordinates there."""
    H = K.T @ W
    W = W - K @ H
    again = K.T @ W
    return W - K @ again, H + again


def _next(W: Array, K: Array, nothing: float, rng: np.random.Generator) -> tuple[Array, Vector]:
    """Orthonormal directions of W, new random ones where it has no more, and W in them."""
    xp = namespace(W)
    Q, R = xp.linalg.qr(W, mode="reduced")
    R = np.array(to_numpy(R))
    gone = np.abs(np.diag(R)) <= nothing
    if gone.any():
        R[gone] = 0.0
        old, fresh = (like(which, Q, dtype=Q.dtype) for which in (~gone, gone))
        Q = Q * old + _random(rng, int(W.shape[0]), len(gone), W) * fresh
        Q, signs = xp.linalg.qr(_apart(Q, K)[0], mode="reduced")
        Q = Q * like(np.where(np.diag(to_numpy(signs)) < 0, -1.0, 1.0), Q)  # those that were there stay as they were
    return Q, R
