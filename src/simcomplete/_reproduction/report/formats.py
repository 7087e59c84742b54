"""Tables as Markdown, LaTeX and CSV: the same cells in three spellings."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.tables import Table
from simcomplete._reproduction.summary import Entry

# Longest first where one begins another.
LATEX = {
    "\\": r"\textbackslash{}",
    "▲": r"$\uparrow$",
    "▼": r"$\downarrow$",
    "±": r"$\pm$",
    "^": r"\^{}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "{": r"\{",
    "}": r"\}",
    "~": r"\~{}",
}


def markdown(table: Table) -> str:
    """Write a table as Markdown.

    Examples
    --------
    >>> print(markdown(Table("title", ["name", "value"], [["a|b", "1"]], words=1)))
    **title**
    <BLANKLINE>
    | name | value |
    |---|---:|
    | a\\|b | 1 |
    """
    lines = [table.head, *table.rows]
    cells = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    marks = "|".join("---" if j < table.words else "---:" for j in range(len(table.head)))
    body = [f"| {' | '.join(line)} |" for line in cells]
    note = ["", table.note] if table.note else []
    if not table.rows:
        return f"**{table.title}**: not run."
    return "\n".join([f"**{table.title}**", "", body[0], f"|{marks}|", *body[1:], *note])


def latex(table: Table) -> str:
    """Write a table as LaTeX, without packages.

    Examples
    --------
    >>> r"SMC\\_F & 0.5 \\\\" in latex(Table("title", ["name", "value"], [["SMC_F", "0.5"]], words=1))
    True
    """
    shape = "l" * table.words + "r" * (len(table.head) - table.words)
    body = [" & ".join(map(escape, line)) + r" \\" for line in table.rows]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape(table.title)}}}",
            rf"\begin{{tabular}}{{{shape}}}",
            r"\hline",
            " & ".join(map(escape, table.head)) + r" \\ \hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def escape(text: str) -> str:
    """Write text so that LaTeX prints it as it is.

    Examples
    --------
    >>> escape("50% of n_p")
    '50\\\\% of n\\\\_p'
    """
    return "".join(LATEX.get(mark, mark) for mark in text)


def as_csv(protocol: Protocol, entries: Sequence[Entry]) -> str:
    """Write every number of a protocol, one a line: ours, its spread, the paper's, and the difference."""
    axes = ["dataset", "candidates", *protocol.grid]
    head = [*axes, "method", "column", "measure", "ours", "spread", "runs", "paper", "difference", "over", "failed"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*head, "reason"])
    for entry in entries:
        for measure in protocol.measures:
            ours, paper = entry.mean.get(measure), entry.paper.get(measure)
            gap = None if ours is None or paper is None else ours - paper
            numbers = [_short(x) for x in (ours, entry.spread.get(measure))]
            line = [*(entry.at[a] for a in axes), entry.method, entry.column, measure, *numbers, entry.ran]
            writer.writerow([*line, _short(paper), _short(gap), entry.over, entry.failed, entry.reason or ""])
    return out.getvalue()


def _short(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
