"""A claim of the paper and its verdict, and a way to look numbers up in stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simcomplete._reproduction.protocol import Protocol, load
from simcomplete._reproduction.runner import Rows, gather
from simcomplete._reproduction.summary import Entry, summarise


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, whether it holds in our rows (None: not run), what was found, and how to see it.

    Examples
    --------
    >>> Finding("the sky is green", False, "It is blue.", "look up").word
    'does not hold'
    """

    claim: str
    holds: bool | None
    numbers: str
    command: str

    @property
    def found(self) -> str:
        """Return what was found, in numbers; nothing where nothing was run."""
        return "" if self.holds is None else self.numbers

    @property
    def word(self) -> str:
        """Say the verdict."""
        return {True: "holds", False: "does not hold", None: "not run"}[self.holds]


class Book:
    """The entries of a protocol, to look numbers up in: means over seeds that all of it was run with.

    Where some methods were run with more seeds than others, means over all of them would compare different data.
    """

    def __init__(self, name: str, rows: Rows) -> None:
        self.name = name
        protocol = load(name)
        seeds = whole_seeds(protocol, rows)
        self.entries = summarise(protocol, {key: row for key, row in rows.items() if row["seed"] in seeds})

    def where(self, method: str | None = None, column: str | None = None, **at: Any) -> list[Entry]:
        """Return entries that agree with everything given."""
        return [
            entry
            for entry in self.entries
            if method in (None, entry.method)
            and column in (None, entry.column)
            and all(entry.at.get(name) == value for name, value in at.items())
        ]

    def get(self, measure: str, method: str, column: str = "original", **at: Any) -> float | None:
        """Return one mean, or None where it was not run."""
        return next((e.mean[measure] for e in self.where(method, column, **at) if measure in e.mean), None)

    def places(self) -> list[dict[str, Any]]:
        """Return every pair of data set and missing ratio."""
        found = [{"dataset": e.at["dataset"], "missing": e.at["missing"]} for e in self.entries]
        return [place for i, place in enumerate(found) if place not in found[:i]]

    def series(self, measure: str, axis: str, **told: Any) -> list[list[float]]:
        """Return the values along an axis, for every data set (and missing ratio) where none is missing."""
        groups: dict[tuple[Any, ...], list[float | None]] = {}
        for entry in sorted(self.where(**told), key=lambda e: float(e.at[axis])):
            name = tuple(value for key, value in entry.at.items() if key != axis)
            groups.setdefault(name, []).append(entry.mean.get(measure))
        whole = [[v for v in values if v is not None] for values in groups.values() if None not in values]
        return [values for values in whole if len(values) > 1]

    def command(self, *words: str) -> str:
        """Return the command that makes these rows."""
        return " ".join(["simcomplete paper run", self.name, *words])


def whole_seeds(protocol: Protocol, rows: Rows) -> list[int]:
    """Return the seeds that every cell was run with; the first alone where there is none."""
    missing = {cell.trial["seed"] for cell, row in gather(protocol, rows) if row is None}
    return [seed for seed in protocol.seeds if seed not in missing] or protocol.seeds[:1]


def span(values: Sequence[float], digits: int = 3) -> str:
    """Write the smallest and the largest value.

    Examples
    --------
    >>> span([0.25, 0.5]), span([1, 1], 0)
    ('0.250 to 0.500', '1')
    """
    if not values:
        return "-"
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def largest(values: Sequence[float]) -> str:
    """Write the largest value, small ones too."""
    return f"{max(values):.2g}" if values else "-"
