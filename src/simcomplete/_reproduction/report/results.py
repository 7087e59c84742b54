"""Claims of the paper with what our rows say about them, and a way to look numbers up in stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

from simcomplete._reproduction.protocol import Protocol, load_protocol
from simcomplete._reproduction.rows import RowsByTrial, pair_cells
from simcomplete._reproduction.summary import CellSummary, summarise_cells


@dataclass(frozen=True)
class Finding:
    """A claim of the paper, whether it holds in our rows (None: not run), our numbers and their command, and why not.

    Examples
    --------
    >>> Finding("the error is 0", False, "It is 0.5.", "simcomplete paper run rank").conclusion
    'does not hold'
    """

    claim: str
    holds: bool | None
    numbers: str
    command: str
    why: str = ""

    @property
    def evidence(self) -> str:
        """Our numbers; empty where nothing was run."""
        return "" if self.holds is None else self.numbers

    @property
    def mark(self) -> str:
        """Whether the claim holds, as one mark."""
        return {True: "✓", False: "✗", None: "–"}[self.holds]

    @property
    def reason(self) -> str:
        """Why the claim does not hold; empty where it does."""
        return self.why if self.holds is False else ""

    @property
    def conclusion(self) -> str:
        """Whether the claim holds, in words."""
        return {True: "holds", False: "does not hold", None: "not run"}[self.holds]


class ProtocolResults:
    """The cells of a protocol, to look numbers up in: means over the seeds with which every cell was run.

    Where some methods were run with more seeds than others, means over all seeds would compare different data.

    Parameters
    ----------
    name : str
        The protocol.
    rows : dict
        All rows.
    methods, columns : sequence of str, optional
        What is compared; by default everything.
    """

    def __init__(self, name: str, rows: RowsByTrial, methods: Sequence[str] = (), columns: Sequence[str] = ()) -> None:
        self.name = name
        whole = load_protocol(name)
        protocol = replace(
            whole,
            methods=[method for method in whole.methods if not methods or method in methods],
            columns=[column for column in whole.columns if not columns or column["name"] in columns],
        )
        self.seeds = common_seeds(protocol, rows)
        self.cells = summarise_cells(protocol, {key: row for key, row in rows.items() if row["seed"] in self.seeds})

    def where(self, method: str | None = None, column: str | None = None, **at: Any) -> list[CellSummary]:
        """Return the cells that match everything given."""
        return [
            cell
            for cell in self.cells
            if method in (None, cell.method)
            and column in (None, cell.column)
            and all(cell.at.get(name) == value for name, value in at.items())
        ]

    def get(self, measure: str, method: str, column: str = "original", **at: Any) -> float | None:
        """Return one mean, or None where it was not run."""
        return next((cell.mean[measure] for cell in self.where(method, column, **at) if measure in cell.mean), None)

    def settings(self) -> list[dict[str, Any]]:
        """Return every pair of data set and missing ratio."""
        pairs = dict.fromkeys((cell.at["dataset"], cell.at["missing"]) for cell in self.cells)
        return [{"dataset": dataset, "missing": missing} for dataset, missing in pairs]

    def series(self, measure: str, axis: str, **at: Any) -> list[list[float]]:
        """Return the means along an axis, for every data set (and missing ratio) that has all of them."""
        groups: dict[tuple[Any, ...], list[float | None]] = {}
        for cell in sorted(self.where(**at), key=lambda cell: float(cell.at[axis])):
            name = tuple(value for key, value in cell.at.items() if key != axis)
            groups.setdefault(name, []).append(cell.mean.get(measure))
        complete = [[v for v in values if v is not None] for values in groups.values() if None not in values]
        return [values for values in complete if len(values) > 1]

    def command(self, *words: str) -> str:
        """Return the command that makes these rows."""
        return " ".join(["simcomplete paper run", self.name, *words])


def common_seeds(protocol: Protocol, rows: RowsByTrial) -> list[int]:
    """Return the seeds with which every cell was run; the first seed where there is none."""
    pairs = pair_cells(protocol, rows)
    places = {(cell.trial["method"], cell.column) for cell, _ in pairs}
    absent = {cell.trial["seed"] for cell, row in pairs if row is None}
    asked = [seed for seed in protocol.seeds if all(seed in protocol.seeds_of(*place) for place in places)]
    return [seed for seed in asked if seed not in absent] or protocol.seeds[:1]


def format_range(values: Sequence[float], digits: int = 3) -> str:
    """Write the smallest and the largest value with a fixed number of digits.

    Examples
    --------
    >>> format_range([0.25, 0.5]), format_range([1, 1], 0)
    ('0.250 to 0.500', '1')
    """
    if not values:
        return "-"
    low, high = f"{min(values):.{digits}f}", f"{max(values):.{digits}f}"
    return low if low == high else f"{low} to {high}"


def format_largest(values: Sequence[float]) -> str:
    """Write the largest value with two significant digits.

    Examples
    --------
    >>> format_largest([5.912e-06, 1e-7])
    '5.9e-06'
    """
    return f"{max(values):.2g}" if values else "-"
