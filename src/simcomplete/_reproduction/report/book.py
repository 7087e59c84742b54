"""The report: tables, figures, one page, and what holds, all rendered from rows."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

from simcomplete._reproduction.protocol import Protocol, names
from simcomplete._reproduction.report import findings as paper_findings
from simcomplete._reproduction.report import page as paper_page
from simcomplete._reproduction.report.claims import findings as check
from simcomplete._reproduction.report.figures import Figure, draw, pages
from simcomplete._reproduction.report.formats import as_csv, latex, markdown
from simcomplete._reproduction.report.tables import LEGEND, Table, tables
from simcomplete._reproduction.runner import index
from simcomplete._reproduction.summary import summarise
from simcomplete._rows.atomic import replacing

COMMAND = (
    "simcomplete paper report all --rows docs/reproduction/rows.jsonl.gz -o docs/reproduction "
    "--findings docs/reproduction.md"
)


class Report:
    """Everything there is to say about some protocols, given rows; nothing is drawn before it is asked for.

    Parameters
    ----------
    protocols : sequence of Protocol
        What to report on. Claims of the paper are checked when all of them are there.
    rows : sequence of dict
        From the runner.
    """

    def __init__(self, protocols: Sequence[Protocol], rows: Sequence[dict[str, Any]]) -> None:
        known = index(rows)
        self.protocols = sorted(protocols, key=lambda one: one.place)
        self.machine = machine(list(known.values()))
        self.entries = {one.name: summarise(one, known) for one in self.protocols}
        self.tables: dict[str, list[Table]] = {}
        self.figures: dict[str, list[Figure]] = {}
        for one in self.protocols:
            curves = one.layout == "curves"
            self.tables[one.name] = [] if curves else tables(one, self.entries[one.name])
            self.figures[one.name] = pages(one, self.entries[one.name]) if curves else []
        self.claims = check(known) if {one.name for one in self.protocols} == set(names()) else []

    def texts(self) -> dict[str, str]:
        """Return Markdown, CSV and LaTeX by the name of their files, for protocols with any row."""
        found = {}
        for one in self.protocols:
            entries = self.entries[one.name]
            if any(entry.ran for entry in entries):
                found[f"{one.name}.md"] = self._document(one)
                found[f"{one.name}.csv"] = as_csv(one, entries)
            if any(entry.ran for entry in entries) and self.tables[one.name]:
                found[f"{one.name}.tex"] = (
                    "\n\n".join(latex(table) for table in self.tables[one.name] if table.rows) + "\n"
                )
        return found

    def findings(self) -> str:
        """Return what holds and what does not, as Markdown."""
        return paper_findings.markdown(self.claims, self.protocols, self.entries, COMMAND, self.machine)

    def page(self) -> str:
        """Return everything as one HTML document."""
        foot = f"<p>{escape(self.machine)}</p>"
        return paper_page.render(self.protocols, self.entries, self.tables, self.figures, self.claims, foot)

    def write(self, folder: Path, findings: Path | None = None) -> list[Path]:
        """Write all files into a folder, the findings where told; return their paths, the page last."""
        written = {folder / name: text.encode("utf-8") for name, text in self.texts().items()}
        for figure in [figure for found in self.figures.values() for figure in found]:
            written |= {folder / f"{figure.name}.{kind}": draw(figure, kind) for kind in ("png", "svg")}
        if findings is not None:
            written[findings] = self.findings().encode("utf-8")
        written[folder / "index.html"] = self.page().encode("utf-8")
        for path, raw in written.items():
            with replacing(path) as draft:
                draft.write_bytes(raw)
        return list(written)

    def _document(self, protocol: Protocol) -> str:
        parts = [f"# {protocol.title}", "", f"The paper: {protocol.paper}."]
        parts += [f"Readings ([deviations](../deviations.md)): {', '.join(protocol.decisions)}.", ""]
        parts += [f"{paper_page.coverage(protocol, self.entries[protocol.name])}.", ""]
        if self.tables[protocol.name]:
            parts += [LEGEND, ""]
        for table in self.tables[protocol.name]:
            parts += [markdown(table), ""]
        for figure in self.figures[protocol.name]:
            parts += [f"![{figure.alt()}]({figure.name}.svg)", ""]
        return "\n".join(parts)


def machine(rows: Sequence[dict[str, Any]]) -> str:
    """Say in a sentence on what the rows were made."""
    if not rows:
        return "There are no rows."
    facts = {name: sorted({str(row.get(name)) for row in rows}) for name in ("processor", "cores", "threads", "commit")}
    loads = [row["load"] for row in rows if row.get("load") is not None]
    busy = f" Its load was {min(loads):.0f} to {max(loads):.0f}, so wall-clock seconds say little." if loads else ""
    return (
        f"{len(rows)} rows, made on {', '.join(facts['processor'])} with {', '.join(facts['cores'])} cores and "
        f"{', '.join(facts['threads'])} thread for each run, commit {', '.join(c[:10] for c in facts['commit'])}.{busy}"
    )
