"""Rows of results as Markdown: means by cell, and tables that line up."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from typing import Any

import numpy as np

Row = dict[str, Any]
NONE = "–"


def grouped(rows: Iterable[Row], *names: str) -> dict[tuple[Any, ...], list[Row]]:
    """Rows by the values of some names, in the order in which they first come."""
    found: dict[tuple[Any, ...], list[Row]] = {}
    for row in rows:
        found.setdefault(tuple(row.get(name) for name in names), []).append(row)
    return found


def mean(rows: Iterable[Row], name: str) -> float | None:
    """The mean of a measure over the rows that have it."""
    values = [row[name] for row in rows if row.get(name) is not None]
    return float(np.mean(values)) if values else None


def number(value: float | None, places: int = 3) -> str:
    """A measure without its leading zero, as the reference tables have it: .095; huge and tiny ones as 8e+07."""
    if value is None:
        return NONE
    if value >= 10:
        return f"{value:.0f}" if value < 10_000 else f"{value:.0e}"
    if 0 < value < 0.5 * 10**-places:
        return f"{value:.0e}"
    text = f"{value:.{places}f}"
    return text[1:] if text.startswith("0.") else text


def series(values: Iterable[float | None], places: int = 3) -> str:
    """Several measures in one cell: .095/.080/.060."""
    return "/".join(number(value, places) for value in values)


def table(head: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """A Markdown table, names to the left and numbers to the right, and an empty line."""
    bars = [":--", *["--:"] * (len(head) - 1)]
    return ["| " + " | ".join(line) + " |" for line in [head, bars, *lines]] + [""]


def by_method(
    rows: Sequence[Row],
    names: Sequence[str],
    label: Callable[..., str],
    measure: str = "error",
    methods: Sequence[str] | None = None,
) -> list[str]:
    """A line per setting and a column per method: the mean of a measure, the best one in bold.

    Tables of errors also have the coverage of the intervals, if there are any, and the error of S0.
    """
    columns = methods or list(dict.fromkeys(row["method"] for row in rows))
    errors = measure.startswith("error")
    lines = []
    for setting, group in grouped(rows, *names).items():
        means = {method: mean([row for row in group if row["method"] == method], measure) for method in columns}
        best = _best(means, least=errors)
        cells = [f"**{number(v)}**" if m == best else number(v) for m, v in means.items()]
        beside = [number(mean(group, "coverage")), number(mean(group, "before"), 4)]
        lines.append([label(*setting), *cells, *(beside if errors else [])])
    return table(["", *columns, *(["coverage", "error of S0"] if errors else [])], lines)


def failures(rows: Iterable[Row]) -> list[str]:
    """What could not be done, and why: a line for each method and reason."""
    told = grouped([row for row in rows if row["outcome"] != "done"], "method", "reason")
    lines = [
        f"- `{method}` failed on {', '.join(sorted({row['dataset'] for row in group}))}: {reason}"
        for (method, reason), group in told.items()
    ]
    return [*lines, ""] if lines else []


def _best(means: dict[str, float | None], least: bool) -> Hashable:
    known = {name: value for name, value in means.items() if value is not None}
    return (min if least else max)(known, key=known.__getitem__) if known else None
