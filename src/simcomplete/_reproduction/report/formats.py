"""Tables as Markdown, LaTeX and CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from dataclasses import replace

from simcomplete._reproduction.labels.others import OTHERS
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.tables import PaperTable
from simcomplete._reproduction.reported import method_label
from simcomplete._reproduction.summary import CellSummary

LATEX_ESCAPES = {
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


def table_markdown(table: PaperTable) -> str:
    """Write a table as Markdown.

    Examples
    --------
    >>> print(table_markdown(PaperTable("title", ["name", "value"], [["a|b", "1"]], words=1)))
    **title**
    <BLANKLINE>
    | name | value |
    |---|---:|
    | a\\|b | 1 |
    """
    lines = [table.head, *table.rows]
    escaped = [[cell.replace("|", "\\|") for cell in line] for line in lines]
    marks = "|".join("---" if j < table.words else "---:" for j in range(len(table.head)))
    body = [f"| {' | '.join(line)} |" for line in escaped]
    note = ["", table.note] if table.note else []
    if not table.rows:
        return f"**{table.title}**: not run."
    return "\n".join([f"**{table.title}**", "", body[0], f"|{marks}|", *body[1:], *note])


def with_links(table: PaperTable, methods: Sequence[str]) -> PaperTable:
    """Return a table whose names of methods are links to their pages in the documentation.

    Examples
    --------
    >>> with_links(PaperTable("title", ["method"], [["SMCNN"], ["KNNImputer"]], words=1), ["smcnn", "knn_imputer"]).rows
    [['[SMCNN](../methods/smcnn.md)'], ['KNNImputer']]
    """
    pages = {method_label(name): f"../methods/{name}.md" for name in methods if name not in OTHERS}
    linked = [[f"[{row[0]}]({pages[row[0]]})" if row[0] in pages else row[0], *row[1:]] for row in table.rows]
    return replace(table, rows=linked)


def table_latex(table: PaperTable) -> str:
    """Write a table as LaTeX, without packages.

    Examples
    --------
    >>> r"SMC\\_F & 0.5 \\\\" in table_latex(PaperTable("title", ["name", "value"], [["SMC_F", "0.5"]], words=1))
    True
    """
    shape = "l" * table.words + "r" * (len(table.head) - table.words)
    body = [" & ".join(map(escape_latex, line)) + r" \\" for line in table.rows]
    return "\n".join(
        [
            r"\begin{table}",
            rf"\caption{{{escape_latex(table.title)}}}",
            rf"\begin{{tabular}}{{{shape}}}",
            r"\hline",
            " & ".join(map(escape_latex, table.head)) + r" \\ \hline",
            *body,
            r"\hline",
            r"\end{tabular}",
            r"\end{table}",
        ]
    )


def escape_latex(text: str) -> str:
    """Write text so that LaTeX prints it unchanged.

    Examples
    --------
    >>> escape_latex("50% of n_p")
    '50\\\\% of n\\\\_p'
    """
    return "".join(LATEX_ESCAPES.get(mark, mark) for mark in text)


def cells_csv(protocol: Protocol, cells: Sequence[CellSummary]) -> str:
    """Write every number of a protocol, one a line: ours, its standard deviation, the paper's, and the difference."""
    axes = ["dataset", "candidates", *protocol.grid]
    head = [*axes, "method", "column", "measure", "ours", "spread", "runs", "paper", "difference", "over", "failed"]
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow([*head, "reason"])
    for cell in cells:
        for measure in protocol.measures:
            ours, paper = cell.mean.get(measure), cell.paper.get(measure)
            difference = None if ours is None or paper is None else ours - paper
            numbers = [_six_digits(x) for x in (ours, cell.spread.get(measure))]
            line = [*(cell.at[a] for a in axes), cell.method, cell.column, measure, *numbers, cell.ran]
            writer.writerow(
                [*line, _six_digits(paper), _six_digits(difference), cell.over, cell.failed, cell.reason or ""]
            )
    return out.getvalue()


def _six_digits(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
