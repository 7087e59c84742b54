"""Layouts of plain values, arrays and tables; see `layout`."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.layout import Parts, need
from simcomplete._rows.table import HeldRows, RowTable, as_row_table
from simcomplete._rows.xp import to_numpy

INLINE = 16  # arrays of at most so many values are stored among the plain values
SPOKEN = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
KINDS = {"floats": "f", "whole numbers": "iu", "truth values": "b"}


@dataclass(frozen=True)
class Value:
    """A plain value of some types, or one of some words; numbers within bounds.

    Examples
    --------
    >>> Real = Value(float)
    >>> Real.write(np.float64("nan"), "", Parts()), Real.read("nan", "", Parts())
    ('nan', nan)
    """

    kind: type
    words: tuple[Any, ...] = ()
    low: float = -math.inf
    high: float = math.inf

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return a JSON value; numbers that are not finite become words."""
        value = self.kind(value)
        return str(value) if self.kind is float and not math.isfinite(value) else value

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Check the value and return it."""
        if self.kind is float:
            if isinstance(stored, str):
                stored = SPOKEN.get(stored)
            need(isinstance(stored, (int, float)) and not isinstance(stored, bool), at, "is not a number")
            stored = float(stored)
        need(type(stored) is self.kind, at, f"is {str(stored)[:40]!r}, and {self.kind.__name__} is needed")
        need(not self.words or stored in self.words, at, f"is {str(stored)[:40]!r}, not one of {self.words}")
        if self.kind in (int, float):
            need(not (stored < self.low or stored > self.high), at, f"is {stored}, not within {self.low}, {self.high}")
        return stored


@dataclass(frozen=True)
class Plain:
    """Any JSON value of one type: records for the user, from which nothing is computed."""

    kind: tuple[type, ...] = (dict,)

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return the value unchanged."""
        return value

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Check the type of the value and return it."""
        need(isinstance(stored, self.kind), at, f"is {str(stored)[:40]!r}")
        return stored


@dataclass(frozen=True)
class ArrayOf:
    """A NumPy array with named sides; a small one is stored among the plain values. Whole numbers may have bounds."""

    kind: str
    sides: tuple[str | int, ...]
    below: str | None = None

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return its name, and whether it is in Fortran order, which changes the rounding of products."""
        if isinstance(value, RowTable):  # written block by block
            return {"array": parts.put(at, value)}
        array = np.asarray(to_numpy(value))
        if array.size <= INLINE and array.dtype in (np.float64, np.int64, np.bool_):
            values = [_json_number(x) for x in array.ravel().tolist()]
            return {"shape": list(array.shape), "values": values}
        columns = array.ndim > 1 and array.flags.f_contiguous and not array.flags.c_contiguous
        return {"array": parts.put(at, array), **({"order": "F"} if columns else {})}

    def read(self, stored: Any, at: str, parts: Parts) -> NDArray[Any]:
        """Check type, shape and bounds."""
        need(isinstance(stored, dict), at, "is not an array")
        array = _inline(stored, self.kind, at) if "values" in stored else parts.get(at, stored.get("array"))
        kind = np.dtype(array.dtype).kind
        need(kind in KINDS[self.kind], at, f"holds {array.dtype}, and {self.kind} are needed")
        parts.fit(at, tuple(array.shape), self.sides)
        found = np.asarray(array.whole() if isinstance(array, RowTable) else array)
        if self.kind == "whole numbers" and found.size:
            top = None if self.below is None else parts.sides[self.below]
            need(found.min() >= 0 and (top is None or found.max() < top), at, f"has positions beyond {top}")
        return np.asfortranarray(found) if stored.get("order") == "F" else found


def Floats(*sides: str | int) -> ArrayOf:
    """Floating point numbers."""
    return ArrayOf("floats", sides)


def Flags(*sides: str | int) -> ArrayOf:
    """Truth values."""
    return ArrayOf("truth values", sides)


@dataclass(frozen=True)
class TableOf:
    """A table of rows that may be outside memory, written block by block; a large one is not read when loading."""

    sides: tuple[str, str]
    in_memory: bool = False

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return its name."""
        return {"array": parts.put(at, as_row_table(value))}

    def read(self, stored: Any, at: str, parts: Parts) -> RowTable:
        """Check type and shape."""
        need(isinstance(stored, dict), at, "is not a table")
        found = parts.get(at, stored.get("array"))
        need(np.dtype(found.dtype).kind == "f", at, f"holds {found.dtype}, and floats are needed")
        parts.fit(at, tuple(found.shape), self.sides)
        table = as_row_table(found)
        return HeldRows(np.asarray(table.whole())) if self.in_memory else table


def _json_number(x: Any) -> Any:
    return str(x) if isinstance(x, float) and not math.isfinite(x) else x


def _inline(stored: dict[str, Any], kind: str, at: str) -> NDArray[Any]:
    values, shape = stored["values"], stored.get("shape")
    fits = (
        isinstance(values, list) and isinstance(shape, list) and all(type(size) is int and size >= 0 for size in shape)
    )
    need(fits and len(values) == math.prod(shape or ()) <= INLINE, at, "is not a small array")
    dtype = {"floats": np.float64, "whole numbers": np.int64, "truth values": np.bool_}[kind]
    real = Value({"floats": float, "whole numbers": int, "truth values": bool}[kind])
    return np.array([real.read(x, at, Parts()) for x in values], dtype=dtype).reshape(shape)
