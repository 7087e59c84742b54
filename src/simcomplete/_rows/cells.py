"""Convert values of any type to floats, or raise an error that names the type and what to do about it."""

from __future__ import annotations

import datetime
import re
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.errors import InputError

# Beginnings of the names of column types in pandas, polars and pyarrow, in lower case.
TYPES = {
    "other": ("interval",),
    "category": ("category", "categorical", "enum", "dictionary"),
    "date": ("date", "timestamp", "time", "period", "duration"),
    "text": ("str", "utf8", "large_string", "large_str"),
    "complex": ("complex",),
    "object": ("object",),
    "number": ("int", "uint", "float", "halffloat", "double", "decimal", "bool", "null", "fixed_decimal"),
}
SMALL_FLOATS = {"float16", "float32", "halffloat", "float"}  # pyarrow calls 32-bit floats so
NUMBER = re.compile(r"\s*[+-]?(\d+[.,]?\d*|[.,]\d+)(e[+-]?\d+)?\s*", re.IGNORECASE)


def kind_of_type(dtype: Any) -> str:
    """Return the kind of values in a column of that type: a key of TYPES, or "other".

    Examples
    --------
    >>> kind_of_type("datetime64[ns, UTC]"), kind_of_type("Int64"), kind_of_type("large_string[pyarrow]")
    ('date', 'number', 'text')
    """
    text = str(dtype).lower().removeprefix("sparse[")
    return next((kind for kind, starts in TYPES.items() if text.startswith(starts)), "other")


def is_small_float(dtype: Any) -> bool:
    """Return whether a column has floats of 32 bits or fewer, which become float32; all else becomes float64."""
    return str(dtype).lower().removesuffix("[pyarrow]") in SMALL_FLOATS


def kind_of_values(values: Any) -> str:
    """Return the kind of the values in a list, as `kind_of_type`; missing ones are ignored."""
    for value in values:
        if is_missing(value):
            continue
        if isinstance(value, (str, bytes)):
            return "text"
        if isinstance(value, (datetime.date, datetime.time, datetime.timedelta, np.datetime64, np.timedelta64)):
            return "date"
        if isinstance(value, (complex, np.complexfloating)):
            return "complex"
        try:
            float(value)
        except (TypeError, ValueError):
            return "other"
    return "number"


def is_missing(value: Any) -> bool:
    """Whether a single value is None, NaN, or what pandas writes for missing."""
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or (isinstance(value, float) and value != value)
    )


def looks_like_a_number(value: Any) -> bool:
    """Whether text is a number, such as '3.5' or '1e-3'; a decimal comma is allowed."""
    return isinstance(value, str) and NUMBER.fullmatch(value) is not None


def column_message(name: str, column: Any, dtype: Any, kind: str, values: list[Any], library: str | None) -> str:
    """Return the message why a column cannot be used, and what to do about it."""
    shown = next((value for value in values if not is_missing(value)), None)
    start = f"{name}: column {column!r} is of type {dtype} and not numeric"
    names_rows = f"use id={column!r} if it names the rows"
    if kind == "category":
        how = {"pandas": f"pandas.get_dummies(df, columns=[{column!r}])", "polars": f"df.to_dummies({column!r})"}
        code = f", one column per category: {how[library]}" if library in how else ", one column per category"
        return f"{start}; codes of categories are not quantities: leave it out, or encode it{code}"
    if kind == "date":
        day = f"df[{column!r}].dt.start_time" if str(dtype).startswith("period") else f"df[{column!r}]"
        how = {"pandas": f"({day} - {day}.min()) / pandas.Timedelta(days=1)"}
        code = f": {how[library]}" if library in how else ""
        return (
            f"{start}; leave it out, or give a number in its place, such as days since the first{code}; or {names_rows}"
        )
    if kind == "complex":
        return complex_message(f"{name}: column {column!r}")
    if kind == "text" and all(looks_like_a_number(value) or is_missing(value) for value in values):
        how = {
            "pandas": f"df[{column!r}] = pandas.to_numeric(df[{column!r}])",
            "polars": f"df.with_columns(polars.col({column!r}).cast(polars.Float64))",
        }
        code = f": {how[library]}" if library in how else ""
        return f"{start}: it holds numbers as text, such as {shown!r}; convert it{code}, or {names_rows}"
    if kind == "text":
        return f"{start}: it holds text such as {shown!r}; leave it out, encode it as numbers, or {names_rows}"
    return f"{start}; leave it out or encode it as numbers"


def numeric(values: NDArray[Any], name: str) -> NDArray[Any]:
    """Return the values of a NumPy array as float32 or float64, or raise an error that says what they are."""
    kind = values.dtype.kind
    if kind == "c":
        raise InputError(complex_message(name))
    if values.dtype in (np.float32, np.float64):
        return values.astype(values.dtype.newbyteorder("="), copy=False)
    if kind == "f":
        return values.astype(np.float32 if values.dtype == np.float16 else np.float64)
    if kind in "iub":
        return values.astype(np.float64)
    if kind == "O":
        return _objects(values, name)
    if kind in "USTa":
        raise InputError(_text_message(values.ravel().tolist(), name))
    if kind in "Mm":
        raise InputError(_date_message(name, values.dtype))
    if kind == "V" and values.dtype.names:
        raise InputError(
            f"{name} is a structured array with the fields {', '.join(values.dtype.names[:5])}; a table of numbers is "
            f"needed: numpy.lib.recfunctions.structured_to_unstructured({name})"
        )
    raise InputError(f"{name} is of type {values.dtype}; numbers are needed, NaN where a value is missing")


def _objects(values: NDArray[Any], name: str) -> NDArray[Any]:
    flat = values.ravel().tolist()
    kind = kind_of_values(flat)
    if kind == "text":
        raise InputError(_text_message(flat, name))
    if kind == "date":
        raise InputError(_date_message(name, "dates"))
    if kind == "complex":
        raise InputError(complex_message(name))
    try:
        floats = [np.nan if is_missing(value) else float(value) for value in flat]
    except (TypeError, ValueError) as error:
        raise InputError(f"{name} holds values that are not numbers: {error}") from error
    return np.array(floats, dtype=np.float64).reshape(values.shape)


def _text_message(values: list[Any], name: str) -> str:
    text = next((value for value in values if isinstance(value, (str, bytes))), "")
    if looks_like_a_number(text):
        return f"{name} holds numbers as text such as {text!r}; numbers are needed: {name}.astype(float)"
    return f"{name} holds text such as {text!r}; numbers are needed, NaN where a value is missing"


def _date_message(name: str, what: Any) -> str:
    return (
        f"{name} is of type {what}; numbers are needed, such as days since the first: "
        f"({name} - {name}.min()) / numpy.timedelta64(1, 'D')"
    )


def complex_message(name: str) -> str:
    """Return the message about complex numbers."""
    return f"{name} is complex; real numbers are needed: give its real and imaginary parts as separate features"
