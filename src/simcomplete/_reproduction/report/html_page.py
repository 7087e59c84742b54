"""All tables and figures of the reproduction on one HTML page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from simcomplete._report.figures import Theme, data_uri
from simcomplete._report.page import ThemedFigure, render_page, themed
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.figures import PaperFigure, draw_figure
from simcomplete._reproduction.report.results import Finding
from simcomplete._reproduction.report.tables import LEGEND, PaperTable
from simcomplete._reproduction.summary import CellSummary

# A figure with more panels side by side scrolls on a phone.
MAX_PANELS = 3


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
) -> str:
    """Write the page: the claims of the paper, then a section for each protocol.

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
    """
    sections = {"findings": "What holds and what does not"} if findings else {}
    context = {
        "sections": {**sections, **{one.name: one.title for one in protocols}},
        "legend": LEGEND,
        "protocols": protocols,
        "coverage": {one.name: coverage(one, cells[one.name]) for one in protocols},
        "tables": tables,
        "figures": {name: [_page_figure(figure) for figure in group] for name, group in figures.items()},
        "findings": findings,
        "machine": machine,
    }
    return render_page("paper.html", context, package="simcomplete._reproduction")


def coverage(protocol: Protocol, cells: Sequence[CellSummary]) -> str:
    """Say how much of a protocol was run.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load_protocol
    >>> coverage(load_protocol("rank"), [])
    'Not run yet: simcomplete paper run rank'
    """
    asked, ran = sum(cell.asked for cell in cells), sum(cell.ran for cell in cells)
    over, failed = sum(cell.over for cell in cells), sum(cell.failed for cell in cells)
    if not ran:
        return f"Not run yet: simcomplete paper run {protocol.name}"
    counts = f"{ran} of {asked} runs" + (f", {over} over their time limit" if over else "")
    return counts + (f", {failed} failed" if failed else "") + f": simcomplete paper run {protocol.name} --full"


def _page_figure(figure: PaperFigure) -> PageFigure:
    drawn = themed(partial(_svg_uri, figure), figure.alt(), figure.alt())
    return PageFigure(drawn, wide=len(figure.panels()) > MAX_PANELS)


def _svg_uri(figure: PaperFigure, theme: Theme) -> str:
    return data_uri(draw_figure(figure, "svg", theme), "image/svg+xml")
