"""docs/reproduction.md: what holds, what does not, how much was run. Every number comes from stored rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.contents import Finding
from simcomplete._reproduction.report.page import coverage
from simcomplete._reproduction.summary import Entry

HEAD = """\
# The paper's experiments, run again

This page is made by a command from stored rows; nothing on it is typed by hand.

    {command}

To make rows oneself, with the data sets in the folder that SIMCOMPLETE_DATA names ([datasets](datasets.md)):

    simcomplete paper list
    simcomplete paper run ablation --full --jobs 2     # goes on where it was stopped
    simcomplete paper run all --quick                  # minutes, on bundled digits: a smoke test
    simcomplete paper report all                       # tables, figures and a page from the rows

All tables and figures are in [reproduction](reproduction/) (`index.html` has them on one page), the rows in
[rows.jsonl.gz](reproduction/rows.jsonl.gz): data set, seed, mask, method, parameters, every measure, seconds and CPU
seconds of the solve alone, memory, versions, machine, commit, outcome. What the paper leaves open is decided in
[deviations](deviations.md). The paper's numbers are those of its source: the effectiveness tables and all figures are
not in it, so nothing stands beside ours there. Claims are judged on the seeds that all of a protocol was run with, at
least the first, so that every method was given the same data; the tables have means over the seeds that were run.

{machine}
"""


def markdown(
    findings: Sequence[Finding],
    protocols: Sequence[Protocol],
    entries: Mapping[str, Sequence[Entry]],
    command: str,
    machine: str,
) -> str:
    """Write the page."""
    parts = [HEAD.format(command=command, machine=machine)]
    for title, verdict in (("What holds", True), ("What does not hold", False), ("Not run yet", None)):
        found = [one for one in findings if one.holds is verdict]
        if found:
            parts += [f"## {title}\n", "| claim | in our rows | command |", "|---|---|---|"]
            parts += [f"| {one.claim} | {one.found} | `{one.command}` |" for one in found]
            parts.append("")
    parts += ["## How much was run\n", "| protocol | the paper | runs |", "|---|---|---|"]
    for one in protocols:
        name = f"[{one.name}](reproduction/{one.name}.md)" if any(e.ran for e in entries[one.name]) else one.name
        parts.append(f"| {name} | {one.paper} | {coverage(one, entries[one.name])} |")
    return "\n".join(parts) + "\n"
