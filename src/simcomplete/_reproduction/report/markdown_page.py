"""The Markdown page docs/reproduction.md: which claims of the paper hold, and how much was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.html_page import coverage
from simcomplete._reproduction.report.results import Finding
from simcomplete._reproduction.summary import CellSummary

PAGE_START = """\
# The paper's experiments, run again

This page is written by a command from stored rows; no number on it is typed by hand.

    {command}

To make the rows yourself, with the data sets in the folder named by SIMCOMPLETE_DATA ([datasets](datasets.md)):

    simcomplete paper list
    simcomplete paper run ablation --full --jobs 2     # continues where it was stopped
    simcomplete paper run all --quick                  # minutes, on bundled digits: a smoke test
    simcomplete paper report all                       # tables, figures and a page from the rows

All tables and figures are in [reproduction](reproduction/) (`index.html` has them on one page), the rows in
[rows.jsonl.gz](reproduction/rows.jsonl.gz): data set, seed, mask, method, parameters, every measure, seconds and CPU
seconds of the solve alone, memory, versions, machine, commit, outcome. Where the paper is
ambiguous, [deviations](deviations.md) says how it was read. The paper's numbers are taken from its source, which lacks
the effectiveness tables and all figures; ours have no numbers to compare with there. A claim is checked on the seeds
with which every cell of its protocol was run (at least the first), so that every method has the same data; the tables
show means over all seeds that were run.

{machine}
"""


def render_findings(
    findings: Sequence[Finding],
    protocols: Sequence[Protocol],
    cells: Mapping[str, Sequence[CellSummary]],
    command: str,
    machine: str,
) -> str:
    """Write the page."""
    parts = [PAGE_START.format(command=command, machine=machine)]
    for title, holds in (("What holds", True), ("What does not hold", False), ("Not run yet", None)):
        group = [one for one in findings if one.holds is holds]
        if group:
            parts += [f"## {title}\n", "| claim | in our rows | command |", "|---|---|---|"]
            parts += [f"| {one.claim} | {one.evidence} | `{one.command}` |" for one in group]
            parts.append("")
    parts += ["## How much was run\n", "| protocol | the paper | runs |", "|---|---|---|"]
    for one in protocols:
        name = f"[{one.name}](reproduction/{one.name}.md)" if any(cell.ran for cell in cells[one.name]) else one.name
        parts.append(f"| {name} | {one.paper} | {coverage(one, cells[one.name])} |")
    return "\n".join(parts) + "\n"
