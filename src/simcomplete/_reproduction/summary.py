"""Rows summed up by cell: mean and spread over seeds, what went wrong, and what the paper printed."""

from __future__ import annotations

import statistics
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.reported import printed
from simcomplete._reproduction.runner import Rows, gather
from simcomplete._reproduction.trials import Cell

# How far from the paper's number counts as different: an amount for shares, a share for ranks.
NEAR = 0.05


@dataclass(frozen=True)
class Entry:
    """One cell of a table.

    Attributes
    ----------
    at : dict
        Data set, candidates, missing ratio and values on other axes.
    method, column, params : str, str, dict
        What was run.
    asked, ran, over, failed : int
        How many runs the protocol has, how many have a row, were over the limit, failed.
    mean, spread : dict
        By measure; spread only with two or more runs.
    paper : dict
        What the paper printed.
    used : int, optional
        How many candidates there were, where fewer than asked for.
    reason : str, optional
        Why the first run that is not "done" is not.
    statuses : tuple of str
        How the runs ended, one word each.
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

    def differs(self, measure: str) -> int:
        """Return 1 where ours is above the paper's, -1 below, 0 near or unknown.

        Examples
        --------
        >>> parts = {"at": {}, "method": "a", "column": "b", "params": {}, "asked": 1, "ran": 1, "over": 0, "failed": 0}
        >>> Entry(**parts, mean={"error": 0.9}, spread={}, paper={"error": 0.8}).differs("error")
        1
        """
        if measure not in self.mean or measure not in self.paper:
            return 0
        gap = self.mean[measure] - self.paper[measure]
        room = NEAR * (self.paper[measure] if measure == "rank" else 1.0)
        return 0 if abs(gap) <= room else 1 if gap > 0 else -1


def summarise(protocol: Protocol, rows: Rows) -> list[Entry]:
    """Sum up the rows of a protocol; cells that were not run have entries too."""
    groups: dict[tuple[Any, ...], list[dict[str, Any] | None]] = {}
    places: dict[tuple[Any, ...], Cell] = {}
    for cell, row in gather(protocol, rows):
        name = (*cell.at.values(), cell.trial["method"], cell.column)
        groups.setdefault(name, []).append(row)
        places[name] = cell
    return [_entry(protocol, places[name], group) for name, group in groups.items()]


def _entry(protocol: Protocol, cell: Cell, group: list[dict[str, Any] | None]) -> Entry:
    ran = [row for row in group if row is not None]
    found = {m: [v for row in ran for v in [value(row, m)] if v is not None] for m in protocol.measures}
    used = min((row["candidates_used"] for row in ran if "candidates_used" in row), default=None)
    return Entry(
        at=cell.at,
        method=cell.trial["method"],
        column=cell.column,
        params=cell.trial["params"],
        asked=len(group),
        ran=len(ran),
        over=sum(row["outcome"] == "over budget" for row in ran),
        failed=sum(row["outcome"] == "failed" for row in ran),
        mean={m: statistics.fmean(values) for m, values in found.items() if values},
        spread={m: statistics.stdev(values) for m, values in found.items() if len(values) > 1},
        paper=printed(protocol.reported, cell.trial["method"], cell.at),
        used=used if used is not None and used < cell.at["candidates"] else None,
        reason=next((row["reason"] for row in ran if row["outcome"] != "done" and row.get("reason")), None),
        statuses=tuple(sorted({row["status"] for row in ran if row.get("status")})),
    )


def value(row: Mapping[str, Any], measure: str) -> float | None:
    """Return one measure of a row, or None where it has none.

    Examples
    --------
    >>> value({"fails": ["bounded"]}, "psd"), value({"start_mib": 100.0, "peak_mib": 130.5}, "extra_mib")
    (1.0, 30.5)
    """
    if measure == "psd":
        return None if "fails" not in row else float("psd" not in row["fails"])
    if measure == "extra_mib":
        known = row.get("peak_mib") is not None and row.get("start_mib") is not None
        return row["peak_mib"] - row["start_mib"] if known else None
    told = row.get(measure)
    return None if told is None else float(told)
