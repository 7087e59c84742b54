"""Bodies of requests: JSON where null is missing, `.npy`, and Arrow IPC; whatever is wrong is said in a sentence."""

from __future__ import annotations

import io
import json
from math import nan
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.npy import read_header
from simcomplete.errors import InputError

JSON, NPY, ARROW = "application/json", "application/x-npy", "application/vnd.apache.arrow.stream"
MOST_ROWS = 10_000  # in one request
MOST_K = 1000
MOST_FOUND = 1_000_000  # neighbours in one answer
PAYLOAD_CHARACTERS = 65_536
CELLS = {int, float, type(None)}


def read_object(body: bytes) -> dict[str, Any]:
    """A JSON object; NaN and Infinity, which JSON has not, are refused."""
    try:
        found = json.loads(body, parse_constant=_refuse_constant)
    except (ValueError, RecursionError, UnicodeDecodeError) as error:
        raise InputError(f"the body is not valid JSON: {str(error)[:100]}") from None
    if not isinstance(found, dict):
        raise InputError('the body must be a JSON object, such as {"rows": [[1.5, null]]}')
    return found


def _refuse_constant(word: str) -> NoReturn:
    raise ValueError(f"{word} is not JSON; write null where a value is missing")


def rows_of_json(found: Any, d: int, names: list[str] | None) -> NDArray[np.float64]:
    """Rows as lists of numbers and null, or as objects by feature name."""
    if not isinstance(found, list) or not found:
        raise InputError("rows must be a list of at least one row")
    check_count(len(found))
    rows = [_by_name(row, names) if isinstance(row, dict) else row for row in found]
    for i, row in enumerate(rows):
        if not isinstance(row, list) or len(row) != d:
            has = f"{len(row)} value{'s' * (len(row) != 1)}" if isinstance(row, list) else "no list"
            raise InputError(f"row {i} has {has}; the model has {d} features: null where one is missing")
        if not set(map(type, row)) <= CELLS:
            raise InputError(f"row {i} has values that are neither numbers nor null")
    try:
        # NumPy reads None as NaN too, in twice the time.
        known = [[nan if cell is None else cell for cell in row] for row in rows]
        return checked_rows(np.array(known, dtype=np.float64), d)
    except OverflowError:
        raise InputError("rows have numbers that are too large") from None


def _by_name(row: dict[str, Any], names: list[str] | None) -> list[Any]:
    if names is None:
        raise InputError("the model was fitted without names of features; give rows as lists")
    unknown = sorted(set(row) - set(names))
    if unknown:
        raise InputError(f"the model has no feature {unknown[0][:100]!r}; GET /v1/model lists them")
    return [row.get(name) for name in names]


def rows_of_npy(body: bytes, d: int) -> NDArray[np.float64]:
    """Rows of a `.npy` file, NaN where missing."""
    stream = io.BytesIO(body)
    found = read_header(stream, Path("the body"))
    if found.dtype.kind not in "fiu" or len(found.shape) != 2:
        raise InputError(f"the body holds {found.dtype} of shape {found.shape}; a table of numbers is needed")
    if len(body) - found.offset != found.n_bytes:
        raise InputError("the body is cut short, or longer than its header says")
    flat = np.frombuffer(body, found.dtype, offset=found.offset)
    return checked_rows(flat.reshape(found.shape, order="F" if found.fortran else "C"), d)


def rows_of_arrow(body: bytes, d: int, names: list[str] | None) -> NDArray[np.float64]:
    """Rows of an Arrow IPC stream: a column for every feature, by name where the model has names; null is missing."""
    try:
        import pyarrow as pa
    except ImportError:
        raise InputError("Arrow bodies need pyarrow on the server; send JSON or .npy") from None
    try:
        table = pa.ipc.open_stream(body).read_all()
        table.validate(full=True)
    except (pa.ArrowException, ValueError, OSError) as error:
        raise InputError(f"the body is not an Arrow IPC stream: {str(error)[:100]}") from None
    if names is not None:
        if sorted(table.column_names) != sorted(names):
            raise InputError(f"columns must be the {d} features of the model, each once; GET /v1/model lists them")
        table = table.select(names)
    for column in table.schema:
        if not _holds_numbers(column.type):
            raise InputError(f"column {column.name[:100]!r} holds {str(column.type)[:50]}; numbers are needed")
    try:
        columns = [np.asarray(column.cast(pa.float64()).to_numpy(), dtype=np.float64) for column in table.columns]
    except (pa.ArrowException, ValueError, OSError) as error:
        raise InputError(f"a column cannot be read as numbers: {str(error)[:100]}") from None
    return checked_rows(np.column_stack(columns) if columns else np.zeros((0, 0)), d)


def _holds_numbers(kind: Any) -> bool:
    """Whether an Arrow type is one of numbers, or of nothing but nulls; text of digits and booleans are not."""
    from pyarrow import types

    if types.is_dictionary(kind):
        kind = kind.value_type
    tests = (types.is_floating, types.is_integer, types.is_decimal, types.is_null)
    return any(test(kind) for test in tests)


def checked_rows(X: NDArray[Any], d: int) -> NDArray[np.float64]:
    """Rows in float64, of the right width, without infinities."""
    if X.ndim != 2 or X.shape[1] != d or not len(X):
        raise InputError(
            f"the rows have the shape {X.shape}; the model has {d} features, and at least one row is needed"
        )
    check_count(len(X))
    X = np.ascontiguousarray(X, dtype=np.float64)
    if np.isinf(X).any():
        raise InputError(
            f"row {int(np.argwhere(np.isinf(X))[0][0])} has an infinite value; leave it missing, or clip it"
        )
    return X


def check_count(n: int, most: int = MOST_ROWS) -> None:
    """Refuse more rows than one request may have."""
    if n > most:
        raise InputError(f"{n} rows are more than the {most} that one request may have; send several")


def whole_number(value: Any, name: str, low: int, high: int) -> int:
    """A whole number within bounds, of JSON or of the query string."""
    if isinstance(value, str) and value.isascii() and value.isdigit() and len(value) < 10:
        value = int(value)
    if type(value) is not int or not low <= value <= high:
        raise InputError(f"{name} must be a whole number from {low} to {high}")
    return value


def level_of(value: Any) -> float:
    """A level between 0 and 1, of JSON or of the query string."""
    level = _number(value)
    if not 0 < level < 1:
        raise InputError("level must be a number between 0 and 1, such as 0.9")
    return level


def number_within(value: Any, name: str, low: float, high: float) -> float:
    """A number within bounds, of JSON or of the query string."""
    number = _number(value)
    if not low <= number <= high:
        raise InputError(f"{name} must be a number from {low:g} to {high:g}")
    return number


def _number(value: Any) -> float:
    """NaN for what is none."""
    try:
        return float(value) if type(value) in (int, float, str) else np.nan
    except (ValueError, OverflowError):
        return np.nan


def to_json(found: dict[str, Any]) -> bytes:
    """Arrays as JSON, null where a number is not finite."""
    return json.dumps({name: json_lists(values) for name, values in found.items()}, allow_nan=False).encode()


def json_lists(values: Any) -> Any:
    """An array as lists, with None where a number is not finite; anything else as it is."""
    if isinstance(values, np.ndarray) and values.dtype.kind == "f" and not np.isfinite(values).all():
        some = values.astype(object)
        some[~np.isfinite(values)] = None
        return some.tolist()
    return values.tolist() if isinstance(values, np.ndarray) else values
