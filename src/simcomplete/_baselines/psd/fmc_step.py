"""One query against exact candidates: the step that FMC, OnMC and OAMC share, for all queries at once."""

from __future__ import annotations

import numpy as np

from simcomplete._types import Matrix, Vector

CUT = 1e-10  # eigenvalues of the candidates up to this share of the largest are rounding of 0
STEPS = 60  # of the root finder; some eight are enough


def place_queries(s: Vector, b: Matrix, c: Vector) -> tuple[Matrix, Vector]:
    """Place queries: minimise |diag(sqrt(s)) y - b|^2 over |y|^2 <= c, one column each.

    Where y = b / sqrt(s) is too long, y = b sqrt(s) / (s + lam) with the root lam of
    g(lam) = sum_i b_i^2 s_i / (s_i + lam)^2 = c, which lies between beta - max(s) and beta - min(s),
    beta = sqrt(sum s b^2 / c). Newton's method on g^-1/2 - c^-1/2, nearly a straight line, rises to it from the left.

    Parameters
    ----------
    s : array of shape (k,)
        Eigenvalues of the candidates' similarities, above 0.
    b : array of shape (k, n_q)
        The queries' similarities in their eigenvectors.
    c : array of shape (n_q,)
        Diagonal of the queries, at least 0.

    Returns
    -------
    y, lam : arrays of shape (k, n_q) and (n_q,)
        lam is 0 where the query was short enough.

    Examples
    --------
    S = I: the nearest v of length at most 1.

    >>> y, lam = place_queries(np.ones(2), np.array([[3.0, 0.5], [4.0, 0.0]]), np.ones(2))
    >>> y.round(6)
    array([[0.6, 0.5],
           [0.8, 0. ]])
    >>> lam.round(6)
    array([4., 0.])
    """
    y = b / np.sqrt(s)[:, None]
    lam = np.zeros(len(c))
    long = np.sum(y * y, axis=0) > c
    y[:, long & (c == 0)] = 0.0
    long &= c > 0
    if not long.any():
        return y, lam
    c, squares = c[long], np.square(b[:, long]) * s[:, None]
    beta = np.sqrt(np.sum(squares, axis=0) / c)
    low, high = np.maximum(beta - s.max(), 0.0), beta - s.min()
    root = low
    for _ in range(STEPS):
        sums = s[:, None] + root
        g = np.sum(squares / sums**2, axis=0)
        slope = -2 * np.sum(squares / sums**3, axis=0)
        better = np.clip(root + 2 * g * (1 - np.sqrt(g / c)) / slope, low, high)
        done = np.abs(better - root) <= 4 * np.finfo(np.float64).eps * (s.min() + better)
        root = better
        if done.all():
            break
    placed = b[:, long] * np.sqrt(s)[:, None] / (s[:, None] + root)
    y[:, long] = placed * (np.sqrt(c) / np.linalg.norm(placed, axis=0))  # the last digit of |y|^2 = c
    lam[long] = root
    return y, lam
