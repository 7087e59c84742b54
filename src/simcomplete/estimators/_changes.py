"""What `PosteriorCompleter` does with rows before its model sees them, and the masks that it calibrates for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.scaled import ScaledExtension
from simcomplete._method.spec import Extension
from simcomplete._posterior.centred import CentredModel, centred_rows, centred_table, without_constant_part
from simcomplete._posterior.extend import PosteriorExtension
from simcomplete._posterior.shared.rows import PosteriorModel, Vectors, in_units_of
from simcomplete._rows.scaling import Center, FeatureScaling, Scale, learn_scaling
from simcomplete._rows.table import RowTable
from simcomplete._rows.validate import as_array, check_measure
from simcomplete._similarity.measure import Measure, Metric
from simcomplete.errors import InputError

PATTERNS = 200  # masks to calibrate for when none are given
RATES = (0.1, 0.95)  # shares of features they hide


@dataclass(frozen=True)
class RowChanges:
    """Features centred and scaled as the fitted rows have them, then rows less their own mean under "pearson".

    Where the model is one of incomplete rows, they are in units of their typical length at last, as in `complete`.
    """

    metric: Metric
    scaling: FeatureScaling | None
    length: float | None = None

    @classmethod
    def learn(cls, table: RowTable, metric: Metric, center: Center, scale: Scale) -> tuple[RowChanges, RowTable]:
        """Learn from rows to fit; return them, changed, as well."""
        check_measure(metric, 1, 0.0, table.d)
        scaling = None if center is None and scale is None else learn_scaling(table, center, scale)
        changes = cls(metric, scaling)
        table = table if scaling is None else scaling.of(table)
        return changes, centred_table(table) if changes.centred else table

    @property
    def centred(self) -> bool:
        """Whether rows lose their own mean."""
        return self.metric == "pearson"

    def __call__(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """New rows, changed as the fitted ones were."""
        rows = X if self.scaling is None else self.scaling(X)
        changed = np.asarray(centred_rows(rows) if self.centred else rows, dtype=np.float64)
        return changed if self.length is None else in_units_of(self.length, changed)

    def vectors(self, fitted: PosteriorModel, X: NDArray[Any]) -> Vectors:
        """Vectors of new rows by a model of changed ones."""
        found = fitted.vectors(self(X))
        return without_constant_part(found) if self.centred else found

    def model(self, fitted: PosteriorModel) -> PosteriorModel:
        """The same model, for rows that are less their mean only when it has seen them."""
        return CentredModel(fitted) if self.centred else fitted

    def extension(self, fitted: PosteriorModel, rows: RowTable) -> Extension:
        """Vectors and overlap similarities of new rows, by a model of these fitted rows."""
        inner = PosteriorExtension(self.model(fitted), rows, self.length or 1.0, Measure(self.metric))
        return inner if self.scaling is None else ScaledExtension(inner, self.scaling)


def patterns_given(masks: Any, incomplete: bool) -> Any:
    """Masks as they were given, None for "observed": the patterns of the fitted rows, of which some are incomplete."""
    if not isinstance(masks, str):
        return masks
    if masks != "observed":
        raise InputError(f"masks={masks!r} is unknown; use 'observed', an array of booleans, rows or None")
    if not incomplete:
        raise InputError(
            "masks='observed' needs rows with missing values; all are complete: give masks=None, or recent rows with "
            "missing values"
        )
    return None


def masks_to_show(masks: Any, d: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Masks to calibrate for: those given, or the gaps of rows that are given, checked; or random ones."""
    if masks is None:
        hidden = rng.uniform(*RATES, size=(PATTERNS, 1))
        return np.asarray(rng.random((PATTERNS, d)) >= hidden)
    shown = np.asarray(masks)
    if shown.dtype != bool and shown.ndim == 2 and shown.shape[1] == d:
        rows = as_array(masks, "masks")
        gaps = np.isnan(rows).any(axis=1)
        shown = ~np.isnan(rows[gaps]) if gaps.any() else shown
    if shown.dtype != bool or shown.ndim != 2 or shown.shape[1] != d or len(shown) == 0:
        raise InputError(
            f"masks must be booleans of shape (patterns, {d}), True where observed, or rows with missing values; "
            f"got {shown.dtype} of shape {shown.shape}"
        )
    return shown
