"""Proof that constraints contradict each other, and by how much at least one of them must give way.

For a positive semi-definite C every valid matrix S has <C, S> >= 0. Where the diagonal and the entries that are held
(or bounded) do not let <C, S> be above -e < 0, no valid S meets them; and since moving every held entry by t changes
<C, S> by t * sum |C_ij| at most, one of them must move by e / sum |C_ij| at least.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import eigvalsh

from simcomplete._correlation.held import Held
from simcomplete._types import Matrix, Vector


def violation(C: Matrix, low: Matrix, high: Matrix) -> float:
    """By how much at least an off-diagonal entry must leave its bounds, from a positive semi-definite C; 0 if unknown.

    Examples
    --------
    Correlations of 0.9, 0.9 and -0.9 cannot be: with v = (1, -1, -1), v^T S v = 3 - 5.4.

    >>> S = np.array([[1.0, 0.9, 0.9], [0.9, 1.0, -0.9], [0.9, -0.9, 1.0]])
    >>> v = np.array([1.0, -1.0, -1.0])
    >>> round(violation(np.outer(v, v), S, S), 3)  # 0.9 - 0.4 = 0.5 can be
    0.4
    """
    with np.errstate(invalid="ignore"):  # 0 times an infinite bound is 0
        most = np.where(C == 0, 0.0, np.maximum(C * low, C * high))
    reach = float(np.sum(most))
    off = float(np.sum(np.abs(C))) - float(np.sum(np.abs(np.diag(C))))
    # Rounding of the sum, which must not be taken for a proof.
    noise = 4 * len(C) * np.finfo(np.float64).eps * float(np.sum(np.abs(C) * np.maximum(np.abs(low), np.abs(high))))
    return -reach / off if reach < -noise and off > 0 else 0.0


def proved_violation(held: Held, y: Vector) -> tuple[float, Matrix]:
    """How much a held entry must move at least, by multipliers on their way to infinity; and the matrix that proves it.

    C = t I - Z(y) with the smallest t >= 0 that makes it positive semi-definite.
    """
    Z = held.matrix(y)
    t = max(float(eigvalsh(Z, subset_by_index=(len(Z) - 1, len(Z) - 1), check_finite=False)[0]), 0.0)
    t += len(Z) * np.finfo(np.float64).eps * float(np.max(np.abs(Z)))
    C = t * np.eye(len(Z)) - Z
    values = held.matrix(held.target)
    return violation(C, values, values), C
