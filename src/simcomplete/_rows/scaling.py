"""Centring and scaling of features, learnt once and applied to new rows in the same way.

The statistics are computed in `features`, in one pass over the rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from simcomplete._rows.budget import require, row_blocks
from simcomplete._rows.derived import ChangedRows
from simcomplete._rows.features import ColumnSums, Vector64, feature_sums, merge_sums, quartiles
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, astype, empty, like, memory_map_under, namespace, to_numpy
from simcomplete.errors import InputError

Center = Literal["mean", "median"] | None
Scale = Literal["sd", "robust"] | None
CENTERS, SCALES = ("mean", "median"), ("sd", "robust")
NORMAL_IQR = 1.3489795003921634  # distance of the quartiles of a normal distribution, in standard deviations
AT_ONCE = 2**20  # up to so many values are summed in one block, so that random draws do not depend on rounding
ROUNDING = 8.0  # a feature that varies by less than this times the precision of its numbers is constant


@dataclass(frozen=True, eq=False)
class FeatureScaling:
    """What is subtracted from every feature, and what it is divided by: ``(x - offset) / divisor``.

    Attributes
    ----------
    center, scale : str or None
        What was asked for: "mean" or "median", "sd" or "robust".
    offset, divisor : array of shape (d,)
        As learnt. A feature that is constant or never observed has the divisor 1; one that is never observed has the
        offset 0.

    Examples
    --------
    >>> P = HeldRows(np.array([[1.0, 5.0, np.nan], [3.0, 5.0, np.nan]]))
    >>> scaling = learn_scaling(P, "mean", "sd")
    >>> scaling.offset, scaling.divisor
    (array([2., 5., 0.]), array([1., 1., 1.]))
    >>> scaling(np.array([[4.0, np.nan, 6.0]]))
    array([[ 2., nan,  6.]])
    """

    center: Center
    scale: Scale
    offset: Vector64
    divisor: Vector64

    def __call__(self, X: Array) -> Array:
        """Transform rows with the same features; NaN stays NaN."""
        xp = namespace(X)
        offset, divisor = (like(v, X, xp.float64) for v in (self.offset, self.divisor))
        with np.errstate(over="ignore"):  # refused below
            changed = (astype(X, xp.float64) - offset) / divisor
        # The precision of the input is kept.
        lost = xp.abs(changed) > float(xp.finfo(X.dtype).max if xp.isdtype(X.dtype, "real floating") else np.inf)
        if bool(xp.any(lost)):
            i, j = np.argwhere(to_numpy(lost))[0]
            raise InputError(
                f"feature {j} has the value {float(X[int(i), int(j)])!r}, which is beyond all numbers after center="
                f"{self.center!r} and scale={self.scale!r} (less {self.offset[j]!r}, divided by {self.divisor[j]!r}): "
                "leave the feature out, or clip it"
            )
        return changed

    def of(self, rows: RowTable) -> RowTable:
        """Transform the rows of a table: rows in memory are copied; others, and memory maps, are changed when read."""
        held = rows.held
        if held is None or memory_map_under(held) is not None:
            return ChangedRows(rows, self)
        require(rows.nbytes, f"a scaled copy of {rows.n} x {rows.d} values", "give the rows as a path of a .npy")
        made = empty(held, rows.shape)
        for block in row_blocks(rows.n, 3 * 8 * rows.d, like=held):
            made[block, :] = astype(self(held[block, :]), rows.dtype)
        return HeldRows(made, rows.labels)

    def as_dict(self) -> dict[str, Any]:
        """Return plain values for JSON; `scaling_from_dict` reverses this."""
        return {**self.asked, "offset": self.offset.tolist(), "divisor": self.divisor.tolist()}

    @property
    def asked(self) -> dict[str, Any]:
        """The two settings, as recorded among the parameters."""
        return {"center": self.center, "scale": self.scale}


def scaling_from_dict(facts: dict[str, Any]) -> FeatureScaling:
    """Make a `FeatureScaling` from the values of its `as_dict`."""
    check_scaling(facts["center"], facts["scale"])
    offset, divisor = (np.array(facts[name], dtype=np.float64) for name in ("offset", "divisor"))
    if offset.ndim != 1 or offset.shape != divisor.shape or not np.isfinite(offset).all() or not (divisor > 0).all():
        raise InputError("scaling does not have an offset and a divisor for every feature")
    return FeatureScaling(facts["center"], facts["scale"], offset, divisor)


def check_scaling(center: Any, scale: Any) -> None:
    """Refuse unknown settings."""
    for name, value, words in (("center", center, CENTERS), ("scale", scale, SCALES)):
        if value is not None and not (isinstance(value, str) and value in words):
            raise InputError(f"{name}={value!r} is unknown; use {words[0]!r}, {words[1]!r} or None", about=(name,))


def learn_scaling(rows: RowTable, center: Center, scale: Scale, progress: bool | None = False) -> FeatureScaling:
    """Learn centres and scales of features from their observed values.

    Parameters
    ----------
    rows : RowTable
        NaN where a value is missing. They are read once, and once more for medians and quartiles.
    center : {"mean", "median"} or None
        What to subtract.
    scale : {"sd", "robust"} or None
        What to divide by: the standard deviation, or the distance of the quartiles over that of a normal distribution
        of standard deviation 1. Where the quartiles are equal and the feature is not constant, its standard deviation.
    progress : bool, optional
        None shows progress on a terminal, False never.
    """
    check_scaling(center, scale)
    sums = _sums(rows, progress)
    offset, divisor = np.zeros(rows.d), np.ones(rows.d)
    sd = sums.sd
    precision = ROUNDING * float(rows.xp.finfo(rows.dtype).eps)
    constant = (sums.seen == 0) | (sums.span <= precision * sums.size)
    quarters = quartiles(rows, progress) if center == "median" or scale == "robust" else None
    if center is not None:
        offset = sums.middle if quarters is None or center == "mean" else quarters[1]
        # The mean of a constant feature is set exactly, because sums of equal numbers are not exact.
        offset = np.where(sums.low == sums.high, sums.low, np.where(sums.seen > 0, offset, 0.0))
    if scale is not None:
        divisor = sd
        if scale == "robust" and quarters is not None:
            distance = quarters[2] / NORMAL_IQR - quarters[0] / NORMAL_IQR
            divisor = np.where(distance > 0, distance, sd)
        # Rounding errors of a constant feature must not be scaled up to the size of other features.
        still = np.where(sums.low == sums.high, 1.0, np.maximum(sums.size, 1.0))
        divisor = np.where(constant | (divisor == 0), np.where(sums.seen > 0, still, 1.0), divisor)
    return FeatureScaling(center, scale, offset, divisor)


def _sums(rows: RowTable, progress: bool | None) -> ColumnSums:
    """Return sums over all rows; small tables are summed at once, with the same rounding wherever they are."""
    if rows.n * rows.d <= AT_ONCE:
        return feature_sums(np.array(to_numpy(rows.whole()), order="C", copy=None))
    return rows.fold(feature_sums, merge_sums, bytes_per_row=6 * 8 * rows.d, label="features", progress=progress)
