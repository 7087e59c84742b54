"""Frames given to estimators: names are checked as scikit-learn does, values and labels read as elsewhere here."""

from __future__ import annotations

import reprlib
from typing import Any

import numpy as np
from sklearn.utils.validation import validate_data

from simcomplete._rows.frames import FrameRows, is_frame
from simcomplete._rows.validate import as_rows
from simcomplete.errors import InputError


def frame_rows(estimator: Any, X: Any, *, reset: bool) -> FrameRows | None:
    """Rows of a frame, whose column names are kept when fitting and compared later; None of anything else.

    scikit-learn knows names of pandas, polars and pyarrow, and refuses columns in another order than when fitting. A
    first column of text is taken as labels, as in `simcomplete.complete`.
    """
    if isinstance(X, np.ndarray) or not is_frame(X):
        return None
    rows = as_rows(X)
    if not isinstance(rows, FrameRows):
        return None
    if rows.header is not None:
        validate_data(estimator, rows.header, reset=reset, skip_check_array=True)
        return rows
    named = rows.columns is not None and all(isinstance(name, str) for name in rows.columns)
    fitted = getattr(estimator, "feature_names_in_", None)
    if not reset and named and fitted is not None:
        if list(fitted) != rows.columns:
            raise InputError(
                f"the feature names should match those that were passed during fit, {reprlib.repr(list(fitted))}, in "
                f"the same order; these are {reprlib.repr(rows.columns)}"
            )
        return rows
    validate_data(estimator, rows.array, reset=reset, skip_check_array=True)
    if reset and named:
        estimator.feature_names_in_ = np.asarray(rows.columns, dtype=object)
    return rows
