"""The Markdown page docs/reproduction.md: which claims of the paper hold, and how much was run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.report.extent import describe_cuts
from simcomplete._reproduction.report.html_page import coverage
from simcomplete._reproduction.report.overview import NAME, Overview
from simcomplete._reproduction.report.results import Finding
from simcomplete._reproduction.summary import CellSummary

PAGE_START = """\
# The paper's experiments, run again

The paper completes similarities of samples with missing values by [SMCNN](methods/smcnn.md) and
[SMCNmF](methods/smcnmf.md). We ran its experiments again with all methods that it compares with, and with
[posterior](methods/posterior.md), the method of this library.
"""
LEFT_OUT = """\
## What is left out

Combinations that take minutes each and do not bear on the question of their table are not run, and slow methods have
fewer of the seeds, so that all of it can be run again in some hours.
"""
PAGE_END = """\
## How this page was made

This page is generated from stored results by the following command; no number is entered by hand.

    {command}

To run the experiments yourself, put the data sets into the folder named by SIMCOMPLETE_DATA ([datasets](datasets.md)):

    simcomplete paper list
    simcomplete paper run all --quick                  # minutes, on bundled digits: a smoke test
    mkdir -p simcomplete-paper
    gunzip -c docs/reproduction/rows.jsonl.gz > simcomplete-paper/rows.jsonl
    simcomplete paper run all --full --jobs 2          # continues; may be stopped at any time
    simcomplete paper report all                       # tables, figures and a page from the rows

All tables and figures are in [reproduction](reproduction/); `index.html` shows them on one page. The results of
single runs are the rows of [rows.jsonl.gz](reproduction/rows.jsonl.gz): data set, seed, mask, method, parameters, all
measures, seconds and CPU seconds of the solver alone, memory, versions, machine, commit and outcome. Where the paper
is ambiguous, [deviations](deviations.md) describes the interpretation used. The paper's numbers are taken from its
source, which does not contain the effectiveness tables and the figures; for these there are no numbers to compare
with. A claim is checked on the seeds for which every cell that it compares was run (at least the first), so all
methods have the same data. The tables show means over all seeds that were run. Timings are shown side by side only
where they come from one machine, one version and one run; their page says whether other work ran beside it.

{machine}
"""


def render_findings(
    findings: Sequence[Finding],
    protocols: Sequence[Protocol],
    cells: Mapping[str, Sequence[CellSummary]],
    command: str,
    machine: str,
    overview: Overview | None = None,
) -> str:
    """Write the page."""
    parts = [PAGE_START]
    if overview is not None:
        parts += [f"![{overview.alt()}](reproduction/{NAME}.svg)\n", f"*{overview.alt()}*\n"]
    if findings:
        parts += ["## Which claims hold\n", "| claim | holds | our results | command |", "|---|---|---|---|"]
        for one in sorted(findings, key=lambda one: (one.holds is None, one.holds is False)):
            said = " ".join(text for text in (one.evidence, one.reason) if text)
            parts.append(f"| {one.claim} | {one.mark} {one.conclusion} | {said} | `{one.command}` |")
        parts.append("")
    parts += ["## How much was run\n", "| protocol | the paper | runs |", "|---|---|---|"]
    for one_protocol in protocols:
        name, mine = one_protocol.name, cells[one_protocol.name]
        link = f"[{name}](reproduction/{name}.md)" if any(cell.ran for cell in mine) else name
        parts.append(f"| {link} | {one_protocol.paper} | {coverage(one_protocol, mine)} |")
    cuts = [(one.name, describe_cuts(one)) for one in protocols]
    parts += ["", LEFT_OUT, *(f"- [{name}](reproduction/{name}.md): {'; '.join(left)}." for name, left in cuts if left)]
    shown = command.replace(" -o ", " \\\n        -o ")  # two lines: a page is as wide as 96 letters of code
    parts += ["", PAGE_END.format(command=shown, machine=machine)]
    return "\n".join(parts)
