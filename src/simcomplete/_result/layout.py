"""Layouts: how objects are turned into arrays and plain values for saving, and made again when loading.

A layout is data: the attributes of a class, which sides of its arrays have the same length, the accepted range of a
number. Loading checks all of it before an object is made. Only classes named by a layout are ever instantiated, and
nothing that was read is executed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Protocol

from simcomplete._result.archive import Stored
from simcomplete._rows.table import HeldRows
from simcomplete.errors import FileFormatError


class Layout(Protocol):
    """How one part is written and read."""

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return plain values; arrays are added to `parts`, named after the place `at`."""

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Make the part again, or raise FileFormatError."""


@dataclass
class Parts:
    """Arrays by name, and the lengths of named sides found while reading."""

    arrays: dict[str, Stored] = field(default_factory=dict)
    sides: dict[str, int] = field(default_factory=dict)
    _names: dict[int, str] = field(default_factory=dict)
    _held: list[Any] = field(default_factory=list)  # objects that `_names` refers to by address must stay alive

    def put(self, at: str, value: Any) -> str:
        """Add an array or a table, unless it is there already; return its name."""
        same = value.array if isinstance(value, HeldRows) else value
        if id(same) not in self._names:
            self._held.append(same)
            self._names[id(same)] = at
            self.arrays[at] = value
        return self._names[id(same)]

    def get(self, at: str, name: Any) -> Stored:
        """Return an array by name."""
        need(isinstance(name, str) and name in self.arrays, at, f"names the array {name!r}, which there is not")
        return self.arrays[name]

    def fit(self, at: str, shape: tuple[int, ...], expected: tuple[str | int, ...]) -> None:
        """Refuse a shape that does not fit those read before."""
        need(len(shape) == len(expected), at, f"has {len(shape)} dimensions, and {len(expected)} are needed")
        for size, side in zip(shape, expected, strict=True):
            known = side if isinstance(side, int) else self.sides.setdefault(side, size)
            need(size == known, at, f"has the shape {shape}, and {known} of {side} fit the other parts")


def need(holds: bool, at: str, otherwise: str) -> None:
    """Raise FileFormatError with the place, unless the condition holds."""
    if not holds:
        raise FileFormatError(f"{at or 'it'} {otherwise}")


@dataclass(frozen=True)
class Maybe:
    """A part that may be None."""

    inner: Layout

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return None for None."""
        return None if value is None else self.inner.write(value, at, parts)

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Return None for null."""
        return None if stored is None else self.inner.read(stored, at, parts)


@dataclass(frozen=True)
class Several:
    """A tuple, or with `keys` a dict, of parts with the same layout."""

    inner: Layout
    keys: Layout | None = None

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return a list; for a dict, a list of keys and parts."""
        if self.keys is None:
            return [self.inner.write(each, f"{at}.{i}", parts) for i, each in enumerate(value)]
        pairs = enumerate(value.items())
        return [[self.keys.write(k, at, parts), self.inner.write(v, f"{at}.{i}", parts)] for i, (k, v) in pairs]

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Return a tuple or a dict."""
        need(isinstance(stored, list), at, "is not a list")
        if self.keys is None:
            return tuple(self.inner.read(each, f"{at}.{i}", parts) for i, each in enumerate(stored))
        need(all(isinstance(pair, list) and len(pair) == 2 for pair in stored), at, "is not a list of pairs")
        pairs = ((self.keys.read(k, at, parts), self.inner.read(v, at, parts)) for k, v in stored)
        return dict(pairs)


@dataclass(frozen=True)
class Each:
    """A tuple of parts of different kinds."""

    inner: tuple[Layout, ...]

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """A list."""
        return [
            each.write(part, f"{at}.{i}", parts) for i, (each, part) in enumerate(zip(self.inner, value, strict=True))
        ]

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """A tuple."""
        need(isinstance(stored, list) and len(stored) == len(self.inner), at, f"does not have {len(self.inner)} parts")
        return tuple(
            each.read(part, f"{at}.{i}", parts) for i, (each, part) in enumerate(zip(self.inner, stored, strict=True))
        )


@dataclass(frozen=True)
class Record:
    """An object of one class by its attributes.

    Attributes
    ----------
    made_of : type
        The class.
    fields : mapping of str to Layout
        The attributes, in the order in which they are read.
    made, taken : callable, optional
        Functions that make an object and take it apart, if these are not the constructor and the attributes.
    """

    made_of: type
    fields: Mapping[str, Layout]
    made: Callable[..., Any] | None = None
    taken: Callable[[Any], Mapping[str, Any]] | None = None

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Return the name of the class, and the attributes by name."""
        found = {name: getattr(value, name) for name in self.fields} if self.taken is None else self.taken(value)
        inner = {name: each.write(found[name], _join(at, name), parts) for name, each in self.fields.items()}
        return {"class": self.made_of.__name__, **inner}

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Make an object from its attributes, read in order."""
        need(
            isinstance(stored, dict) and stored.get("class") == self.made_of.__name__,
            at,
            f"is not a {self.made_of.__name__}",
        )
        need(set(stored) == {"class", *self.fields}, at, f"does not have the parts {', '.join(self.fields)}")
        found = {name: each.read(stored[name], _join(at, name), parts) for name, each in self.fields.items()}
        return (self.made or self.made_of)(**found)


@dataclass(frozen=True)
class Either:
    """An object of one of several classes."""

    records: Callable[[], tuple[Record, ...]]

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """Write with the first layout whose class fits."""
        return next(each for each in self.records() if isinstance(value, each.made_of)).write(value, at, parts)

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """Read with the layout of the class that is named."""
        named = stored.get("class") if isinstance(stored, dict) else None
        found = next((each for each in self.records() if each.made_of.__name__ == named), None)
        if found is None:
            raise FileFormatError(f"{at} is of the unknown class {str(named)[:40]!r}")
        return found.read(stored, at, parts)


def _join(at: str, name: str) -> str:
    name = name.strip("_").lower()  # names of files, also on systems that ignore upper and lower case
    return f"{at}.{name}" if at else name
