"""Rows of which some are complete: those are candidates for the others, where they know more than a model of all."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.grid import GridChoice
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.candidates.stack import Stack
from simcomplete._posterior.shared.rows import RowValues, Vectors
from simcomplete._types import Mask, Matrix

MIN_COMPLETE_ROWS = 100
# Of all observed values; with less in complete rows the factor model, which sees all, errs less.
MIN_COMPLETE_SHARE = 0.4


def candidates_among(X: Matrix) -> Mask | None:
    """Tell which rows are complete, where they can be candidates for the others; None where they should not.

    Examples
    --------
    >>> X = np.ones((150, 4))
    >>> X[120:, 0] = np.nan
    >>> int(candidates_among(X).sum())
    120
    >>> X[50:, 0] = np.nan  # few are complete
    >>> candidates_among(X)
    """
    return enough_complete((~np.isnan(X)).sum(axis=1), X.shape[1])


def enough_complete(known: NDArray[np.int64], d: int) -> Mask | None:
    """The same from how many of `d` values every row has."""
    whole: Mask = np.asarray(known == d)
    count = int(whole.sum())
    enough = MIN_COMPLETE_ROWS <= count < len(known) and count * d >= MIN_COMPLETE_SHARE * int(known.sum())
    return whole if enough else None


@dataclass(frozen=True)
class CompleteRowsModel:
    """A model of the complete rows, and the vectors of all rows by it."""

    model: CandidateModel = field(repr=False)
    unit: Matrix

    @property
    def choice(self) -> GridChoice | Stack:
        """What was chosen."""
        return self.model.choice

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing."""
        return self.model.vectors(X)

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows, and their deviations."""
        return self.model.values(X)
