"""Models of rows of which every one may be incomplete: by the complete ones, or of all."""

from __future__ import annotations

from typing import Any

import numpy as np

from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows.em import ITERATIONS
from simcomplete._posterior.all_rows.packing import GivenRows
from simcomplete._posterior.all_rows.scored_pairs import HoldoutCallback
from simcomplete._posterior.all_rows.select import RowsCompletion, complete_rows
from simcomplete._posterior.all_rows.split import (
    CompleteRowsModel,
    candidates_among,
)
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.shared.copy_classes import Prior
from simcomplete._posterior.shared.rows import Effort, Objective
from simcomplete._rows.progress import expect
from simcomplete._rows.table import HeldRows
from simcomplete._types import Mask, Matrix

# Every row incomplete, effort="fast": rows as they are, one rank.
FAST_ROWS: dict[str, Any] = {"ranks": (20,), "spaces": ("raw",)}
EXPECTED_FITS = 8  # to choose a setting, to calibrate it, and of all rows: seldom fewer or more, for progress alone
MEMBER_FITS = 7  # of the stack, with and without what is hidden


def fit_rows(
    X: Matrix,
    rng: np.random.Generator,
    effort: Effort,
    objective: Objective,
    masks: Mask | None = None,
    mechanism: str = "auto",
    *,
    centred: bool = False,
    copies: bool = False,
    prior: Prior = None,
) -> RowsCompletion | CompleteRowsModel:
    """Fit a model of rows of which some are incomplete, calibrated for `masks` or for their own."""
    X = np.ascontiguousarray(X)
    whole = candidates_among(X)
    if whole is None:
        return fit_all_rows(X, rng, effort, masks=masks, mechanism=mechanism)
    masks = ~np.isnan(X[~whole]) if masks is None else masks
    own: dict[str, Any] = {"effort": effort, "objective": objective, "growing": True, "centred": centred}
    own |= {"copies": copies, "prior": prior}
    model = CandidateModel.fit(HeldRows(X[whole]), masks, rng=rng, **own)
    return CompleteRowsModel(model, model.vectors(X).u)


def fit_factors(
    X: Matrix | GivenRows,
    rng: np.random.Generator,
    effort: str,
    *,
    masks: Mask | None = None,
    progress: bool | None = False,
) -> RowsCompletion:
    """Fit the factor model of incomplete rows with as much effort as asked for."""
    limits = Limits(ITERATIONS, progress=progress, label="posterior")
    with expect(3 if effort == "fast" else EXPECTED_FITS):
        return complete_rows(X, rng, masks=masks, limits=limits, **(FAST_ROWS if effort == "fast" else {}))


def fit_all_rows(
    X: Matrix | GivenRows,
    rng: np.random.Generator,
    effort: str,
    *,
    masks: Mask | None = None,
    mechanism: str = "auto",
    progress: bool | None = False,
    watch: HoldoutCallback | None = None,
) -> RowsCompletion:
    """Fit the factor model of incomplete rows and, unless it should be fast, a stack of others beside it."""
    if effort == "fast":
        return fit_factors(X, rng, effort, masks=masks, progress=progress)
    from simcomplete._posterior.all_rows.mixture import mix_rows  # needed here only

    limits = Limits(ITERATIONS, progress=progress, label="posterior")
    with expect(EXPECTED_FITS + MEMBER_FITS):
        single = complete_rows(X, rng, masks=masks, limits=limits)
        return mix_rows(X, single, rng, masks=masks, limits=limits, tilt=mechanism == "auto", watch=watch)
