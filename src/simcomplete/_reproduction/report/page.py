"""All tables and figures on one page: self-contained, good to read on a phone."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from html import escape

from simcomplete._report import page as pages
from simcomplete._report.figures import Theme, data_uri
from simcomplete._report.page import Section
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.contents import Finding
from simcomplete._reproduction.report.figures import Figure, draw
from simcomplete._reproduction.report.tables import LEGEND, Table
from simcomplete._reproduction.summary import Entry

# Panels side by side that a phone can show; more of them scroll.
NARROW = 3


def render(
    protocols: Sequence[Protocol],
    entries: Mapping[str, Sequence[Entry]],
    tables: Mapping[str, Sequence[Table]],
    figures: Mapping[str, Sequence[Figure]],
    findings: Sequence[Finding],
    foot: str,
) -> str:
    """Write the page: what was found, then a section for each table or figure."""
    lead = (
        "<p>Every table and figure of <em>Tailored Low-Rank Matrix Factorization for Similarity Matrix Completion</em> "
        "as far as it was run, ours beside the paper's numbers where its source has them. "
        f"{escape(LEGEND)}</p>"
    )
    sections = [Section("findings", "What holds and what does not", _findings(findings))] if findings else []
    for one in protocols:
        body = [_about(one, entries[one.name])]
        shown = tables[one.name]
        body += [_table(table) for table in shown if one.layout != "curves"]
        body += [_figure(figure) for figure in figures[one.name]]
        sections.append(Section(one.name, one.title, "\n".join(body)))
    return pages.page("The paper's experiments, run again", lead, sections, foot)


def coverage(protocol: Protocol, entries: Sequence[Entry]) -> str:
    """Say how much of a protocol was run.

    Examples
    --------
    >>> from simcomplete._reproduction.protocol import load
    >>> coverage(load("rank"), [])
    'Not run yet: simcomplete paper run rank'
    """
    asked, ran = sum(e.asked for e in entries), sum(e.ran for e in entries)
    over, failed = sum(e.over for e in entries), sum(e.failed for e in entries)
    if not ran:
        return f"Not run yet: simcomplete paper run {protocol.name}"
    told = f"{ran} of {asked} runs" + (f", {over} over their time limit" if over else "")
    return told + (f", {failed} failed" if failed else "") + f": simcomplete paper run {protocol.name} --full"


def _about(protocol: Protocol, entries: Sequence[Entry]) -> str:
    decisions = ", ".join(protocol.decisions)
    return (
        f'<p class="soft">The paper: {escape(protocol.paper)}. Readings (docs/deviations.md): {escape(decisions)}. '
        f"{escape(coverage(protocol, entries))}.</p>"
    )


def _table(table: Table) -> str:
    if not table.rows:
        return f'<p class="soft">{escape(table.title)}: not run.</p>'
    note = f'<p class="soft">{escape(table.note)}</p>' if table.note else ""
    return pages.table(table.title, table.head, table.rows, range(table.words)) + note


def _figure(figure: Figure) -> str:
    body = pages.figure(partial(_uri, figure), figure.alt(), figure.alt())
    if len(figure.panels()) <= NARROW:
        return body
    return f'<div class="wide" tabindex="0"><div style="min-width: 44rem">{body}</div></div>'


def _findings(findings: Sequence[Finding]) -> str:
    items = "\n".join(
        f"<dt>{escape(one.word)}: {escape(one.claim)}</dt>"
        f"<dd>{escape(one.found)} <code>{escape(one.command)}</code></dd>"
        for one in findings
    )
    return f"<dl>\n{items}\n</dl>"


def _uri(figure: Figure, theme: Theme) -> str:
    return data_uri(draw(figure, "svg", theme), "image/svg+xml")
