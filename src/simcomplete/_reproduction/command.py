"""`simcomplete paper`: the paper's tables and figures, one command each."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer
from typer import Argument, Option

from simcomplete._cli.options import AsJson
from simcomplete._cli.output import print_json, print_line, print_table, say
from simcomplete._reproduction import protocol as protocols
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.runner import gather, index, pack, read
from simcomplete._reproduction.runner import run as run_protocols
from simcomplete._reproduction.trials import expand
from simcomplete.errors import InputError

ROWS = "rows.jsonl"
FOLDER = Path("simcomplete-paper")

Name = Annotated[str, Argument(metavar="NAME", help="A protocol (see: simcomplete paper list), or all.")]
Folder = Annotated[Path, Option("--output", "-o", metavar="DIR", help="Folder for rows and report.")]
Quick = Annotated[bool, Option("--quick", help="Small, on bundled digits, in minutes: a smoke test, no result.")]
Full = Annotated[bool, Option("--full", help="Every seed of the protocol; else the first.")]


def register(app: typer.Typer) -> None:
    """Add the commands."""
    group = typer.Typer(help="The paper's tables and figures: list, run, report.")
    for command in (list_, run, report):
        group.command(command.__name__.rstrip("_"))(command)
    app.add_typer(group, name="paper")


def list_(
    as_json: AsJson = False,
) -> None:
    """List the protocols: which table or figure each is, and how many runs it has."""
    told = [
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
        for one in protocols.load_all()
    ]
    if as_json:
        print_json(told)
        return
    head = ("name", "cells", "with --full", "seconds each", "paper")
    rows = [
        (str(t["name"]), str(t["cells"]), str(t["cells_full"]), f"{t['time_limit']:g}", str(t["paper"])) for t in told
    ]
    print_table(head, rows, text=(0, 4))


def run(
    name: Name,
    output: Folder = FOLDER,
    quick: Quick = False,
    full: Full = False,
    only: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="Such as dataset=mnist or method=smcnn; repeatable.")
    ] = None,
    jobs: Annotated[int, Option(min=1, help="Processes at a time.")] = 1,
    limit: Annotated[float | None, Option(min=0.1, help="Seconds for each solve, instead of the protocol's.")] = None,
    verbose: Annotated[bool, Option("--verbose", help="Print a line for every run as it ends.")] = False,
    no_progress: Annotated[bool, Option("--no-progress", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Run a protocol. Rows are written as they come; what has a row already is not run again."""
    chosen = _chosen(name, quick, full)
    made = run_protocols(
        chosen,
        output / ROWS,
        jobs=jobs,
        limit=limit,
        only=only or (),
        progress=False if no_progress or verbose else None,
        ended=_say if verbose else lambda row: None,
    )
    rows = index(read(output / ROWS)) if (output / ROWS).exists() else {}
    told = [_tally(one, rows) for one in chosen]
    if as_json:
        print_json({"rows": str(output / ROWS), "made": made, "protocols": told})
        return
    print_table(list(told[0]), [[str(value) for value in tally.values()] for tally in told])
    print()
    print_line(f"{made} new rows: {output / ROWS}")


def report(
    name: Name,
    output: Folder = FOLDER,
    quick: Quick = False,
    rows: Annotated[
        Path | None, Option(metavar="FILE", help="Rows, .jsonl or .jsonl.gz; those in DIR unless told.")
    ] = None,
    findings: Annotated[Path | None, Option(metavar="FILE.md", help="Write what holds and what does not here.")] = None,
    packed: Annotated[Path | None, Option("--pack", metavar="FILE.jsonl.gz", help="Store the rows here too.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write tables (Markdown, CSV, LaTeX), figures (PNG, SVG) and one page from rows, ours beside the paper's."""
    # Here, so that the other commands start without the packages that figures need.
    from simcomplete._reproduction.report.book import Report

    stored = read(rows or output / ROWS)
    told = Report(_chosen(name, quick, not quick), stored).write(output, findings)
    if packed is not None:
        pack(stored, packed)
        told.append(packed)
    if as_json:
        print_json({"files": [str(path) for path in told]})
        return
    for path in told:
        print_line(str(path))


def _chosen(name: str, quick: bool, full: bool) -> list[Protocol]:
    if quick and full:
        raise InputError("--quick and --full exclude each other; give one of them")
    found = protocols.load_all() if name == "all" else [protocols.load(name)]
    return [one.quick() if quick else one if full else one.first() for one in found]


def _tally(protocol: Protocol, rows: dict[str, Any]) -> dict[str, Any]:
    found = [row for _, row in gather(protocol, rows)]
    counts = [sum(row is not None and row["outcome"] == word for row in found) for word in OUTCOMES]
    return {"protocol": protocol.name, "cells": len(found), **dict(zip(OUTCOMES, counts, strict=True))}


OUTCOMES = ("done", "over budget", "failed")


def _say(row: dict[str, Any]) -> None:
    seconds = "-" if row.get("seconds") is None else f"{row['seconds']:.1f} s"
    error = "-" if row.get("error") is None else f"{row['error']:.4f}"
    at = f"{row['dataset']} {row['candidates']} {row['missing']:g} seed {row['seed']}"
    say(f"{at} {row['method']} {row['params']}: {row['outcome']}, {seconds}, error {error}")
