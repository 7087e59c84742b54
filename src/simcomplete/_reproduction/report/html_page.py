"""All tables and figures of the reproduction on one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from simcomplete._report.figures import Theme, data_uri
from simcomplete._report.page import ThemedFigure, render_page, themed
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.extent import describe_runs
from simcomplete._reproduction.report.figures import PaperFigure, draw_figure
from simcomplete._reproduction.report.overview import Overview
from simcomplete._reproduction.report.results import Finding
from simcomplete._reproduction.report.tables import LEGEND, NO_NUMBER, PaperTable, describe_columns
from simcomplete._reproduction.summary import CellSummary

# A figure with more panels side by side scrolls on a phone.
MAX_PANELS = 3
# A table with more columns is shown in parts, one for each missing share: a page is 1280 pixels wide.
MAX_COLUMNS = 9


@dataclass(frozen=True)
class PageFigure:
    """A drawn figure, and whether it is too wide for a phone."""

    drawn: ThemedFigure
    wide: bool


def render_paper(
    protocols: Sequence[Protocol],
    cells: Mapping[str, Sequence[CellSummary]],
    tables: Mapping[str, Sequence[PaperTable]],
    figures: Mapping[str, Sequence[PaperFigure]],
    findings: Sequence[Finding],
    machine: str,
    overview: Overview | None = None,
) -> str:
    """Write the page: the picture of all methods, the claims of the paper, then a section for each protocol.

    Parameters
    ----------
    protocols : sequence of Protocol
        In the order of the page.
    cells, tables, figures : mapping
        What each protocol has, by its name.
    findings : sequence of Finding
        The claims; none are shown where there are none.
    machine : str
        A sentence about where the rows were made.
    overview : Overview, optional
        The picture at the top.
    """
    sections = {"findings": "Which claims hold"} if findings else {}
    context = {
        "sections": {**sections, **{one.name: one.title for one in protocols}},
        "legend": LEGEND,
        "protocols": protocols,
        "coverage": {one.name: coverage(one, cells[one.name]) for one in protocols},
        "runs": {one.name: describe_runs(one, cells[one.name]) for one in protocols},
        "columns": {one.name: describe_columns(one) for one in protocols if tables[one.name]},
        "tables": {name: [part for one in group for part in split_table(one)] for name, group in tables.items()},
        "figures": {name: [_page_figure(figure) for figure in group] for name, group in figures.items()},
        "findings": findings,
        "machine": machine,
        "overview": None if overview is None else _themed_overview(overview),
    }
    return render_page("paper.html", context, package="simcomplete._reproduction")


def split_table(table: PaperTable) -> list[PaperTable]:
    """Split a table that is too wide for the page by the missing share, the first number of its column names.

    Examples
    --------
    >>> head = ["method", *(f"{share} measure {k}" for share in (0.7, 0.8) for k in range(6))]
    >>> [part.head[:2] for part in split_table(PaperTable("title", head, [["a", *"123456789012"]], words=1))]
    [['method', '0.7 measure 0'], ['method', '0.8 measure 0']]
    """
    shares = [name.replace(",", " ").split()[0] for name in table.head[table.words :]]
    by_share = all(share.replace(".", "").isdigit() for share in shares)
    if len(table.head) <= MAX_COLUMNS or not table.rows or not by_share:
        return [table]
    parts = []
    for share in dict.fromkeys(shares):
        kept = [*range(table.words), *(table.words + j for j, one in enumerate(shares) if one == share)]
        rows = [[row[j] for j in kept] for row in table.rows]
        rows = [row for row in rows if any(cell not in NO_NUMBER for cell in row[table.words :])]
        parts.append(
            replace(table, title=f"{table.title}, {share} missing", head=[table.head[j] for j in kept], rows=rows)
        )
    return [*(replace(part, note="") for part in parts[:-1]), parts[-1]]


def coverage(protocol: Protocol, cells: Sequence[CellSummary]) -> str:
    """Say how much of a protocol was run.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> coverage(load_protocol("rank"), [])
    'Not run yet: simcomplete paper run rank --full'
    """
    asked, ran = sum(cell.asked for cell in cells), sum(cell.ran for cell in cells)
    over, failed = sum(cell.over for cell in cells), sum(cell.failed for cell in cells)
    if not ran:
        return f"Not run yet: simcomplete paper run {protocol.name} --full"
    counts = f"all {asked} runs" if ran == asked else f"{ran} of {asked} runs"
    counts += f", {over} of them stopped at their time limit" if over else ""
    short = sum(cell.short for cell in cells)
    counts += f", {short} tuned without the authors' parameters among the settings" if short else ""
    return counts + (f", {failed} failed" if failed else "") + f": simcomplete paper run {protocol.name} --full"


def _page_figure(figure: PaperFigure) -> PageFigure:
    drawn = themed(partial(_svg_uri, figure), figure.alt(), figure.alt())
    return PageFigure(drawn, wide=len(figure.panels()) > MAX_PANELS)


def _themed_overview(overview: Overview) -> ThemedFigure:
    def draw(theme: Theme) -> str:
        return data_uri(overview.draw("svg", theme), "image/svg+xml")

    return themed(draw, overview.alt(), overview.alt())


def _svg_uri(figure: PaperFigure, theme: Theme) -> str:
    return data_uri(draw_figure(figure, "svg", theme), "image/svg+xml")
