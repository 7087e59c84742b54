"""`shrink_to_valid`: the smallest step towards a valid target that makes a matrix valid."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.linalg import eigh

from simcomplete._correlation.given import Given, given_correlation
from simcomplete._correlation.labels import opened
from simcomplete._correlation.repair import Proof, Repair
from simcomplete._result.status import Status
from simcomplete._rows.validate import check_number
from simcomplete._types import Matrix
from simcomplete.errors import InputError


def shrink_to_valid(
    A: Any, *, target: Any = "identity", block: int | None = None, min_eigenvalue: float = 0.0, rescale: bool = False
) -> Repair:
    """Find the valid matrix alpha T + (1 - alpha) A with the smallest alpha (Higham, Strabic and Sego 2016).

    All entries change by the same rule, and more than with `nearest_correlation`.

    Parameters
    ----------
    A : array or frame of shape (n, n)
        As for `nearest_correlation`, but without unknown entries.
    target : "identity" or array of shape (n, n)
        T, a correlation matrix with eigenvalues above `min_eigenvalue`.
    block : int, optional
        Number of leading rows and columns whose block must not change: T has this block, and is the identity elsewhere.
    min_eigenvalue : float
        The smallest eigenvalue to have.
    rescale : bool
        Divide A by standard deviations first.

    Returns
    -------
    Repair
        `.alpha` is the share of the target.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> repair = sc.shrink_to_valid([[1.0, 1.25], [1.25, 1.0]])
    >>> round(repair.alpha, 6), repair.matrix
    (0.2, array([[1., 1.],
           [1., 1.]]))
    """
    a = check_number(min_eigenvalue, "min_eigenvalue", 0.0, 0.999)
    given = given_correlation(A, rescale=rescale)
    if not given.known.all():
        i, j = map(int, np.argwhere(~given.known)[0])
        raise InputError(
            f"{given.source.place(i, j)} is unknown, and shrinking needs every entry; use nearest_correlation, which "
            "takes unknown entries"
        )
    T = _target(given, target, block, a)
    shift = a * np.eye(given.n)
    mu, x = (part[..., 0] for part in eigh(given.values - shift, T - shift, subset_by_index=(0, 0)))
    alpha = 0.0 if mu >= 0 else float(-mu / (1 - mu))
    X = alpha * T + (1 - alpha) * given.values
    held = given.values == T
    X[held] = given.values[held]
    if alpha == 0:
        message = "the matrix is valid as it is"
    else:
        along = float(x @ (given.values - shift) @ x)
        message = (
            f"alpha = {alpha:.6g} is the smallest: along one direction the matrix has {along:.3g} and the target 1"
        )
    off = float(np.sum(np.square(X - given.values)))
    proof = Proof(off, off, "smallest eigenvalue of the pencil")
    return Repair(
        X, given.compared, Status("optimal", message), proof, given.notes, given.source.labels, 1, alpha,
        wrap=given.source.wrap,
    )  # fmt: skip


def _target(given: Given, target: Any, block: Any, a: float) -> Matrix:
    n = given.n
    T = np.eye(n)
    if block is not None:
        if isinstance(block, bool) or not isinstance(block, (int, np.integer)) or not 1 <= block <= n:
            raise InputError(f"block={block!r} is not a number of leading rows; give a whole number from 1 to {n}")
        if not isinstance(target, str):
            raise InputError("block and an array as target cannot be combined; give one of them")
        T[:block, :block] = given.values[:block, :block]
    elif not isinstance(target, str):
        T = opened(target, "target").aligned(given.source.labels, "target")
    elif target != "identity":
        raise InputError(f"target={target!r} is unknown; use 'identity' or a correlation matrix")
    if (
        T.shape != (n, n)
        or not np.isfinite(T).all()
        or np.abs(T - T.T).max() > 1e-8
        or np.abs(np.diag(T) - 1).max() > 1e-8
    ):
        raise InputError(f"target must be a correlation matrix of shape {(n, n)}: symmetric, with unit diagonal")
    lowest = float(np.linalg.eigvalsh(T)[0])
    if lowest <= a + 1e-14 * n:
        what = f"the leading block of {block} rows" if block is not None else "target"
        raise InputError(
            f"{what} has a smallest eigenvalue of {lowest:.4g}, and one above min_eigenvalue={a:g} is needed; give "
            "another target, or lower min_eigenvalue"
        )
    return (T + T.T) / 2
