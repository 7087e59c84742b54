"""Impute, then compare: what every method that fills in missing values ends with.

Observed values stay as they are, filled ones are clipped to the range of everything observed, and the similarities are
those of the filled rows. Candidates were complete, so their block is exact, and the result is a Gram matrix: PSD with
unit diagonal, rank at most d.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import Problem
from simcomplete._result.completion import Completion
from simcomplete._result.matrix import SymmetricMatrix
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.exact import CandidateRows


def fill_missing(
    table: NDArray[np.float64], estimate: NDArray[np.float64], *, clip: bool = True
) -> NDArray[np.float64]:
    """Put an estimate where values are missing, clipped to the observed range.

    Examples
    --------
    >>> fill_missing(np.array([[1.0, np.nan], [3.0, 2.0]]), np.array([[0.0, 9.0], [0.0, 0.0]]))
    array([[1., 3.],
           [3., 2.]])
    """
    missing = np.isnan(table)
    filled, values = table.copy(), estimate[missing]
    if clip and not missing.all():
        np.clip(values, np.nanmin(table), np.nanmax(table), out=values)
    filled[missing] = values
    return filled


def complete_filled(
    problem: Problem, name: str, params: dict[str, Any], filled: NDArray[np.float64], **facts: Any
) -> Completion:
    """Return the similarities of filled rows as a completion, its factor the rows themselves, made unit."""
    rows = CandidateRows(HeldRows(filled), problem.measure)
    factor = rows.rows(slice(0, len(filled)))
    exact = problem.exact
    if problem.measure.metric == "pearson" and isinstance(exact, CandidateRows):
        # Which rows are constant is a matter of the precision they came in, which filled rows have lost.
        factor[: exact.n] = to_numpy(exact.rows(slice(0, exact.n)))
    own = np.einsum("ij,ij->i", factor, factor)
    deficit = np.where(own < 0.75, 1 - own, 0.0)  # rows that are zero even when filled
    matrix = SymmetricMatrix(factor=factor, diagonal=deficit if deficit.any() else None, unit=True)
    return problem.result(name, params, matrix, **facts)
