"""Tables of the paper in its own layout: data sets and methods down, missing ratios and measures across.

Under each of our rows stands the paper's, where it printed one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from simcomplete._registry import find
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.reported import method_label, set_label
from simcomplete._reproduction.summary import NEAR, Entry

ABOVE, BELOW, OVER = "▲", "▼", "*"
WORDS = {
    "error": "error",
    "recall_fifth": "recall",
    "ndcg": "nDCG",
    "error_off_candidates": "error off candidates",
    "recall_all_rows": "recall of all rows",
    "ndcg_graded": "graded nDCG",
    "rank": "rank",
    "rank_absolute": "rank (1e-15)",
    "cpu_seconds": "CPU s",
    "extra_mib": "extra MiB",
    "psd": "PSD",
}
WHOLE = ("rank", "rank_absolute", "extra_mib")
LEGEND = (
    f"Means over the runs, the standard deviation behind ± where there are several. {ABOVE} ours is above the paper's "
    f"by more than {NEAR:g} ({NEAR:.0%} for ranks), {BELOW} below. {OVER} a run was over its time limit: this is how "
    "far it came. - was not run."
)


@dataclass(frozen=True)
class Table:
    """Cells of text under a head; the first columns are words; a note says what is left out."""

    title: str
    head: list[str]
    rows: list[list[str]]
    words: int
    note: str = ""


def tables(protocol: Protocol, entries: Sequence[Entry]) -> list[Table]:
    """Return the tables of a protocol: one for each data set and number of candidates, or one of properties."""
    if protocol.layout == "properties":
        return [_properties(protocol, entries)]
    found = []
    for dataset in protocol.sets:
        for candidates in protocol.candidates:
            here = [e for e in entries if e.at["dataset"] == dataset and e.at["candidates"] == candidates]
            found.append(_one(protocol, _title(dataset, candidates, here), here))
    return found


def _title(dataset: str, candidates: int, entries: Sequence[Entry]) -> str:
    used = next((entry.used for entry in entries if entry.used is not None), None)
    short = "" if used is None else f" ({used:,} used: the data set has no more rows)"
    return f"{set_label(dataset)}, {candidates:,} candidates{short}"


def _one(protocol: Protocol, title: str, entries: Sequence[Entry]) -> Table:
    places: list[dict[str, Any]] = []
    for entry in entries:
        place = {name: entry.at[name] for name in protocol.grid}
        if place not in places:
            places.append(place)
    head = ["method", "which"]
    head += [f"{_at(place)} {WORDS.get(m, m)}" for place in places for m in protocol.measures]
    rows, absent = [], []
    for method in protocol.methods:
        mine = [entry for entry in entries if entry.method == method]
        ran = False
        for name, found in _columns(mine):
            if not any(entry.ran for entry in found):
                absent.append(f"{method_label(method)} {name}")
                continue
            ran = True
            rows.append([method_label(method), name, *(text(entry, m) for entry in found for m in protocol.measures)])
        paper = {_at(entry.at, protocol): entry.paper for entry in mine}
        if ran and any(paper.values()):
            told = [paper[_at(place)] for place in places]
            cells = [number(one[m], m) if m in one else "" for one in told for m in protocol.measures]
            rows.append([method_label(method), "paper", *cells])
    return Table(title, head, rows, words=2, note=f"Not run: {', '.join(absent)}." if absent else "")


def _columns(entries: Sequence[Entry]) -> list[tuple[str, list[Entry]]]:
    """Put columns with the same parameters into one: a method without settings has nothing to tune."""
    found: list[tuple[str, list[Entry]]] = []
    for column in dict.fromkeys(entry.column for entry in entries):
        mine = [entry for entry in entries if entry.column == column]
        same = next((i for i, (_, others) in enumerate(found) if others[0].params == mine[0].params), None)
        if same is None:
            found.append((column, mine))
        else:
            found[same] = (f"{found[same][0]}, {column}", found[same][1])
    return found


def _at(place: dict[str, Any], protocol: Protocol | None = None) -> str:
    names = place if protocol is None else protocol.grid
    return ", ".join(f"{place[name]:g}" for name in names)


def _properties(protocol: Protocol, entries: Sequence[Entry]) -> Table:
    printed = protocol.layout_of["printed"]
    names = protocol.layout_of["head"]
    extra = ["regularizer", "solver"] if "regularizer" in names else []
    sizes = protocol.candidates if len(protocol.candidates) > 1 else [None]
    measured = [f"{WORDS[m]}{'' if n is None else f' at {n:,}'}" for n in sizes for m in protocol.measures]
    rows = []
    for method in protocol.methods:
        row = find(method).row()
        mine = [e for e in entries if e.method == method]
        cells = [text(e, m) for e in mine for m in protocol.measures]
        blank = [""] * len(names)
        rows.append([method_label(method), *printed.get(method, blank), *(str(row[n]) for n in extra), *cells])
    head = ["method", *(f"{name} (paper)" for name in names), *extra, *measured]
    used = f", {set_label(protocol.sets[0])}, missing {protocol.grid['missing'][0]:g}"
    return Table(protocol.title + used, head, rows, words=1 + len(names) + len(extra))


def text(entry: Entry, measure: str) -> str:
    """Write one cell: the mean, its spread, and marks; or why there is none.

    Examples
    --------
    >>> parts = {"at": {}, "method": "a", "column": "b", "params": {}, "asked": 1, "ran": 1, "over": 1, "failed": 0}
    >>> text(Entry(**parts, mean={"error": 0.9}, spread={}, paper={"error": 0.8}), "error")
    '0.900*▲'
    """
    if measure not in entry.mean:
        if not entry.ran:
            return "-"
        if measure == "rank_absolute":
            return ""
        return "over limit" if entry.over else "failed"
    mark = {1: ABOVE, -1: BELOW, 0: ""}[entry.differs(measure)]
    over = OVER if entry.over else ""
    spread = f" ±{number(entry.spread[measure], measure)}" if measure in entry.spread else ""
    return f"{number(entry.mean[measure], measure)}{spread}{over}{mark}"


def number(value: float, measure: str) -> str:
    """Write a number with as many digits as its measure deserves."""
    if measure == "psd":
        return "yes" if value == 1.0 else "no"
    if measure in WHOLE:
        return f"{value:.0f}"
    if measure == "cpu_seconds":
        return f"{value:.2f}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
