"""Some eigenpairs of a symmetric matrix, also if LAPACK's routine for a part of the spectrum fails."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from simcomplete._types import Matrix, Vector


def eigenpairs_of(
    S: Matrix,
    index: tuple[int, int] | None = None,
    value: tuple[float, float] | None = None,
    *,
    check_finite: bool = True,
) -> tuple[Vector, Matrix]:
    """Return eigenpairs by position (from the smallest, inclusive), or by value (above the first, up to the last).

    LAPACK's `syevr` fails with an internal error for a few matrices, mostly with eigenvalues that are equal up to
    rounding; then all pairs are computed by another routine.

    Examples
    --------
    >>> eigenpairs_of(np.diag([1.0, 3.0, 2.0]), index=(1, 2))[0]
    array([2., 3.])
    >>> eigenpairs_of(np.diag([1.0, 3.0, 2.0]), value=(1.5, np.inf))[0]
    array([2., 3.])
    """
    try:
        w, U = scipy.linalg.eigh(S, subset_by_index=index, subset_by_value=value, check_finite=check_finite)
        return w, U
    except np.linalg.LinAlgError:
        w, U = np.linalg.eigh(S)
    if index is not None:
        part = np.arange(index[0], index[1] + 1)
    else:
        low, high = (-np.inf, np.inf) if value is None else value
        part = np.flatnonzero((w > low) & (w <= high))
    return w[part], U[:, part]
