"""`simcomplete paper`: the paper's tables and figures, one command each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from simcomplete._cli.options import AsJson
from simcomplete._cli.output import print_json, print_line, print_table, say
from simcomplete._compare.ledger import trial_key
from simcomplete._reproduction.protocol import Protocol, load_protocol, load_protocols
from simcomplete._reproduction.rows import RowsByTrial, check_rows, pack_rows, pair_cells, read_rows, rows_by_trial
from simcomplete._reproduction.runner import run_protocols
from simcomplete._reproduction.trials import TRIAL_KEY, expand
from simcomplete.errors import InputError, SimcompleteError

ROWS_FILE = "rows.jsonl"
DEFAULT_FOLDER = Path("simcomplete-paper")
OUTCOMES = ("done", "over budget", "failed")
MOST_REASONS = 5  # for which runs failed; more are in the rows

Name = Annotated[str, Argument(metavar="NAME", help="A protocol (see: simcomplete paper list), or all.")]
Folder = Annotated[Path, Option("--output", "-o", metavar="DIR", help="Folder for the results and the report.")]
Quick = Annotated[bool, Option("--quick", help="Small runs on bundled digits, in minutes, to try the command.")]
Full = Annotated[bool, Option("--full", help="All seeds of the protocol, not only the first.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="Repeat the experiments of the paper: list, run, report.")
    group.command("list")(list_protocols)
    group.command("run")(run_protocol)
    group.command("report")(report_protocol)
    app.add_typer(group, name="paper")


def list_protocols(as_json: AsJson = False) -> None:
    """List the protocols, one for each table or figure of the paper."""
    listed = [
        {
            "name": one.name,
            "title": one.title,
            "paper": one.paper,
            "layout": one.layout,
            "cells": len(expand(one.first())),
            "cells_full": len(expand(one)),
            "time_limit": one.time_limit,
            "decisions": one.decisions,
        }
        for one in load_protocols()
    ]
    if as_json:
        print_json(listed)
        return
    head = ("name", "cells", "with --full", "seconds each", "paper")
    rows = [
        (str(one["name"]), str(one["cells"]), str(one["cells_full"]), f"{one['time_limit']:g}", str(one["paper"]))
        for one in listed
    ]
    print_table(head, rows, text=(0, 4))


def run_protocol(
    name: Name,
    output: Folder = DEFAULT_FOLDER,
    quick: Quick = False,
    full: Full = False,
    only: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Only these runs: dataset=mnist, method=smcnn; repeatable.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Number of processes.")] = 1,
    limit: Annotated[
        float | None, Option(min=0.1, help="Time limit of a run in CPU seconds, instead of the protocol's.")
    ] = None,
    verbose: Annotated[bool, Option("--verbose", help="Print a line for every run as it ends.")] = False,
    no_progress: Annotated[bool, Option("--no-progress", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a protocol. Results are written during the run; trials with a stored result are not run again.

    Runs stopped at their time limit are results; where others failed, the exit code is 2.
    """
    chosen = _chosen(name, quick, full)
    _check_places(output, output / ROWS_FILE)
    made = run_protocols(
        chosen,
        output / ROWS_FILE,
        jobs=jobs,
        limit=limit,
        only=only or (),
        progress=False if no_progress or verbose else None,
        on_row=_say if verbose else lambda row: None,
    )
    path = output / ROWS_FILE
    rows = rows_by_trial(read_rows(path)) if path.exists() else {}
    counts = [_count(one, rows) for one in chosen]
    if as_json:
        print_json({"rows": str(path), "made": made, "protocols": counts})
    else:
        print_table(list(counts[0]), [[str(value) for value in count.values()] for count in counts])
        print()
        print_line(f"{made} new rows: {path}")
    _check_failures(chosen, only or (), rows, path)


def report_protocol(
    name: Name,
    output: Folder = DEFAULT_FOLDER,
    quick: Quick = False,
    rows: Annotated[
        Path | None, Option(metavar="FILE", help="File of results, .jsonl or .jsonl.gz, instead of those in DIR.")
    ] = None,
    findings: Annotated[
        Path | None, Option(metavar="FILE.md", help="Also write to this file which claims of the paper hold.")
    ] = None,
    packed: Annotated[
        Path | None, Option("--pack", metavar="FILE.jsonl.gz", help="Also write the results to this file.")
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Write tables, figures and a page from stored results.

    Tables are written as Markdown, CSV and LaTeX, figures as PNG and SVG. The paper's numbers are shown beside ours.
    """
    # Imported here: the other commands start without the packages that figures need.
    from simcomplete._reproduction.report.report import Report

    chosen = _chosen(name, quick, not quick)
    _check_places(output, findings, packed)
    source = rows or output / ROWS_FILE
    stored = read_rows(source)
    check_rows(stored, source)
    files = Report(chosen, stored).write(output, findings)
    if packed is not None:
        pack_rows(stored, packed)
        files.append(packed)
    if as_json:
        print_json({"files": [str(path) for path in files]})
        return
    for path in files:
        print_line(str(path))


def _chosen(name: str, quick: bool, full: bool) -> list[Protocol]:
    if quick and full:
        raise InputError("--quick and --full exclude each other; give one of them")
    wanted = load_protocols() if name == "all" else [load_protocol(name)]
    return [one.quick() if quick else one if full else one.first() for one in wanted]


def _check_places(folder: Path, *files: Path | None) -> None:
    """Say before the work that results cannot be written: a file is where a folder is needed, or the reverse."""
    for place in (folder, *folder.parents):
        if place.exists() and not place.is_dir():
            raise InputError(f"--output {str(folder)!r}: {str(place)!r} is a file; give the name of a folder")
    for file in files:
        if file is not None and file.is_dir():
            raise InputError(f"{str(file)!r} is a folder, and a file is to be written there; give another name")


def _check_failures(protocols: list[Protocol], only: Sequence[str], rows: RowsByTrial, path: Path) -> None:
    """Raise SimcompleteError where runs that were asked for have failed, now or before; say why, most frequent first.

    A run over its time limit has not failed: how long a method takes is a result.
    """
    asked = {trial_key(cell.trial, TRIAL_KEY) for protocol in protocols for cell in expand(protocol, only)}
    failed = [row for row in map(rows.get, asked) if row is not None and row["outcome"] == "failed"]
    reasons = Counter(str(row.get("reason")) for row in failed)
    for reason, count in reasons.most_common(MOST_REASONS):
        say(f"{count} {'run' if count == 1 else 'runs'} failed: {reason}")
    if failed:
        raise SimcompleteError(
            f"{len(failed)} of {len(asked)} runs failed; each has its reason in {path}; "
            "remove the cause and run the command again, which repeats runs that never started"
        )


def _count(protocol: Protocol, rows: RowsByTrial) -> dict[str, Any]:
    """Count the cells of a protocol by outcome."""
    cells = [row for _, row in pair_cells(protocol, rows)]
    counts = [sum(row is not None and row["outcome"] == outcome for row in cells) for outcome in OUTCOMES]
    return {"protocol": protocol.name, "cells": len(cells), **dict(zip(OUTCOMES, counts, strict=True))}


def _say(row: dict[str, Any]) -> None:
    seconds = "-" if row.get("seconds") is None else f"{row['seconds']:.1f} s"
    error = "-" if row.get("error") is None else f"{row['error']:.4f}"
    at = f"{row['dataset']} {row['candidates']} {row['missing']:g} seed {row['seed']}"
    say(f"{at} {row['method']} {row['params']}: {row['outcome']}, {seconds}, error {error}")
