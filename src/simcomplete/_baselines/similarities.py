"""S0 as an array of a method's own."""

from __future__ import annotations

import numpy as np

from simcomplete._method.problem import Problem
from simcomplete._rows.xp import to_numpy
from simcomplete._types import Matrix


def own_similarities(problem: Problem) -> Matrix:
    """`problem.similarities` in an array that the caller may overwrite, and that nothing else keeps alive.

    Examples
    --------
    >>> from simcomplete._method.problem import Similarities
    >>> given = np.eye(2)
    >>> S = own_similarities(Similarities(given))
    >>> S *= 2
    >>> given.tolist()
    [[1.0, 0.0], [0.0, 1.0]]
    """
    operator = problem.operator
    S = to_numpy(operator.dense())
    if np.may_share_memory(S, to_numpy(operator.array)):
        S = S.copy()
    deficit = operator.diagonal_deficit()
    if deficit is not None:
        S[np.diag_indices(len(S))] += deficit
    return S
