"""Summaries of cells: mean and standard deviation over seeds, failures, and the paper's numbers."""

from __future__ import annotations

import statistics
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.reported import printed_numbers
from simcomplete._reproduction.rows import RowsByTrial, pair_cells
from simcomplete._reproduction.trials import Cell, tried_original

# Measures that other work on the machine changes, and another machine.
TIMED = ("cpu_seconds",)
# The load of a machine with nothing else on it: the run itself, and a little.
QUIET_LOAD = 1.5
MACHINE = ("processor", "cores", "threads", "commit")
# Numbers nearer to the paper's than this count as equal: an absolute difference, for ranks a relative one.
TOLERANCE = 0.05


@dataclass(frozen=True)
class CellSummary:
    """One cell of a table: the runs of one method in one setting.

    Attributes
    ----------
    at : dict
        Data set, candidates, missing ratio and values on other axes.
    method, column, params : str, str, dict
        What was run.
    asked, ran, over, failed : int
        Numbers of runs: of the protocol, with a row, over the time limit, failed.
    mean, spread : dict
        By measure; spread only with two or more runs.
    paper : dict
        The paper's numbers, by measure.
    used : int, optional
        How many candidates the data set has, where fewer than the protocol asks for.
    reason : str, optional
        Why the first run that did not finish did not.
    statuses : tuple of str
        The statuses of the runs.
    short : int
        How many runs were tuned without the authors' parameters among the settings.
    load : float, optional
        The largest load of the machine at the start of the runs whose timings are shown.
    """

    at: dict[str, Any]
    method: str
    column: str
    params: dict[str, Any]
    asked: int
    ran: int
    over: int
    failed: int
    mean: dict[str, float]
    spread: dict[str, float]
    paper: dict[str, float]
    used: int | None = None
    reason: str | None = None
    statuses: tuple[str, ...] = ()
    short: int = 0
    load: float | None = None

    def differs(self, measure: str) -> int:
        """Return 1 where ours is above the paper's, -1 below, 0 near or unknown.

        Examples
        --------
        >>> parts = {"at": {}, "method": "a", "column": "b", "params": {}, "asked": 1, "ran": 1, "over": 0, "failed": 0}
        >>> CellSummary(**parts, mean={"error": 0.9}, spread={}, paper={"error": 0.8}).differs("error")
        1
        """
        if measure not in self.mean or measure not in self.paper:
            return 0
        difference = self.mean[measure] - self.paper[measure]
        tolerance = TOLERANCE * (self.paper[measure] if measure == "rank" else 1.0)
        return 0 if abs(difference) <= tolerance else 1 if difference > 0 else -1


def summarise_cells(protocol: Protocol, rows: RowsByTrial) -> list[CellSummary]:
    """Summarise the rows of a protocol by cell; cells that were not run have summaries, too."""
    pairs = pair_cells(protocol, rows)
    timed = timed_together([row for _, row in pairs if row is not None]) if is_timed(protocol) else []
    kept = {id(row) for row in timed}
    groups: dict[tuple[Any, ...], list[dict[str, Any] | None]] = {}
    cells: dict[tuple[Any, ...], Cell] = {}
    for cell, row in pairs:
        name = (*cell.at.values(), cell.trial["method"], cell.column)
        groups.setdefault(name, []).append(row)
        cells[name] = cell
    return [_summary_of(protocol, cells[name], group, kept) for name, group in groups.items()]


def is_timed(protocol: Protocol) -> bool:
    """Whether a protocol shows timings."""
    return bool(set(TIMED) & set(protocol.measures))


def is_quiet(row: Mapping[str, Any]) -> bool:
    """Whether nothing else ran on the machine when a row was made.

    Examples
    --------
    >>> is_quiet({"load": 1.02}), is_quiet({"load": 3.5}), is_quiet({})
    (True, False, False)
    """
    load = row.get("load")
    return load is not None and load <= QUIET_LOAD


def timed_together(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the rows whose timings may stand side by side: one machine, one commit, nothing else on it.

    Where no row at all was made on a quiet machine, those of one machine and one commit are returned; the report then
    says what the load was.

    Examples
    --------
    >>> rows = [{"processor": "a", "load": 1.0}, {"processor": "a", "load": 1.1}, {"processor": "b", "load": 1.0}]
    >>> [row["processor"] for row in timed_together([*rows, {"processor": "a", "load": 4.0}])]
    ['a', 'a']
    >>> [row["load"] for row in timed_together([{"load": 4.0, "processor": "a"}, {"load": 5.0, "processor": "a"}])]
    [4.0, 5.0]
    """
    quiet = [row for row in rows if is_quiet(row)]
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in quiet or [row for row in rows if row.get("load") is not None]:
        groups.setdefault(tuple(row.get(name) for name in MACHINE), []).append(row)
    return max(groups.values(), key=len, default=[])


def _summary_of(
    protocol: Protocol, cell: Cell, group: list[dict[str, Any] | None], timed: Collection[int]
) -> CellSummary:
    ran = [row for row in group if row is not None]
    known = {
        m: [v for row in ran if m not in TIMED or id(row) in timed for v in [measure_of(row, m)] if v is not None]
        for m in protocol.measures
    }
    used = min((row["candidates_used"] for row in ran if "candidates_used" in row), default=None)
    return CellSummary(
        at=cell.at,
        method=cell.trial["method"],
        column=cell.column,
        params=cell.trial["params"],
        asked=len(group),
        ran=len(ran),
        over=sum(row["outcome"] == "over budget" for row in ran),
        failed=sum(row["outcome"] == "failed" for row in ran),
        mean={m: statistics.fmean(values) for m, values in known.items() if values},
        spread={m: statistics.stdev(values) for m, values in known.items() if len(values) > 1},
        paper=printed_numbers(protocol.reported, cell.trial["method"], cell.at),
        used=used if used is not None and used < cell.at["candidates"] else None,
        reason=next((row["reason"] for row in ran if row["outcome"] != "done" and row.get("reason")), None),
        statuses=tuple(sorted({row["status"] for row in ran if row.get("status")})),
        short=sum(not tried_original(row) for row in ran),
        load=max((row["load"] for row in ran if id(row) in timed), default=None),
    )


def measure_of(row: Mapping[str, Any], measure: str) -> float | None:
    """Return one measure of a row, or None where it has none.

    Examples
    --------
    >>> measure_of({"fails": ["bounded"]}, "psd"), measure_of({"start_mib": 100.0, "peak_mib": 130.5}, "extra_mib")
    (1.0, 30.5)
    """
    if measure == "psd":
        return None if "fails" not in row else float("psd" not in row["fails"])
    if measure == "extra_mib":
        known = row.get("peak_mib") is not None and row.get("start_mib") is not None
        return row["peak_mib"] - row["start_mib"] if known else None
    value = row.get(measure)
    return None if value is None else float(value)
