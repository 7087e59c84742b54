"""Weights, entries to hold and bounds, as users give them and as the engines take them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._correlation.contradiction import violation
from simcomplete._correlation.given import SIZES, Given
from simcomplete._correlation.labels import differing, dimensions, opened, place
from simcomplete._rows import frame_columns
from simcomplete._rows.cells import is_missing, numeric
from simcomplete._rows.frames import frame_library, is_frame
from simcomplete._types import Mask, Matrix, Vector
from simcomplete.errors import InputError

RANGE = 1e12  # of row weights
ROUNDING = 1e-12  # by which a value may be beyond what is possible, and is taken for that


@dataclass(frozen=True)
class Constraints:
    """Weights by row or by element, which entries are held at which values, and bounds for all entries."""

    rows: Vector | None
    elements: Matrix | None
    held: Mask
    low: Matrix
    high: Matrix
    floor: float
    bounded: bool
    block: int | None = None

    @property
    def values(self) -> Matrix:
        """Held values, where there are some."""
        return self.low


def constraints(
    given: Given, weights: Any, fixed: Any, lower: Any, upper: Any, block: int | None, floor: float
) -> Constraints:
    """Check all that was given besides the matrix; what cannot be met is refused, and named."""
    n, labels = given.n, given.source.labels
    rows, elements = _weights(given, weights)
    most = 1.0 - floor  # no entry of a valid matrix is beyond
    if fixed is None and lower is None and upper is None and block is None:
        return _unconstrained(n, rows, elements, floor)
    held, values = _held(given, fixed, block)
    low, high = _bound(given, lower, "lower"), _bound(given, upper, "upper")
    bounded = lower is not None or upper is not None
    beyond = most + ROUNDING
    for bound, sign, name in ((low, 1, "lower"), (high, -1, "upper")):
        _refuse(sign * bound > beyond, bound, labels, name, f"no valid matrix has an entry beyond {most:g}")
    _refuse(held & (np.abs(values) > beyond), values, labels, "fixed", f"no valid matrix has an entry beyond {most:g}")
    values = np.where(held, np.clip(values, -most, most), values)
    low, high = (
        np.clip(np.where(np.isnan(one), sign * most, one), -most, most) for one, sign in ((low, -1), (high, 1))
    )
    _refuse(low > high, low, labels, "lower", "it is above the upper bound of that entry")
    _refuse(
        held & ((values < low) | (values > high)), values, labels, "fixed", "it is outside the bounds of that entry"
    )
    low, high = np.where(held, values, low), np.where(held, values, high)
    np.fill_diagonal(low, 1.0)
    np.fill_diagonal(high, 1.0)
    held = held & ~np.eye(n, dtype=bool)
    if block is not None:
        _check_block(values[:block, :block], floor, labels)
    return Constraints(rows, elements, held, low, high, floor, bounded, block if fixed is None else None)


def _unconstrained(n: int, rows: Vector | None, elements: Matrix | None, floor: float) -> Constraints:
    """Weights alone."""
    low, high = np.full((n, n), floor - 1.0), np.full((n, n), 1.0 - floor)
    np.fill_diagonal(low, 1.0)
    np.fill_diagonal(high, 1.0)
    return Constraints(rows, elements, np.zeros((n, n), dtype=bool), low, high, floor, bounded=False)


def contradiction(C: Matrix, wanted: Constraints, labels: list[str] | None) -> InputError:
    """The error for constraints that cannot all be met, from the matrix that proves it."""
    shift = wanted.floor * np.eye(len(C))
    least = violation(C, wanted.low - shift, wanted.high - shift)
    limited = wanted.held | (wanted.low > -1 + wanted.floor) | (wanted.high < 1 - wanted.floor)
    share = np.triu(np.abs(C) * limited, 1)
    worst = np.argsort(-share, axis=None)[:3]
    named = [
        place(labels, int(i), int(j))
        for i, j in zip(*np.unravel_index(worst, share.shape), strict=True)
        if share[i, j] > 0
    ]
    return InputError(
        f"fixed entries and bounds contradict each other: no valid matrix"
        f"{f' with smallest eigenvalue {wanted.floor:g}' if wanted.floor > 0 else ''} meets them all, "
        f"and one must move by {least:.3g} at least; those that matter most are {', '.join(named)}: free one of them, "
        "or widen its bounds"
    )


def _weights(given: Given, weights: Any) -> tuple[Vector | None, Matrix | None]:
    if weights is None:
        return None, None
    labels, n = given.source.labels, given.n
    own = _labels_of_series(weights)
    if own is not None:
        weights = weights_by_label(labels, own, np.asarray(weights))
    if hasattr(weights, "columns") or dimensions(weights, "weights") == 2:
        H = opened(weights, "weights").aligned(labels, "weights")
        wrong = None if H.shape == (n, n) else f"has shape {H.shape}"
        w: Matrix = H
    else:
        try:
            w = np.asarray(numeric(np.asarray(weights), "weights"), dtype=np.float64)
        except (TypeError, ValueError):
            raise InputError(
                f"weights is {weights!r:.60}; give {n} positive numbers, or a symmetric {n} x {n} array"
            ) from None
        wrong = None if w.shape == (n,) else f"has shape {w.shape}"
    if wrong is None and not (np.isfinite(w).all() and (w >= 0).all()):
        wrong = "holds a number that is negative or not finite"
    if wrong is None and w.ndim == 1 and not (w > 0).all():
        wrong = "holds a 0, and rows need positive weights (by element, 0 is allowed and means unknown)"
    if wrong is None and w.ndim == 1 and w.max() > RANGE * w.min():
        wrong = f"has a largest number above {RANGE:g} times the smallest, of which rounding leaves nothing"
    if wrong is None and not w.max(initial=0.0) <= SIZES[1]:
        wrong = f"holds {w.max():.1e}, of which squares are beyond the range of numbers"
    if wrong is None and w.ndim == 2 and not np.allclose(w, w.T, rtol=1e-8):
        wrong = "is not symmetric"
    if wrong is None and w.ndim == 2 and not (w * given.known)[~np.eye(n, dtype=bool)].any() and n > 1:
        wrong = "leaves no entry off the diagonal with a weight"
    if wrong is not None:
        raise InputError(f"weights {wrong}; give {n} positive numbers, or a symmetric {n} x {n} array of numbers >= 0")
    return (w, None) if w.ndim == 1 else (None, (w + w.T) / 2)


def _labels_of_series(weights: Any) -> list[str] | None:
    """Labels of weights by row, of a series of pandas or an array of xarray; None where they have none."""
    if frame_library(weights) == "xarray" and getattr(weights, "ndim", 0) == 1:
        axis = weights.dims[0]
        return [str(x) for x in weights[axis].values] if axis in weights.coords else None
    series = hasattr(weights, "index") and hasattr(weights, "iloc") and not hasattr(weights, "columns")
    return [str(x) for x in weights.index] if series and type(weights.index).__name__ != "RangeIndex" else None


def weights_by_label(labels: list[str] | None, own: list[str], weights: Any) -> Any:
    """Weights by row in the order of the labels of A; as they are where A has none.

    Examples
    --------
    >>> weights_by_label(["oil", "gas"], ["gas", "oil"], np.array([1.0, 2.0]))
    array([2., 1.])
    """
    if labels is None or own == labels:
        return weights
    if sorted(own) != sorted(labels) or len(set(own)) < len(own):
        raise InputError(
            f"weights and A have different labels: {differing(own, labels, ('weights', 'A'))}; give those of A"
        )
    return weights[[own.index(label) for label in labels]]


def row_weights(given: Given, weights: Any) -> Vector | None:
    """Weights by row, checked."""
    return _weights(given, weights)[0]


def _held(given: Given, fixed: Any, block: Any) -> tuple[Mask, Matrix]:
    n, labels = given.n, given.source.labels
    held, values = np.zeros((n, n), dtype=bool), given.values.copy()
    if fixed is not None:
        F = opened(fixed, "fixed").aligned(labels, "fixed", some=True)
        if F.shape != (n, n):
            raise InputError(f"fixed has shape {F.shape}; it needs that of A, {(n, n)}")
        if is_boolean(fixed):
            held = (F > 0) | (F.T > 0)
        else:
            held = ~np.isnan(F) | ~np.isnan(F.T)
            F = np.where(np.isnan(F), F.T, F)
            if n > 1 and np.isin(F, (0, 1)).all():
                raise InputError(
                    "fixed holds a 0 or a 1 for every entry; give True and False, fixed > 0, or the fixed values with "
                    "NaN elsewhere"
                )
            _refuse(held & (np.abs(F - F.T) > 1e-12), F, labels, "fixed", "its mirror image has another value")
            values = np.where(held, F, values)
    if block is not None:
        k = count_up_to(block, "block", n, "number of leading rows")
        held[:k, :k] = True
    np.fill_diagonal(held, False)
    from_a = held & ~given.known & (values == given.values)
    _refuse(from_a & (fixed is None or is_boolean(fixed)), given.compared, labels, "A", "unknown, so it cannot be held")
    return held, values


def count_up_to(value: Any, name: str, most: int, what: str) -> int:
    """A whole number from 1 to `most`: a rank, a number of rows or of factors.

    Examples
    --------
    >>> count_up_to(2, "rank", 5, "rank")
    2
    """
    if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or not 1 <= value <= most:
        raise InputError(f"{name}={value!r} is not a {what}; give a whole number from 1 to {most}")
    return int(value)


def is_boolean(fixed: Any) -> bool:
    """Whether an array or frame says which entries stay, and not their values.

    Examples
    --------
    >>> is_boolean(np.array([[None, True], [True, None]], dtype=object)), is_boolean([[1.0, 0.5], [0.5, 1.0]])
    (True, False)
    """
    if not is_frame(fixed) or frame_library(fixed) == "xarray":
        values = np.asarray(fixed)
        return bool(values.dtype == bool) or (values.dtype == object and _flags(values.ravel()))
    if frame_library(fixed) is None:  # a table from a file has numbers only
        return False
    frame = fixed.collect() if hasattr(fixed, "collect") else fixed
    every = range(len(frame_columns.column_names(frame)))
    cells = [frame_columns.to_list(frame, i) for i in every if frame_columns.kind(frame, i) != "text"]  # labels apart
    return _flags([cell for column in cells for cell in column])


def _flags(values: Any) -> bool:
    """Whether there are True and False alone, or None and NaN beside them."""
    known = [value for value in values if not is_missing(value)]
    return bool(known) and all(isinstance(value, (bool, np.bool_)) for value in known)


def as_bound(bound: Any, name: str) -> float:
    """One number for all entries; NaN for none."""
    try:
        return float(bound)
    except (TypeError, ValueError) as error:
        raise InputError(f"{name}={bound!r} is not a number; give one, or an array with NaN for none") from error


def _bound(given: Given, bound: Any, name: str) -> Matrix:
    n = given.n
    if bound is None:
        return np.full((n, n), np.nan)
    if np.ndim(bound) == 0:
        return np.full((n, n), as_bound(bound, name))
    B = opened(bound, name).aligned(given.source.labels, name, some=True)
    if B.shape != (n, n):
        raise InputError(f"{name} has shape {B.shape}; give a number, or an array of shape {(n, n)} with NaN for none")
    one = np.where(np.isnan(B), B.T, B)
    _refuse(np.abs(one - one.T) > 1e-12, one, given.source.labels, name, "its mirror image has another value")
    return one


def _check_block(B: Matrix, floor: float, labels: list[str] | None) -> None:
    lowest = float(np.linalg.eigvalsh(B)[0])
    if lowest < floor - 1e-12 * len(B):
        raise InputError(
            f"the leading block of {len(B)} rows has a smallest eigenvalue of {lowest:.4g}, below {floor:g}, so no "
            "valid matrix has it; repair the block first, or lower min_eigenvalue"
        )


def _refuse(wrong: Mask, values: Matrix, labels: list[str] | None, name: str, why: str) -> None:
    off = wrong & ~np.eye(len(wrong), dtype=bool)
    if off.any():
        i, j = map(int, np.argwhere(off)[0])
        raise InputError(f"{place(labels, i, j, name)} = {values[i, j]:.6g} is not possible: {why}; change it")
