"""`simcomplete match`: which incomplete rows are rows of a complete table, with probabilities."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from simcomplete import _api as api
from simcomplete._cli.complete import read_samples
from simcomplete._cli.options import AsJson, Overwrite
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._result.completion import Completion
from simcomplete._rows.atomic import replacing
from simcomplete.errors import InputError

HEAD = ("query", "candidate", "copy", "exact", "near", "rough", "kind")


def register(app: Typer) -> None:
    """Add the command."""
    app.command()(match)


def match(
    candidates: Annotated[Path, Argument(metavar="CANDIDATES", help="Complete rows, 40 or more.")],
    queries: Annotated[Path, Argument(metavar="QUERIES", help="Rows that may be some of them, with values missing.")],
    *,
    output: Annotated[
        Path | None, Option("--output", "-o", metavar="FILE.csv", help="Write a .csv file instead.")
    ] = None,
    prior: Annotated[float | None, Option(help="Share of queries that are copies, where it is known.")] = None,
    above: Annotated[float, Option(min=0.0, max=1.0, help="Only queries that are copies with this probability.")] = 0.0,
    effort: Annotated[str, Option(help="full, fast or best.")] = "full",
    key: Annotated[str | None, Option(help="Name of the array in .npz files.")] = None,
    header: Annotated[
        bool | None, Option("--header/--no-header", help="Whether the first line of .csv files names the columns.")
    ] = None,
    seed: Annotated[int, Option(help="Seed for everything random.")] = 0,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find for every query the candidate that it may be a copy of, and how likely that is."""
    if output is not None and output.exists() and not overwrite:
        raise InputError(f"{output} exists already; choose another name, or replace it with --overwrite")
    P, Q = read_samples(candidates, queries, key, header)
    own: dict[str, Any] = {"effort": effort, "copies": True, "prior": prior}
    done = api.complete(P, Q, method="posterior", random_state=seed, progress=False, **own)
    rows = _matches(done, above)
    if output is not None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows([HEAD, *([row[name] for name in HEAD] for row in rows)])
        table = text.getvalue().encode("utf-8", errors="surrogateescape")
        with replacing(output, needed=len(table)) as draft:
            draft.write_bytes(table)
    if as_json:
        written = {} if output is None else {"output": str(output)}
        print_json({"candidates": done.n_candidates, "queries": done.n_queries, "matches": rows, **written})
    elif output is None:
        print_table(HEAD, [tuple(str(row[name]) for name in HEAD) for row in rows], text=(0, 1, 6))
    else:
        print_line(f"saved: {output}")


def _matches(done: Completion, above: float) -> list[dict[str, Any]]:
    """One entry for every query that is a copy with at least that probability."""
    found, first = done.match, done.n_candidates
    entries = []
    for row, (source, p, kind) in enumerate(zip(found.ids, found.probabilities, found.kinds, strict=True)):
        if p.sum() >= above:
            names = [None if source < 0 else _name(done, int(source), 0), _name(done, first + row, first)]
            exact, near, rough = (round(float(each), 6) for each in p)
            entries.append(
                {"query": names[1], "candidate": names[0], "copy": round(float(p.sum()), 6)}
                | {"exact": exact, "near": near, "rough": rough, "kind": kind}
            )
    return entries


def _name(done: Completion, position: int, first: int) -> str | int:
    """The label of a row, or its number within its group."""
    return position - first if done.labels is None else done.labels[position]
