"""The report of the paper's experiments: tables, figures, pages and claims, all from stored rows."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simcomplete._reproduction.protocol import Protocol, protocol_names
from simcomplete._reproduction.report.claims import check_claims
from simcomplete._reproduction.report.extent import describe_runs
from simcomplete._reproduction.report.figures import PaperFigure, build_figures, draw_figure
from simcomplete._reproduction.report.formats import cells_csv, table_latex, table_markdown, with_links
from simcomplete._reproduction.report.html_page import coverage, render_paper, split_table
from simcomplete._reproduction.report.markdown_page import render_findings
from simcomplete._reproduction.report.overview import NAME as OVERVIEW
from simcomplete._reproduction.report.overview import build_overview
from simcomplete._reproduction.report.tables import LEGEND, PaperTable, build_tables, describe_columns
from simcomplete._reproduction.rows import rows_by_trial
from simcomplete._reproduction.summary import summarise_cells
from simcomplete._rows.atomic import replacing

REPORT_COMMAND = (
    "simcomplete paper report all --rows docs/reproduction/rows.jsonl.gz -o docs/reproduction "
    "--findings docs/reproduction.md"
)


class Report:
    """Tables, figures, pages and claims of protocols, from rows; figures are drawn when they are written.

    Parameters
    ----------
    protocols : sequence of Protocol
        What to report on. Claims of the paper are checked when it is all protocols.
    rows : sequence of dict
        From the runner.
    """

    def __init__(self, protocols: Sequence[Protocol], rows: Sequence[dict[str, Any]]) -> None:
        known = rows_by_trial(rows)
        self.protocols = sorted(protocols, key=lambda one: one.position)
        self.machine = describe_machine(list(known.values()))
        self.cells = {one.name: summarise_cells(one, known) for one in self.protocols}
        self.tables: dict[str, list[PaperTable]] = {}
        self.figures: dict[str, list[PaperFigure]] = {}
        for one in self.protocols:
            curves = one.layout == "curves"
            self.tables[one.name] = [] if curves else build_tables(one, self.cells[one.name])
            self.figures[one.name] = build_figures(one, self.cells[one.name]) if curves else []
        self.overview = build_overview(self.protocols, self.cells)
        self.claims = check_claims(known) if {one.name for one in self.protocols} == set(protocol_names()) else []

    def texts(self) -> dict[str, str]:
        """Return Markdown, CSV and LaTeX by the name of their files, for protocols with any row."""
        texts = {}
        for one in self.protocols:
            cells = self.cells[one.name]
            if not any(cell.ran for cell in cells):
                continue
            texts[f"{one.name}.md"] = self._markdown(one)
            texts[f"{one.name}.csv"] = cells_csv(one, cells)
            if self.tables[one.name]:
                tables = [table_latex(table) for table in self.tables[one.name] if table.rows]
                texts[f"{one.name}.tex"] = "\n\n".join(tables) + "\n"
        return texts

    def findings(self) -> str:
        """Return which claims hold and how much was run, as Markdown."""
        return render_findings(self.claims, self.protocols, self.cells, REPORT_COMMAND, self.machine, self.overview)

    def page(self) -> str:
        """Return everything as one HTML document."""
        return render_paper(
            self.protocols, self.cells, self.tables, self.figures, self.claims, self.machine, self.overview
        )

    def write(self, folder: Path, findings: Path | None = None) -> list[Path]:
        """Write all files into a folder, the findings to their own path; return all paths, the page last."""
        written = {folder / name: text.encode("utf-8") for name, text in self.texts().items()}
        for figure in [figure for group in self.figures.values() for figure in group]:
            written |= {folder / f"{figure.name}.{kind}": draw_figure(figure, kind) for kind in ("png", "svg")}
        if self.overview is not None:
            written |= {folder / f"{OVERVIEW}.{kind}": self.overview.draw(kind) for kind in ("png", "svg")}
        if findings is not None:
            written[findings] = self.findings().encode("utf-8")
        written[folder / "index.html"] = self.page().encode("utf-8")
        for path, raw in written.items():
            with replacing(path) as draft:
                draft.write_bytes(raw)
        return list(written)

    def _markdown(self, protocol: Protocol) -> str:
        parts = [f"# {protocol.title}", "", f"The paper: {protocol.paper}."]
        parts += [f"Readings ([deviations](../deviations.md)): {', '.join(protocol.decisions)}.", ""]
        done = coverage(protocol, self.cells[protocol.name])
        parts += [f"{describe_runs(protocol, self.cells[protocol.name])} Made so far: {done}.", ""]
        if self.tables[protocol.name]:
            parts += [f"{describe_columns(protocol)} {LEGEND}", ""]
        for table in [part for one in self.tables[protocol.name] for part in split_table(one)]:
            parts += [table_markdown(with_links(table, protocol.methods)), ""]
        for figure in self.figures[protocol.name]:
            parts += [f"![{figure.alt()}]({figure.name}.svg)", "", f"*{figure.alt()}*", ""]
        return "\n".join(parts)


def describe_machine(rows: Sequence[dict[str, Any]]) -> str:
    """Say in a sentence where the rows were made."""
    if not rows:
        return "There are no rows."
    facts = {name: sorted({str(row.get(name)) for row in rows}) for name in ("processor", "cores", "threads", "commit")}
    loads = [row["load"] for row in rows if row.get("load") is not None]
    busy = (
        f" The load was {min(loads):.0f} to {max(loads):.0f}; use CPU seconds, not wall-clock seconds." if loads else ""
    )
    hours = sum(row.get("cpu_seconds") or 0.0 for row in rows) / 3600
    return (
        f"{len(rows)} rows, whose solvers took {hours:.1f} hours of processor time, made on "
        f"{', '.join(facts['processor'])} with {', '.join(facts['cores'])} cores and "
        f"{', '.join(facts['threads'])} thread for each run, commit {', '.join(c[:10] for c in facts['commit'])}.{busy}"
    )
