"""`nearest_correlation`: the valid correlation matrix nearest to one that is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._caller import warn_caller
from simcomplete._correlation.constraints import Constraints, constraints, count_up_to, row_weights
from simcomplete._correlation.given import Given, given_correlation
from simcomplete._correlation.on_device import is_elsewhere, newton_on_device, read_on_device
from simcomplete._correlation.ranked import of_rank
from simcomplete._correlation.repair import Repair
from simcomplete._correlation.solve import Solved, solve_nearest
from simcomplete._method.iterate import Limits
from simcomplete._rows.validate import check_number
from simcomplete._types import Vector
from simcomplete.errors import InputError, NotConvergedWarning

ENOUGH = 600  # iterations: Newton's method makes a few, splitting some tens


def nearest_correlation(
    A: Any,
    *,
    weights: Any = None,
    fixed: Any = None,
    lower: Any = None,
    upper: Any = None,
    min_eigenvalue: float = 0.0,
    rank: int | None = None,
    block: int | None = None,
    rescale: bool = False,
    tol: float = 1e-10,
    start: Repair | None = None,
    max_iter: int | None = None,
    progress: bool | None = None,
) -> Repair:
    """Find the correlation matrix nearest to A: positive semi-definite with unit diagonal.

    Parameters
    ----------
    A : array or frame of shape (n, n)
        Symmetric up to rounding. NaN is an unknown entry. A diagonal other than 1 is replaced by 1. A tensor is
        repaired on its device, such as a GPU, where nothing but weights by row and `min_eigenvalue` is asked for.
    weights : array of shape (n,) or (n, n), optional
        By row, w: minimise ``|W^1/2 (X - A) W^1/2|_F``, W = diag(w). By element, H: minimise ``|H * (X - A)|_F``, where
        0 means unknown.
    fixed : array or frame of shape (n, n), optional
        Entries that must not change: True where an entry of A is fixed, or the fixed values with NaN elsewhere. A frame
        may have some of the labels only. Variables with a fixed value of 1 or -1, or within 1e-9 of it
        (noted), get rows that are equal, or opposite.
    lower, upper : float or array of shape (n, n), optional
        Bounds for entries off the diagonal, NaN where there is none; frames as above. If the method does not converge,
        it warns; the result is still valid, but bounds and fixed entries hold only approximately.
    min_eigenvalue : float
        Lower bound on the eigenvalues, from 0 to 0.999. If it is positive, the result has a Cholesky factor.
    rank : int, optional
        Upper bound on the rank. This problem is not convex; the certificate bounds the distance from the optimum.
    block : int, optional
        Number of leading rows and columns whose block must not change.
    rescale : bool
        Divide A by standard deviations, the square roots of its diagonal, first.
    tol : float
        Stop when no constraint is violated by more than this; 1e-8 at least with weights by element, and at
        most with bounds or fixed entries, which are met exactly.
    start : Repair, optional
        The repair of a similar matrix, such as yesterday's, to start from.
    max_iter : int, optional
        Maximum number of iterations, 600 by default.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Repair
        `.matrix` is of the kind of A; `.notes` lists all corrections of A.

    Raises
    ------
    InputError
        A is not square, complex, infinite or not symmetric; its labels differ between rows and columns; fixed entries
        or bounds contradict each other; the message names them.

    Examples
    --------
    >>> import simcomplete as sc
    >>> A = [[1, 0.9, 0.2], [0.9, 1, 0.9], [0.2, 0.9, 1]]
    >>> repair = sc.nearest_correlation(A, min_eigenvalue=1e-8)
    >>> repair.matrix.round(3)
    array([[1.   , 0.796, 0.266],
           [0.796, 1.   , 0.796],
           [0.266, 0.796, 1.   ]])
    >>> repair.cholesky().shape
    (3, 3)
    """
    floor = check_number(min_eigenvalue, "min_eigenvalue", 0.0, 0.999)
    tol = check_number(tol, "tol")
    limits = Limits(max_iter=check_max_iter(max_iter), progress=progress, label="nearest correlation")
    special = (fixed, lower, upper, rank, block)
    if is_elsewhere(A) and all(one is None for one in special) and np.ndim(weights) < 2:
        found = read_on_device(A, rescale=rescale)
        if found is not None:
            rows = row_weights(found[0], weights)
            done, X = newton_on_device(*found, rows, floor, tol, limits, check_start(start, found[0].n))
            return repaired(found[0], done, wrap=lambda _: X)
    given = given_correlation(A, rescale=rescale)
    conditions = constraints(given, weights, fixed, lower, upper, block, floor)
    if rank is not None and count_up_to(rank, "rank", given.n, "rank") < given.n:
        only_rank(conditions, floor)
        done, factors = of_rank(given, conditions, int(rank), limits)
        return repaired(given, done, factors=factors)
    return repaired(given, solve_nearest(given, conditions, tol, limits, check_start(start, given.n)))


def repaired(given: Given, done: Solved, **more: Any) -> Repair:
    """The result of a run; a run that did not end as asked warns."""
    if not done.status.ok:
        warn_caller(str(done.status), NotConvergedWarning)
    return Repair(
        done.X,
        given.compared,
        done.status,
        done.proof,
        (*given.notes, *done.notes),
        given.source.labels,
        done.n_iter,
        dual=done.dual,
        **{"wrap": given.source.wrap, **more},
    )


def check_start(start: Any, n: int) -> Vector | None:
    """Multipliers of an earlier repair of n rows."""
    if start is None:
        return None
    if not isinstance(start, Repair) or len(start.values) != n:
        what = f"a Repair of {len(start.values)} rows" if isinstance(start, Repair) else type(start).__name__
        raise InputError(f"start is {what}; give the Repair of a matrix of {n} rows, or None")
    return start.dual


def only_rank(conditions: Constraints, floor: float) -> None:
    """A rank is refused beside other constraints."""
    if conditions.held.any() or conditions.bounded or floor > 0:
        raise InputError("rank cannot be combined with fixed, block, lower, upper or min_eigenvalue; leave one out")


def check_max_iter(max_iter: Any) -> int:
    """A whole number, at least 1, or what is enough."""
    if max_iter is None:
        return ENOUGH
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise InputError(f"max_iter={max_iter!r} must be a whole number, at least 1")
    return int(max_iter)
