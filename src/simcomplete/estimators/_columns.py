"""Columns of tables to fill in: those that are not numbers are refused, and limits of values are read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError

MOST_DIGITS = 15  # of float64 behind the point


def refuse_other_than_numbers(X: Any) -> None:
    """Refuse a frame with columns of text, categories or dates, by name and with a remedy."""
    if not hasattr(X, "columns") or not hasattr(X, "dtypes"):
        return
    for name, kind in zip(X.columns, X.dtypes, strict=True):
        if _is_number(kind) or (str(kind).lower() == "object" and _holds_numbers(X[name])):
            continue
        raise InputError(
            f"column {name!r} is of type {kind}, and missing values are computed of numbers; leave it out, encode it "
            "as numbers (a column of 0 and 1 for every category), or fill it by "
            "SimpleImputer(strategy='most_frequent') in a ColumnTransformer"
        )


def _is_number(kind: Any) -> bool:
    """Whether a type of pandas or polars is one of numbers."""
    asked = getattr(kind, "is_numeric", None)
    if callable(asked):  # polars; a column without any value has no type there
        return bool(asked()) or str(kind) in ("Boolean", "Null")
    if str(kind) == "category":
        return False
    return getattr(kind, "kind", "O") in "fiub"


def _holds_numbers(column: Any) -> bool:
    """Whether a column of objects holds numbers and gaps only."""
    return all(
        value is None or isinstance(value, (int, float, np.number, np.bool_)) or type(value).__name__ == "NAType"
        for value in column
    )


@dataclass(frozen=True)
class ValueLimits:
    """Digits, lower and upper bound of filled-in values, per feature; NaN where there is none."""

    digits: NDArray[np.float64]
    low: NDArray[np.float64]
    high: NDArray[np.float64]

    @classmethod
    def of(cls, digits: Any, low: Any, high: Any, d: int, names: Any = None) -> ValueLimits:
        """Read what users give: one value for all features, one per feature, or a dict from names.

        Examples
        --------
        >>> ValueLimits.of({"b": True}, 0.0, None, 2, ["a", "b"])
        ValueLimits(digits=array([nan,  0.]), low=array([0., 0.]), high=array([nan, nan]))
        """
        limits = cls(
            _per_feature(digits, "round", d, names), *(_per_feature(*given, d, names) for given in _named(low, high))
        )
        wrong = limits.digits[~np.isnan(limits.digits)]
        if np.any((wrong != np.rint(wrong)) | (np.abs(wrong) > MOST_DIGITS)):
            raise InputError(f"round={digits!r} is not a number of digits; give True, or a whole number of them")
        crossed = np.flatnonzero(limits.low > limits.high)
        if len(crossed):
            f = crossed[0]
            raise InputError(
                f"min={limits.low[f]:g} is above max={limits.high[f]:g} for feature "
                f"{f if names is None else names[f]!r}; exchange them"
            )
        return limits

    def apply(self, values: NDArray[np.float64]) -> NDArray[np.float64]:
        """Round, then keep within bounds.

        Examples
        --------
        >>> ValueLimits.of(True, [0.5, None], None, 2).apply(np.array([[0.2, 0.7]]))
        array([[0.5, 1. ]])
        """
        scale = 10.0 ** np.nan_to_num(self.digits)
        values = np.where(np.isnan(self.digits), values, np.rint(values * scale) / scale)
        return np.fmin(np.fmax(values, self.low), self.high)


def _named(low: Any, high: Any) -> tuple[tuple[Any, str], tuple[Any, str]]:
    return (low, "min"), (high, "max")


def _per_feature(given: Any, name: str, d: int, names: Any) -> NDArray[np.float64]:
    """One number per feature, NaN for none."""
    if isinstance(given, Mapping):
        known = [] if names is None else list(names)
        for key in given:
            if key not in known:
                reason = (
                    "the imputer was fitted to rows without names" if names is None else f"there are {known[:5]} ..."
                )
                raise InputError(
                    f"{name} names feature {key!r}, and {reason}; give a number per feature, or names there are"
                )
        given = [given.get(key) for key in known]
    if given is None or np.isscalar(given):
        given = [given] * d
    listed = list(given)
    if len(listed) != d:
        raise InputError(f"{name} has {len(listed)} values for {d} features; give one for all, or one each")
    return np.array([_number(value, name) for value in listed])


def _number(value: Any, name: str) -> float:
    if value is None or (value is False and name == "round"):
        return np.nan
    if value is True and name == "round":
        return 0.0
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.inf
    if isinstance(value, (bool, str)) or np.isinf(number):
        raise InputError(f"{name}={value!r} is not a number; give one, or None for no limit")
    return number
