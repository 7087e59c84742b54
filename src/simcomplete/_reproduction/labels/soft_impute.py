"""SoftImpute (Mazumder, Hastie and Tibshirani, JMLR 11, 2010): a reference implementation to compare with.

Repeat Z <- S_lambda(P_known(X) + P_missing(Z)), S_lambda the soft threshold of singular values, along a falling path of
lambda with warm starts. Features are centred at their observed means. Lambda is the one that finds a tenth of the known
values, hidden for this, best; then all known values are used.
"""

from __future__ import annotations

import numpy as np
import scipy.linalg

from simcomplete._types import Mask, Matrix

STEPS = 12  # values of lambda
SMALLEST = 0.005  # lambda, relative to the largest singular value
ITERATIONS = 100
TOLERANCE = 1e-4
HIDDEN = 0.1


def soft_impute(X: Matrix, seed: int = 0) -> Matrix:
    """Fill in rows with NaN."""
    known = ~np.isnan(X)
    centre = np.where(known, X, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    Y = np.where(known, X - centre, 0.0)
    hidden = known & (np.random.default_rng(seed).random(X.shape) < HIDDEN)
    top = float(np.linalg.norm(Y, 2)) or 1.0
    path = top * np.geomspace(0.9, SMALLEST, STEPS)
    best, least, Z = path[0], np.inf, np.zeros_like(Y)
    worse = 0
    for size in path:
        Z = converge(Y, known & ~hidden, Z, size)
        error = float(np.mean((Z - Y)[hidden] ** 2))
        best, least, worse = (size, error, 0) if error < least else (best, least, worse + 1)
        if worse == 3:
            break
    Z = np.zeros_like(Y)
    for size in path[path >= best]:
        Z = converge(Y, known, Z, size)
    return np.where(known, X, Z + centre)


def converge(Y: Matrix, known: Mask, Z: Matrix, size: float) -> Matrix:
    """Iterate at one lambda from a given start."""
    for _ in range(ITERATIONS):
        new = shrink(np.where(known, Y, Z), size)
        moved, whole = float(np.sum((new - Z) ** 2)), float(np.sum(Z**2))
        Z = new
        if moved <= TOLERANCE**2 * whole or not Z.any():
            break
    return Z


def shrink(A: Matrix, size: float) -> Matrix:
    """Lower all singular values by `size`, those below it to 0.

    Only the large ones are asked for, as eigenvalues of the smaller product of A with itself: they are `SMALLEST` of
    the largest at least, so that squares lose nothing, and a whole decomposition takes several times as long.

    Examples
    --------
    >>> shrink(np.diag([3.0, 1.0]), 2.0).round(12) + 0.0
    array([[1., 0.],
           [0., 0.]])
    """
    wide = A.shape[0] < A.shape[1]
    squares, W = scipy.linalg.eigh(A @ A.T if wide else A.T @ A, subset_by_value=(size**2, np.inf))
    lowered = (W * (1.0 - size / np.sqrt(squares))) @ W.T
    found: Matrix = lowered @ A if wide else A @ lowered
    return found
