"""The paper's tables in its own layout: methods in rows, missing ratios and measures in columns.

The paper's numbers, where it printed any, are a row below ours.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from simcomplete._registry import find
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.reported import method_label, set_label
from simcomplete._reproduction.summary import TIMED, TOLERANCE, CellSummary

ABOVE, BELOW, OVER = "▲", "▼", "*"
# Why a cell has no number. No cell is empty: a reader could not tell which of these it is.
NOT_RUN, LEFT_OUT, NO_MEASURE, NOT_TIMED = "-", "left out", "n/a", "not timed"
NO_NUMBER = (NOT_RUN, LEFT_OUT, NO_MEASURE)
MEASURE_LABELS = {
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
    "nn1": "1-NN",
    "nn5": "5-NN",
    "svc": "SVC",
    "own_classifier": "own classifier",
    "retrieval": "retrieval",
    "ari": "ARI",
}
MEASURE_MEANINGS = {
    "error": "relative squared error: the squared distance to the true similarities, divided by that of S0",
    "error_off_candidates": "the same, without the similarities among candidates",
    "recall_fifth": "the share of the true nearest fifth of the candidates that is found, the mean over the queries",
    "recall_all_rows": "the same over all rows and columns, not only queries and candidates",
    "ndcg": "normalised discounted cumulative gain of the nearest fifth, each of them equally relevant",
    "ndcg_graded": "the same with relevance by position",
    "rank": "eigenvalues of the result above rounding error",
    "rank_absolute": "eigenvalues of the result above 1e-15, the paper's rule",
    "cpu_seconds": "processor time of the completion",
    "extra_mib": "memory that the completion needs beyond its input",
    "psd": "whether the result is positive semi-definite",
    "nn1": "the share of queries whose nearest candidate has their class",
    "nn5": "the share of queries whose class is that of most of the five nearest candidates",
    "svc": "the share of queries that a support vector machine with these similarities as its kernel classifies right",
    "own_classifier": "the share of queries that a method which classifies by itself classifies right",
    "retrieval": "the share of the ten nearest candidates that have the query's class",
    "ari": "the adjusted Rand index of a spectral clustering of all rows with their classes",
}
TUNED_MEANING = (
    "Tuned: values of some candidates are hidden as those of queries are missing, and of several settings (the "
    "authors' among them where they end quickly) the one with the least error of these rows is taken. The error over "
    "the whole matrix counts similarities among candidates, too, so that it may be larger than that of the original "
    "parameters."
)
SETTING_MEANINGS = {"missing": "the missing share"}
WHOLE_NUMBERS = ("rank", "rank_absolute", "extra_mib")
LEGEND = (
    f"Numbers are means over the runs; ± is the standard deviation where there are several. {ABOVE}: ours is above the "
    f"paper's by more than {TOLERANCE:g} ({TOLERANCE:.0%} for ranks), {BELOW}: below. {OVER}: a run exceeded its time "
    f"limit, and the number is that of its last iteration. {NOT_RUN}: not run; {NO_MEASURE}: not a measure of this "
    "method, or not printed. The column 'which' names the parameters that were used, or 'paper' for the paper's "
    "numbers."
)


@dataclass(frozen=True)
class PaperTable:
    """A table of text: its head, its rows, how many of the first columns are words, and what is left out of it."""

    title: str
    head: list[str]
    rows: list[list[str]]
    words: int
    note: str = ""


def describe_columns(protocol: Protocol) -> str:
    """Say what the columns of a protocol's tables mean.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> describe_columns(load_protocol("time")).partition(". ")[0]
    'Columns: CPU s is processor time of the completion'
    """
    meanings = [f"{MEASURE_LABELS[m]} is {MEASURE_MEANINGS[m]}" for m in protocol.measures]
    text = f"Columns: {'; '.join(meanings)}."
    if protocol.layout == "properties":
        return f"{text} (paper): as printed."
    axes = [SETTING_MEANINGS.get(name, f"the {name}") for name in protocol.grid]
    tuned = f" {TUNED_MEANING}" if any(one.get("params", {}).get("tune") for one in protocol.columns) else ""
    return f"{text} Before the name of a measure: {', then '.join(axes)}.{tuned}"


def build_tables(protocol: Protocol, cells: Sequence[CellSummary]) -> list[PaperTable]:
    """Return the tables of a protocol: one for each data set and number of candidates, or one of properties."""
    if protocol.layout == "properties":
        return [_properties_table(protocol, cells)]
    tables = []
    for dataset in protocol.sets:
        for candidates in protocol.candidates:
            here = [c for c in cells if c.at["dataset"] == dataset and c.at["candidates"] == candidates]
            tables.append(_table(protocol, _title(dataset, candidates, here), here))
    return tables


def _title(dataset: str, candidates: int, cells: Sequence[CellSummary]) -> str:
    used = next((cell.used for cell in cells if cell.used is not None), None)
    short = "" if used is None else f" ({used:,} used: the data set has no more rows)"
    return f"{set_label(dataset)}, {candidates:,} candidates{short}"


def _table(protocol: Protocol, title: str, cells: Sequence[CellSummary]) -> PaperTable:
    settings: list[dict[str, Any]] = []
    for cell in cells:
        setting = {name: cell.at[name] for name in protocol.grid}
        if setting not in settings:
            settings.append(setting)
    head = ["method", "which"]
    head += [f"{_setting_label(at)} {MEASURE_LABELS.get(m, m)}" for at in settings for m in protocol.measures]
    rows, absent = [], []
    for method in protocol.methods:
        mine = [cell for cell in cells if cell.method == method]
        ran = False
        for name, column in _columns(mine):
            if not any(cell.ran for cell in column):
                absent.append(f"{method_label(method)} {name}")
                continue
            ran = True
            rows.append([method_label(method), name, *_texts(protocol, column, settings)])
        paper = {_setting_label({name: cell.at[name] for name in protocol.grid}): cell.paper for cell in mine}
        if ran and any(paper.values()):
            numbers = [paper.get(_setting_label(at), {}) for at in settings]
            texts = [number_text(one[m], m) if m in one else NO_MEASURE for one in numbers for m in protocol.measures]
            rows.append([method_label(method), "paper", *texts])
    return PaperTable(title, head, rows, words=2, note=f"Not run: {', '.join(absent)}." if absent else "")


def _texts(protocol: Protocol, cells: Sequence[CellSummary], settings: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the texts of a method's cells by setting, also of those that the protocol leaves out."""
    by_setting = {_setting_label({name: cell.at[name] for name in settings[0]}): cell for cell in cells}
    found = [by_setting.get(_setting_label(at)) for at in settings]
    return [LEFT_OUT if cell is None else cell_text(cell, m) for cell in found for m in protocol.measures]


def _columns(cells: Sequence[CellSummary]) -> list[tuple[str, list[CellSummary]]]:
    """Group cells by column, those with the same parameters together: a method may have nothing to tune."""
    groups: list[tuple[str, list[CellSummary]]] = []
    for column in dict.fromkeys(cell.column for cell in cells):
        mine = [cell for cell in cells if cell.column == column]
        same = next((i for i, (_, others) in enumerate(groups) if others[0].params == mine[0].params), None)
        if same is None:
            groups.append((column, mine))
        else:
            groups[same] = (f"{groups[same][0]}, {column}", groups[same][1])
    return groups


def _setting_label(setting: Mapping[str, Any]) -> str:
    return ", ".join(f"{value:g}" for value in setting.values())


def _properties_table(protocol: Protocol, cells: Sequence[CellSummary]) -> PaperTable:
    printed = protocol.layout_options["printed"]
    names = protocol.layout_options["head"]
    extra = ["regularizer", "solver"] if "regularizer" in names else []
    sizes = protocol.candidates if len(protocol.candidates) > 1 else [None]
    measured = [f"{MEASURE_LABELS[m]}{'' if n is None else f' at {n:,}'}" for n in sizes for m in protocol.measures]
    rows = []
    for method in protocol.methods:
        row = find(method).row()
        sizes_run = [{"candidates": n} for n in protocol.candidates]
        texts = _texts(protocol, [cell for cell in cells if cell.method == method], sizes_run)
        none = [NO_MEASURE] * len(names)
        rows.append([method_label(method), *printed.get(method, none), *(str(row[n]) for n in extra), *texts])
    head = ["method", *(f"{name} (paper)" for name in names), *extra, *measured]
    used = f", {set_label(protocol.sets[0])}, missing {protocol.grid['missing'][0]:g}"
    return PaperTable(protocol.title + used, head, rows, words=1 + len(names) + len(extra))


def cell_text(cell: CellSummary, measure: str) -> str:
    """Write one cell: the mean, its standard deviation and marks, or why there is none.

    Examples
    --------
    >>> parts = {"at": {}, "method": "a", "column": "b", "params": {}, "asked": 1, "ran": 1, "over": 1, "failed": 0}
    >>> cell_text(CellSummary(**parts, mean={"error": 0.9}, spread={}, paper={"error": 0.8}), "error")
    '0.900*▲'
    """
    if measure not in cell.mean:
        if not cell.ran:
            return NOT_RUN
        if measure == "rank_absolute" or (cell.mean and measure not in TIMED):  # not a measure of this method
            return NO_MEASURE
        if measure in TIMED and cell.over + cell.failed < cell.ran:
            return NOT_TIMED
        return "over limit" if cell.over else "failed"
    mark = {1: ABOVE, -1: BELOW, 0: ""}[cell.differs(measure)]
    over = OVER if cell.over else ""
    spread = f" ±{number_text(cell.spread[measure], measure)}" if measure in cell.spread else ""
    return f"{number_text(cell.mean[measure], measure)}{spread}{over}{mark}"


def number_text(value: float, measure: str) -> str:
    """Write a number with the digits of its measure."""
    if measure == "psd":
        return "yes" if value == 1.0 else "no"
    if measure in WHOLE_NUMBERS:
        return f"{value:.0f}"
    if measure == "cpu_seconds":
        return f"{value:.2f}"
    return f"{value:.3f}" if abs(value) < 1000 else f"{value:.3g}"
