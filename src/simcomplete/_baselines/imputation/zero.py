"""`zero`: missing values become 0. No model at all, and on centred data the baseline to beat."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._baselines.imputation.filled import complete_filled, fill_missing
from simcomplete._method.problem import Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import FILLED_MEASURE, Method
from simcomplete._result.completion import Completion


def run(problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Fill with 0, also where 0 lies outside the observed range: that is what the method says."""
    filled = fill_missing(problem.table, np.zeros_like(problem.table), clip=False)
    return complete_filled(problem, "zero", params, filled)


METHODS = (
    Method(
        name="zero",
        family="imputation",
        acts_on="samples",
        regularizer="none",
        solver="none",
        psd=True,
        low_rank=False,
        keeps_candidates=True,
        random=False,
        reference="zero filling, a common baseline",
        shared=FILLED_MEASURE,
        memory=lambda s, params: 3.25 * s.n * s.d,
        run=run,
    ),
)
