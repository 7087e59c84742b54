"""A leading block that is held and singular: the problem in the eigenvectors that it has.

S with S_pp = U diag(s) U^T is positive semi-definite only as [[U, 0], [0, I]] M [[U, 0], [0, I]]^T, and since U is
orthonormal, M is the matrix nearest to [[diag(s), U^T B], [B^T U, C]] that holds diag(s). Without this the multipliers
of the block would have to become infinite.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import block_diag

from simcomplete._correlation.newton import newton
from simcomplete._method.iterate import Limits
from simcomplete._types import Matrix, Vector

ZERO = 1e-9  # eigenvalues of the block up to this share of the largest


def with_singular_block(G: Matrix, b: Vector, k: int, tol: float, limits: Limits) -> tuple[Matrix, Any, float] | None:
    """The nearest matrix that holds a singular leading block of k rows, its run and lower bound; None if it is regular.

    Examples
    --------
    >>> from simcomplete._correlation.newton import QUIET
    >>> G = np.array([[1.0, 1.0, 0.9], [1.0, 1.0, -0.5], [0.9, -0.5, 1.0]])
    >>> with_singular_block(G, np.ones(3), 2, 1e-10, QUIET)[0].round(3)  # equal rows: both have the mean
    array([[1. , 1. , 0.2],
           [1. , 1. , 0.2],
           [0.2, 0.2, 1. ]])
    """
    own = own_directions(G[:k, :k])
    if own is None:
        return None
    s, U = own
    r, B = len(s), G[:k, k:]
    M0 = np.block([[np.diag(s), U.T @ B], [B.T @ U, G[k:, k:]]])
    held = np.zeros(M0.shape, dtype=bool)
    held[:r, :r] = True
    M, run = newton(M0, np.concatenate([s, b[k:]]), tol, limits, held=held)
    cross = U @ M[:r, r:]
    X = np.block([[G[:k, :k], cross], [cross.T, M[r:, r:]]])
    lost = 2 * float(np.sum(np.square(B - U @ (U.T @ B))))  # what no valid matrix can have
    return X, run, float(run.best_facts["lower_bound"]) + lost


def own_directions(B: Matrix) -> tuple[Vector, Matrix] | None:
    """Eigenvalues other than 0 of a positive semi-definite matrix, and their eigenvectors; None where none is 0."""
    s, U = np.linalg.eigh(B)
    kept = s > ZERO * s[-1]
    return None if kept.all() else (s[kept], U[:, kept])


def face_of_block(B: Matrix, n: int) -> Matrix | None:
    """What every positive semi-definite matrix of n rows with the leading block B is combined of; None of all.

    Examples
    --------
    >>> face_of_block(np.ones((2, 2)), 3).round(3)
    array([[0.707, 0.   ],
           [0.707, 0.   ],
           [0.   , 1.   ]])
    """
    own = own_directions(B)
    return None if own is None else block_diag(own[1], np.eye(n - len(B)))
