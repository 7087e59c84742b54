"""A matrix of another array library: repaired where it lies, on a GPU for example.

Newton's method on the dual needs one eigendecomposition and a few products per step, which the library of the array
does; vectors travel to NumPy. What a valid problem needs is looked at on the device, too; a matrix that has something
to mend or to refuse is read in NumPy, where that is done and told.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._correlation.bound import row_tol, sharper
from simcomplete._correlation.given import LARGE, Given, given_correlation
from simcomplete._correlation.held import Held
from simcomplete._correlation.labels import Labelled
from simcomplete._correlation.newton import newton
from simcomplete._correlation.repair import Proof
from simcomplete._correlation.solve import Solved, concluded, shown_nearest, with_entries
from simcomplete._method.iterate import Limits
from simcomplete._rows.xp import (
    Array,
    astype,
    copied,
    diagonal,
    is_array,
    is_dask,
    is_numpy,
    like,
    namespace,
    set_diagonal,
    to_numpy,
)
from simcomplete._types import Vector


def is_elsewhere(A: Any) -> bool:
    """Whether A is an array of another library than NumPy, in memory."""
    return is_array(A) and not is_numpy(A) and not is_dask(A)


def read_on_device(A: Array, *, rescale: bool) -> tuple[Given, Array] | None:
    """The matrix in double precision where it lies, and what is told of it; None where entries are unknown."""
    xp = namespace(A)
    floating = A.dtype in (xp.float32, xp.float64)
    if floating and len(A.shape) == 2 and A.shape[0] == A.shape[1] > 0 and rescale is False:
        S = astype(A, xp.float64)
        # NaN is not equal to itself, so that unknown entries are no symmetric ones.
        whole = bool(xp.all(S == S.T)) and bool(xp.all(diagonal(S) == 1)) and float(xp.max(xp.abs(S))) <= LARGE
        if whole:
            values = to_numpy(S)
            return Given(Labelled(values), values, np.ones((1, 1), dtype=bool), values, ()), S
    given = given_correlation(A, rescale=rescale)
    return (given, like(given.values, A)) if given.known.all() else None


def newton_on_device(
    given: Given, S: Array, rows: Vector | None, floor: float, tol: float, limits: Limits, start: Vector | None
) -> tuple[Solved, Array]:
    """Weights by row and a floor, as `by_newton`; the matrix in NumPy, and where it was made.

    Examples
    --------
    >>> from simcomplete._correlation.newton import QUIET
    >>> A = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [0.0, 1.0, 1.0]])
    >>> newton_on_device(given_correlation(A), A, None, 0.0, 1e-10, QUIET, None)[1].round(4)
    array([[1.    , 0.7607, 0.1573],
           [0.7607, 1.    , 0.7607],
           [0.1573, 0.7607, 1.    ]])
    """
    n, xp = given.n, namespace(S)
    root = np.ones(n) if rows is None else np.sqrt(rows / rows.max())
    b = root**2 * (1 - floor)
    G = scaled_by(S, root)
    set_diagonal(G, like(b, S))
    usable = start is not None and len(start) == n
    Y, run = newton(G, b, row_tol(tol, b), limits, start=start if usable else None)
    if run.best.matrix is None and run.best.w[0] > np.max(np.abs(run.best.y)):  # S itself is positive definite
        Y = copied(G)
    own = to_numpy(diagonal(Y))
    alive = own > np.finfo(np.float64).eps * max(float(own.max()), 0.0)
    X = scaled_by(Y, np.sqrt(np.where(alive, b, 0.0) / np.where(alive, own, 1.0)))
    set_diagonal(X, like(b, S))
    objective, lower = float(xp.sum((X - G) ** 2)), float(run.best_facts["lower_bound"])
    compared = with_entries(given.values * np.outer(root, root), b.min())
    if run.status.ok and Proof.moves(objective, compared):
        lower = sharper(lower, objective, X, G, run.best.y, Held.diagonal(b))
    X = scaled_by((X + X.T) / 2, 1 / root)  # products of other libraries are symmetric but for rounding
    set_diagonal(X, like(np.ones(n), S))
    top = 1.0 if rows is None else float(rows.max()) ** 2
    done = concluded(compared * np.sqrt(top), to_numpy(X), objective * top, lower * top, run, run.best.y)
    return shown_nearest(done, tol, b, top), X


def scaled_by(S: Array, by: Vector) -> Array:
    """Rows and columns times numbers."""
    v = like(by, S)
    return S * (v[:, None] * v[None, :])  # symmetric to the last bit
