"""FMC one query after the other: each is placed against the candidates and the queries before it (OnMC-S, OAMC)."""

from __future__ import annotations

import numpy as np

from simcomplete.baselines.fmc_step import CUT, solve
from simcomplete.baselines.nearest_correlation import Matrix, Vector


def sequential(s: Vector, b: Matrix, C: Matrix, c: Vector, slack: float = 1e-10) -> Matrix:
    """Append queries one by one; the matrix grown so far is F F^T for a factor of k columns, and stays so.

    A query with |y|^2 = c is a new row of F and no new column; one with less gets a column of its own for the rest.
    So each step needs the eigenvectors of the small F^T F only, never those of the matrix.

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
    n_q = len(c)
    rows = np.zeros((n_q, len(s) + n_q))
    gram = np.diag(s)
    for j in range(n_q):
        width = len(gram)
        w, E = np.linalg.eigh(gram)
        kept = w > CUT * w[-1] if width else w > 0
        w, E = w[kept], E[:, kept]
        # F^T v0, candidates first, then the queries already there.
        inner = rows[:j, :width].T @ C[:j, j]
        inner[: len(s)] += np.sqrt(s) * b[:, j]
        y = solve(w, (E.T @ inner)[:, None] / np.sqrt(w)[:, None], c[j : j + 1])[0][:, 0] if len(w) else w
        row = E @ y
        rest = c[j] - row @ row
        if rest > slack * c[j]:
            row = np.append(row, np.sqrt(rest))
            gram = np.pad(gram, (0, 1))
        rows[j, : len(row)] = row
        gram = gram + np.outer(row, row)
    return rows[:, : len(gram)]
