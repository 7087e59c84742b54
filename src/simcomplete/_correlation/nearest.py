"""`nearest_correlation`: the valid correlation matrix nearest to one that is not."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._caller import warn_caller
from simcomplete._correlation.constraints import Constraints, constraints
from simcomplete._correlation.given import Given, given_correlation
from simcomplete._correlation.ranked import of_rank
from simcomplete._correlation.repair import Repair
from simcomplete._correlation.solve import Solved, solve_nearest
from simcomplete._method.iterate import Limits
from simcomplete._rows.validate import check_number, check_rank
from simcomplete._types import Vector
from simcomplete.errors import InputError, NotConvergedWarning


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
    max_iter: int = 100,
    progress: bool | None = None,
) -> Repair:
    """The correlation matrix nearest to A: positive semi-definite with unit diagonal.

    Parameters
    ----------
    A : array or frame of shape (n, n)
        Symmetric up to rounding. NaN is an unknown entry. A diagonal other than 1 is replaced by 1.
    weights : array of shape (n,) or (n, n), optional
        By row, w: minimise ``|W^1/2 (X - A) W^1/2|_F``, W = diag(w). By element, H: minimise ``|H * (X - A)|_F``, where
        0 means unknown.
    fixed : array or frame of shape (n, n), optional
        Entries that stay: True where an entry of A does, or the values to have with NaN where free.
    lower, upper : float or array of shape (n, n), optional
        Bounds for entries off the diagonal, NaN where there is none.
    min_eigenvalue : float
        The smallest eigenvalue to have, from 0 to 0.999. With a positive one the result has a Cholesky factor.
    rank : int, optional
        The largest rank to have. This problem is not convex; the certificate says how far it may be from the optimum.
    block : int, optional
        So many leading rows and columns stay as they are among each other.
    rescale : bool
        Divide A by standard deviations, the square roots of its diagonal, first.
    tol : float
        Stop where no constraint is missed by more than this; 1e-8 at least with bounds or weights by element.
    start : Repair, optional
        The repair of a similar matrix, such as yesterday's, to start from.
    max_iter : int
        Most iterations.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    Repair
        `.matrix` is of the kind of A; everything that was mended in A is in `.notes`.

    Raises
    ------
    InputError
        A is not square, complex, infinite or not symmetric; its labels differ between rows and columns; entries to
        hold or bounds contradict each other, which the message names.

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
    given = given_correlation(A, rescale=rescale)
    told = constraints(given, weights, fixed, lower, upper, block, floor)
    limits = Limits(max_iter=check_max_iter(max_iter), progress=progress, label="nearest correlation")
    if rank is not None and check_rank(rank, given.n) < given.n:
        _only_rank(told, floor)
        done, factors = of_rank(given, told, int(rank), limits)
        return repaired(given, done, factors=factors)
    return repaired(given, solve_nearest(given, told, tol, limits, check_start(start, given.n)))


def repaired(given: Given, done: Solved, **more: Any) -> Repair:
    """The result of a run; a run that did not end as asked warns."""
    if not done.status.ok:
        warn_caller(str(done.status), NotConvergedWarning)
    return Repair(
        done.X,
        given.compared,
        done.status,
        done.proof,
        given.notes,
        given.source.labels,
        done.n_iter,
        dual=done.dual,
        wrap=given.source.wrap,
        **more,
    )


def check_start(start: Any, n: int) -> Vector | None:
    """Multipliers of an earlier repair of n rows."""
    if start is None:
        return None
    if not isinstance(start, Repair) or len(start.values) != n:
        what = f"a Repair of {len(start.values)} rows" if isinstance(start, Repair) else type(start).__name__
        raise InputError(f"start is {what}; give the Repair of a matrix of {n} rows, or None")
    return start.dual


def _only_rank(told: Constraints, floor: float) -> None:
    if told.held.any() or told.bounded or floor > 0:
        raise InputError("rank cannot be combined with fixed, block, lower, upper or min_eigenvalue; leave one out")


def check_max_iter(max_iter: Any) -> int:
    """A whole number, at least 1."""
    if isinstance(max_iter, bool) or not isinstance(max_iter, (int, np.integer)) or max_iter < 1:
        raise InputError(f"max_iter={max_iter!r} must be a whole number, at least 1")
    return int(max_iter)
