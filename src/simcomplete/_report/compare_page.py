"""A comparison of methods as a table, a CSV file, JSON and a page."""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

from simcomplete._compare.compare import winner
from simcomplete._report import charts
from simcomplete._report.page import ThemedFigure, render_page, themed, write_page
from simcomplete._report.results import COLUMN_MEANINGS, valid_text
from simcomplete._result.plain import plain
from simcomplete._rows.atomic import replacing

COMPARE_HEAD = (
    "method",
    "rel. sq. error",
    "queries x candidates",
    "recall@20%",
    "recall@10",
    "nDCG@20%",
    "rank",
    "valid",
    "seconds",
    "note",
)
COMPARE_TEXT = (0, 7, 9)
SHOWN_MEASURES = ("error", "error_queries_candidates", "recall_fifth", "recall_ten", "ndcg")


def compare_cells(row: dict[str, Any]) -> list[str]:
    """Write one method's summary as the cells of `COMPARE_HEAD`: means and standard deviations.

    Examples
    --------
    >>> row = dict.fromkeys([*SHOWN_MEASURES, "rank", "seconds"]) | {
    ...     "method": "a",
    ...     "valid": False,
    ...     "fails": [],
    ...     "reason": "no",
    ... }
    >>> compare_cells({**row, "runs": 1, "failed": 1, "over_budget": 0})[-1]
    'failed: no'
    """
    valid = "-" if row["error"] is None else valid_text(row["fails"])
    rank = "-" if row["rank"] is None else f"{row['rank']:.0f}"
    measures = [_mean_text(row, name) for name in SHOWN_MEASURES]
    return [row["method"], *measures, rank, valid, _mean_text(row, "seconds", 2), _note(row)]


def comparison_table(summary: Sequence[dict[str, Any]]) -> tuple[list[str], list[list[str]], list[int]]:
    """Return the head, the rows and the columns of text of the table, without measures that no method has.

    Data with gaps have fewer measures than complete data.
    """
    measured = [j for j, name in enumerate(SHOWN_MEASURES, start=1) if any(row[name] is not None for row in summary)]
    shown = [0, *(measured or [1]), *range(len(SHOWN_MEASURES) + 1, len(COMPARE_HEAD))]
    rows = [compare_cells(row) for row in summary]
    words = [place for place, j in enumerate(shown) if j in COMPARE_TEXT]
    return [COMPARE_HEAD[j] for j in shown], [[cells[j] for j in shown] for cells in rows], words


def write_comparison(
    folder: Path, summary: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], name: str
) -> Path:
    """Write rows.csv, summary.json and index.html about the data of that name into a folder; return the page's path."""
    names = sorted({name for row in rows for name in row}, key=lambda name: (name not in ("method", "seed"), name))
    with replacing(folder / "rows.csv") as draft, draft.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, names)
        writer.writeheader()
        writer.writerows(rows)
    with replacing(folder / "summary.json") as draft:
        draft.write_text(json.dumps(plain(list(summary)), indent=1, allow_nan=False) + "\n", encoding="utf-8")
    path = folder / "index.html"
    write_page(path, render_comparison(summary, rows, name))
    return path


def render_comparison(summary: Sequence[dict[str, Any]], rows: Sequence[dict[str, Any]], name: str = "data") -> str:
    """Write the comparison as one HTML document."""
    head, cells, words = comparison_table(summary)
    best = [row for row in summary if row["error"] is not None]
    figures: dict[str, ThemedFigure | None] = dict.fromkeys(("error", "recall", "time"))
    if best:
        errors = ", ".join(f"{row['method']} {row['error']:.3g}" for row in best)
        by_recall = sorted((row for row in best if row["recall_ten"] is not None), key=lambda row: -row["recall_ten"])
        seconds = ", ".join(f"{row['method']} {row['seconds']:.2g} s" for row in best if row["seconds"])
        figures = {
            "error": _bars(summary, "error", "relative squared error", errors),
            "recall": _bars(by_recall, "recall_ten", "recall@10", "Recall at 10 by method.") if by_recall else None,
            "time": themed(
                partial(charts.error_against_time, best),
                f"Error against seconds: {seconds}.",
                "Points further down and to the left are better.",
            ),
        }
    context = {
        "name": name,
        "winner": winner(summary),
        "first": rows[0],
        "kind": kind_of_similarity(rows[0].get("params", {})),
        "runs": max(row["runs"] for row in summary),
        # Notes are sentences: below the table they take no room from the numbers.
        "head": head[:-1],
        "columns": {name: COLUMN_MEANINGS[name] for name in head[1:-1]},
        "rows": [row[:-1] for row in cells],
        "notes": {row[0]: row[-1] for row in cells if row[-1]},
        "words": words,
        **figures,
    }
    return render_page("compare.html", context)


def kind_of_similarity(params: Mapping[str, Any]) -> str:
    """Say what was compared, where it is not plain cosines.

    Examples
    --------
    >>> kind_of_similarity({"center": "mean"})
    'First, the mean was subtracted from every feature. Similarities are cosines.'
    >>> kind_of_similarity({})
    ''
    """
    center, scale = params.get("center"), params.get("scale")
    changes = [f"the {center} was subtracted from every feature"] if center else []
    if scale:
        by = {"sd": "its standard deviation", "robust": "the distance of its quartiles"}[scale]
        changes.append(f"{'each' if center else 'every feature'} was divided by {by}")
    kind = "correlations of rows" if params.get("metric") == "pearson" else "cosines"
    first = f"First, {', and '.join(changes)}. " if changes else ""
    return f"{first}Similarities are {kind}." if changes or kind != "cosines" else ""


def _bars(rows: Sequence[dict[str, Any]], measure: str, title: str, alt: str) -> ThemedFigure:
    caption = "Bars show means, lines the standard deviation between runs."
    if measure == "error" and any((row["error"] or 0) > charts.LONGEST for row in rows):
        caption += f" Bars are cut at {charts.LONGEST:g}; the table has the errors."
    return themed(lambda theme: charts.bars(rows, measure, title, theme), f"{title}: {alt}", caption)


def _mean_text(row: dict[str, Any], name: str, digits: int = 3) -> str:
    if row[name] is None:
        return "-"
    spread = row.get(f"{name}_spread")
    return f"{row[name]:.{digits}f}" + ("" if spread is None else f" ±{spread:.{digits}f}")


def _note(row: dict[str, Any]) -> str:
    notes = []
    if row["failed"]:
        notes.append("failed" if row["failed"] == row["runs"] else f"{row['failed']} of {row['runs']} failed")
    if row["over_budget"]:
        notes.append("over budget")
    return ": ".join(filter(None, [", ".join(notes), row["reason"] or ""]))
