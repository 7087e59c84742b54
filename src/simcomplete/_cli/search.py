"""`simcomplete search`: the nearest candidates of every query of a saved completion."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import typer

from simcomplete._cli.arguments import parse_positions
from simcomplete._cli.options import AsJson, Overwrite
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._result.completion import Completion
from simcomplete._result.load import load
from simcomplete._rows.atomic import replacing
from simcomplete.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(search)


def search(
    saved: Annotated[Path, typer.Argument(metavar="OUT", help="Folder that 'simcomplete complete' wrote.")],
    k: Annotated[int, typer.Option("-k", min=1, help="How many candidates for each query.")] = 10,
    rows: Annotated[
        str | None, typer.Option(metavar="ROWS", help="Which queries, counted from 0: 3, or 0,5, or 10:20.")
    ] = None,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE.csv", help="Write a .csv file instead.")
    ] = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the candidates that are most similar to each query."""
    if output is not None and output.exists() and not overwrite:
        raise InputError(f"{output} exists already; choose another name, or replace it with --overwrite")
    done = load(saved)
    wanted = list(range(done.n_queries)) if rows is None else parse_positions(rows, done.n_queries)
    neighbours = _neighbours(done, wanted, k)
    lines = [
        (_row_name(query), str(place), _row_name(hit), f"{hit['similarity']:.6g}")
        for query in neighbours
        for place, hit in enumerate(query["nearest"], start=1)
    ]
    head = ("query", "place", "candidate", "similarity")
    if output is not None:
        text = io.StringIO(newline="")
        csv.writer(text).writerows([head, *lines])
        table = text.getvalue().encode("utf-8", errors="surrogateescape")
        with replacing(output, needed=len(table)) as draft:
            draft.write_bytes(table)
    if as_json:
        written = {} if output is None else {"output": str(output)}
        print_json({"method": done.method, "k": k, "queries": neighbours, **written})
    elif output is None:
        print_table(head, lines, text=(0, 2))
    else:
        print_line(f"saved: {output}")


def _neighbours(done: Completion, wanted: list[int], k: int) -> list[dict[str, Any]]:
    first = done.n - done.n_queries  # the first query; 0 where every row is a query
    ids, scores = done.search(k=k, rows=[first + i for i in wanted])
    return [
        {
            "row": i,
            **_label(done, first + i),
            "nearest": [
                {"row": j, **_label(done, j), "similarity": score}
                for j, score in zip(near.tolist(), values.tolist(), strict=True)
                if j >= 0  # a query of which nothing is observed has no neighbours
            ],
        }
        for i, near, values in zip(wanted, ids, scores, strict=True)
    ]


def _label(done: Completion, row: int) -> dict[str, str]:
    """Return the label of a row as an entry; empty where rows have no labels."""
    return {} if done.labels is None else {"label": done.labels[row]}


def _row_name(entry: dict[str, Any]) -> str:
    """Return the label of a row, or else its number."""
    return str(entry.get("label") or entry["row"])
