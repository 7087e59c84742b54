"""Covariances with weights, unknown pairs, held entries and bounds: the problem of correlations after scaling.

With the variances b kept and a floor a for the eigenvalues, X - a I has the diagonal b - a, so that

    X_ij = s_i s_j R_ij,   s = sqrt(b - a),   R a correlation matrix,

and the distance of covariances is that of R with row weights s^2. Distances of correlations need s = sqrt(b) only.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcomplete._correlation.constraints import ROUNDING, Constraints, as_bound, constraints, is_boolean
from simcomplete._correlation.given import Given
from simcomplete._correlation.labels import Labelled, opened, place
from simcomplete._correlation.nearest import only_rank
from simcomplete._correlation.ranked import of_rank
from simcomplete._correlation.solve import Solved, solve_nearest
from simcomplete._method.iterate import Limits
from simcomplete._types import Matrix, Vector
from simcomplete.errors import InputError

IN_CORRELATIONS = " (numbers are correlations: covariances over the products of standard deviations)"


@dataclass(frozen=True)
class Asked:
    """What was asked for besides the matrix, as it was given, in units of covariances."""

    weights: Any = None
    fixed: Any = None
    lower: Any = None
    upper: Any = None
    block: int | None = None
    rank: int | None = None

    @property
    def anything(self) -> bool:
        """Whether there is something."""
        given = (self.weights, self.fixed, self.lower, self.upper, self.block, self.rank)
        return any(one is not None for one in given)


def constrained_covariance(
    source: Labelled,
    S: Matrix,
    b: Vector,
    asked: Asked,
    *,
    by_covariance: bool,
    floor: float,
    tol: float,
    limits: Limits,
    start: Vector | None,
) -> tuple[Solved, Matrix | None]:
    """The nearest matrix with the variances b > 0 of S, NaN where unknown, that meets what was asked for.

    With a rank, its factor is returned, too.

    Examples
    --------
    >>> from simcomplete._correlation.newton import QUIET
    >>> S = np.array([[4.0, 3.8, 0.0], [3.8, 4.0, 1.9], [0.0, 1.9, 1.0]])
    >>> solved, _ = constrained_covariance(
    ...     Labelled(S),
    ...     S,
    ...     np.diag(S),
    ...     Asked(upper=3.0),
    ...     by_covariance=True,
    ...     floor=0,
    ...     tol=1e-10,
    ...     limits=QUIET,
    ...     start=None,
    ... )
    >>> solved.X.round(3)
    array([[4.   , 3.   , 0.261],
           [3.   , 4.   , 1.507],
           [0.261, 1.507, 1.   ]])
    """
    s = np.sqrt(b - floor) if by_covariance else np.sqrt(b)
    size = np.outer(s, s)
    known = ~np.isnan(S)
    values = np.where(known, S, 0.0) / size
    np.fill_diagonal(values, 1.0)
    given = Given(source, values, known, S / size, ())
    conditions = _scaled(given, asked, size, 0.0 if by_covariance else floor)
    if by_covariance:
        rows = s**2 if conditions.rows is None else s**2 * conditions.rows
        conditions = (
            replace(conditions, rows=rows)
            if conditions.elements is None
            else replace(conditions, elements=conditions.elements * size)
        )
    factors = None
    try:
        if asked.rank is not None and asked.rank < len(S):
            only_rank(conditions, floor)
            solved, V = of_rank(given, conditions, asked.rank, limits)
            factors = V * s[:, None]
        else:
            solved = solve_nearest(given, conditions, tol, limits, start)
    except InputError as error:
        raise InputError(f"{error}{IN_CORRELATIONS}") from error
    X = np.where(known & (values == solved.X), S, solved.X * size)  # what did not change is not rounded either
    if solved.status.ok:
        exact = conditions.low == conditions.high
        X[exact] = (conditions.low * size)[exact]
    np.fill_diagonal(X, b)
    return replace(solved, X=X), factors


def _scaled(given: Given, asked: Asked, size: Matrix, floor: float) -> Constraints:
    """Constraints on correlations; bounds and values that no valid matrix has are refused in their own units."""
    labels = given.source.labels
    lower, upper = (_bounds(given, bound, name) for bound, name in ((asked.lower, "lower"), (asked.upper, "upper")))
    fixed = asked.fixed
    if fixed is not None:
        F = opened(fixed, "fixed").aligned(labels, "fixed", some=True)
        if F.shape != size.shape:
            raise InputError(f"fixed has shape {F.shape}; it needs that of A, {size.shape}")
        fixed = F > 0 if is_boolean(fixed) else F
    most = size * (1 - floor) * (1 + ROUNDING)
    for bound, sign, name in ((lower, 1, "lower"), (upper, -1, "upper"), (fixed, 0, "fixed")):
        if bound is None or bound.dtype == bool:
            continue
        beyond = (sign * bound > most) if sign else (np.abs(bound) > most)
        np.fill_diagonal(beyond, False)
        if beyond.any():
            i, j = map(int, np.argwhere(beyond)[0])
            raise InputError(
                f"{place(labels, i, j, name)} = {bound[i, j]:.6g} is not possible: with these variances no valid "
                f"matrix has an entry beyond {most[i, j]:.6g} there; change it"
            )
    held, low, high = (None if x is None else x if x.dtype == bool else x / size for x in (fixed, lower, upper))
    return constraints(given, asked.weights, held, low, high, asked.block, floor)


def _bounds(given: Given, bound: Any, name: str) -> Matrix | None:
    if bound is None or np.ndim(bound) == 0:
        return None if bound is None else np.full((given.n, given.n), as_bound(bound, name))
    B = opened(bound, name).aligned(given.source.labels, name, some=True)
    if B.shape != (given.n, given.n):
        raise InputError(f"{name} has shape {B.shape}; give a number, or an array of shape {(given.n, given.n)}")
    return B
