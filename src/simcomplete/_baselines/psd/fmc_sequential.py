"""FMC one query after the other: each is placed against the candidates and the queries before it (OnMC-S, OAMC)."""

from __future__ import annotations

import numpy as np
from scipy.linalg import cho_factor, cho_solve

from simcomplete._baselines.psd.fmc_step import CUT, STEPS, place_queries
from simcomplete._types import Matrix, Vector

CLEAR = 1e-8  # of the largest eigenvalue: a multiplier above this keeps the small systems well conditioned
SETTLED = 1e-9  # of the multiplier: Newton's next step, its square, is below rounding


def sequential(s: Vector, b: Matrix, C: Matrix, c: Vector, slack: float = 1e-10) -> Matrix:
    """Append queries one by one; the matrix grown so far is F F^T for a factor of k columns, and stays so.

    A query with |y|^2 = c is a new row of F and no new column; one with less gets a column of its own for the rest.
    So F^T F = diag(s) + R^T R, R the rows of the queries so far, and most steps need a system of their number only.

    Parameters
    ----------
    s : array of shape (k,)
        Eigenvalues of the candidates' similarities, above 0: in their eigenvectors F^T F = diag(s).
    b : array of shape (k, n_q)
        The queries' similarities to candidates in those eigenvectors.
    C, c : arrays of shape (n_q, n_q) and (n_q,)
        Similarities among queries, and their diagonal.
    slack : float
        Share of c below which the rest is rounding.

    Returns
    -------
    rows : array of shape (n_q, k + m)
        The queries' rows of F, the m further columns being 0 for candidates.

    Examples
    --------
    >>> sequential(np.ones(1), np.array([[0.6, 2.0]]), np.array([[1.0, 0.6], [0.6, 1.0]]), np.ones(2)).round(3)
    array([[0.6, 0.8],
           [1. , 0. ]])
    """
    n_q, k = len(c), len(s)
    rows = np.zeros((n_q, k + n_q))
    base = np.zeros(k + n_q)
    base[:k] = s
    width = k
    for j in range(n_q):
        R = rows[:j, :width]
        # F^T v0, candidates first, then the queries already there.
        inner = R.T @ C[:j, j]
        inner[:k] += np.sqrt(s) * b[:, j]
        y = at_boundary(base[:width], R, inner, c[j])
        y = inside(base[:width], R, inner, c[j]) if y is None else y
        rows[j, :width] = y
        rest = c[j] - y @ y
        if rest > slack * c[j]:
            rows[j, width] = np.sqrt(rest)
            width += 1
    return rows[:, :width]


def inside(base: Vector, R: Matrix, inner: Vector, c: float) -> Vector:
    """Minimise |F y - v0|^2 over |y|^2 <= c, F^T F = diag(base) + R^T R and F^T v0 = inner, by its eigenvectors."""
    if not len(base):
        return base
    w, E = np.linalg.eigh(np.diag(base) + R.T @ R)
    kept = w > CUT * w[-1]
    w, E = w[kept], E[:, kept]
    y = place_queries(w, (E.T @ inner)[:, None] / np.sqrt(w)[:, None], np.array([c]))[0][:, 0]
    return np.asarray(E @ y)


def at_boundary(base: Vector, R: Matrix, inner: Vector, c: float) -> Vector | None:
    """The same where |y|^2 = c with a multiplier clear of 0, else None: no eigenvectors.

    (diag(base + lam) + R^T R) y = inner is solved by a system of the size of R's rows (Sherman, Morrison, Woodbury),
    lam found as in `solve`.

    Examples
    --------
    >>> at_boundary(np.ones(2), np.zeros((0, 2)), np.array([3.0, 4.0]), 1.0).round(6)
    array([0.6, 0.8])
    >>> at_boundary(np.ones(2), np.zeros((0, 2)), np.array([0.3, 0.4]), 1.0)  # short enough as it is
    """
    if c <= 0 or not base.any():
        return None
    top = float(base.max())
    low = CLEAR * top
    # No eigenvalue is above top + |R|_F^2, so |y| >= |inner| / (that + lam), and lam is at least this:
    lam = max(low, float(np.linalg.norm(inner)) / c**0.5 - top - float(np.sum(R * R)))
    for _ in range(STEPS):
        y, again = _solved(base + lam, R, inner)
        length = float(y @ y)
        if length <= c and lam == low:
            return None
        step = length * ((length / c) ** 0.5 - 1) / float(y @ again)
        lam += step
        if step <= SETTLED * lam:
            break
    y = _solved(base + lam, R, inner)[0]
    return np.asarray(y * (c**0.5 / np.linalg.norm(y)))  # the last digit of |y|^2 = c


def _solved(d: Vector, R: Matrix, x: Vector) -> tuple[Vector, Vector]:
    """A^-1 x and A^-2 x for A = diag(d) + R^T R."""
    W = R / d
    if not len(R):
        return x / d, x / d**2
    try:
        small = cho_factor(np.eye(len(R)) + W @ R.T, check_finite=False)
    except np.linalg.LinAlgError:  # the 1 is lost beside the rest: the larger system, whose parts are all in view
        w, V = np.linalg.eigh(np.diag(d) + R.T @ R)
        w, along = np.maximum(w, np.finfo(np.float64).eps * w[-1]), V.T @ x
        return V @ (along / w), V @ (along / w**2)

    def once(x: Vector) -> Vector:
        return np.asarray(x / d - W.T @ cho_solve(small, W @ x, check_finite=False))

    y = once(x)
    return y, once(y)
