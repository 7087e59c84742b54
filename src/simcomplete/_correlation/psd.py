"""The positive semi-definite part of a matrix, and scaling to a diagonal: what every engine here stands on."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh

from simcomplete._rows.partial_eigen import eigenpairs_of
from simcomplete._rows.xp import is_numpy, namespace, to_numpy
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

PART = 4  # one side of the spectrum is computed alone when it has at most n / PART eigenvalues


def psd_part(T: Matrix, positive: int | None = None) -> tuple[Matrix, int]:
    """The nearest positive semi-definite matrix, and how many eigenvalues are positive.

    Parameters
    ----------
    T : array of shape (n, n)
        Symmetric.
    positive : int, optional
        About how many eigenvalues are positive, if known: the smaller side of the spectrum is computed alone, where
        that is cheaper. S0 of n_p complete candidates has at most n - n_p negative ones.

    Examples
    --------
    >>> psd_part(np.array([[0.0, 1.0], [1.0, 0.0]]))  # eigenvalues 1 and -1
    (array([[0.5, 0.5],
           [0.5, 0.5]]), 1)
    """
    n = len(T)
    if positive is not None and PART * (n - positive) <= n:
        w, U = eigenpairs_of(T, value=(-np.inf, 0.0), check_finite=False)
        return T + psd_gram(U * np.sqrt(-w)), n - len(w)
    if positive is not None and PART * positive <= n:
        w, U = eigenpairs_of(T, value=(0.0, np.inf), check_finite=False)
        return psd_gram(U * np.sqrt(w)), len(w)
    w, U = eigh(T, driver="evd", check_finite=False)
    up = positive_ones(w)
    return psd_gram(U[:, up] * np.sqrt(w[up])), int(up.sum())


def positive_ones(w: Vector) -> NDArray[np.bool_]:
    """Which eigenvalues are above 0 and no rounding of it: singular S0 are common, and runs must not depend on luck."""
    # In single precision n times its rounding would cut eigenvalues that matter.
    rounding = (len(w) if w.dtype == np.float64 else 1) * np.finfo(w.dtype).eps
    return w > rounding * float(np.max(np.abs(w)))


def is_positive_definite(S: Matrix) -> bool:
    """Whether a symmetric matrix has a Cholesky factor.

    Examples
    --------
    >>> is_positive_definite(np.eye(2)), is_positive_definite(np.ones((2, 2)))
    (True, False)
    """
    try:
        np.linalg.cholesky(S)
    except np.linalg.LinAlgError:
        return False
    return True


def decomposed(T: Any, *, overwrite: bool = False) -> tuple[Vector, Any]:
    """Eigenvalues in NumPy, ascending, and eigenvectors where T is: NumPy, or another library and its device.

    Examples
    --------
    >>> w, U = decomposed(np.diag([2.0, 1.0]))
    >>> w, np.abs(U)
    (array([1., 2.]), array([[0., 1.],
           [1., 0.]]))
    """
    if is_numpy(T):
        w, U = eigh(T, driver="evd", check_finite=False, overwrite_a=overwrite)
        return w, U
    w, U = namespace(T).linalg.eigh(T)
    return to_numpy(w), U


def psd_gram(F: Matrix) -> Matrix:
    """F F^T, symmetric to the last bit: one triangle is computed and copied."""
    return F @ F.T


def with_diagonal(X: Matrix, b: Vector) -> Matrix:
    """Scale rows and columns of a positive semi-definite X to the diagonal b >= 0: S = D^-1/2 X D^-1/2 for b = 1.

    Examples
    --------
    >>> with_diagonal(np.array([[4.0, 2.0], [2.0, 4.0]]), np.ones(2))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    own = np.diag(X)
    alive = own > np.finfo(np.float64).eps * max(float(own.max()), 0.0)  # less is rounding, and has no direction
    scale = np.sqrt(np.where(alive, b, 0.0) / np.where(alive, own, 1.0))
    S: Matrix = X * np.outer(scale, scale)
    np.fill_diagonal(S, b)
    return S


def target_diagonal(S0: Matrix) -> Vector:
    """The diagonal to keep, or say that no positive semi-definite matrix has it."""
    b: Vector = np.diag(S0).copy()
    if b.min() < 0:
        i = int(b.argmin())
        raise InputError(
            f"S0[{i}, {i}] = {b[i]:.4g} is negative, and no positive semi-definite matrix has such a diagonal; "
            "give 1 there, or use method='smcnn', which does not keep the diagonal"
        )
    return b
