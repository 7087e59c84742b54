"""`simcomplete search`: the nearest candidates of every query of a saved completion."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from simcomplete._cli.arguments import STANDARD, parse_positions
from simcomplete._cli.options import AsJson, Overwrite, Quiet
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._cli.outputs import RECORD_FORMATS, check_output, write_records
from simcomplete._load import load
from simcomplete._result.completion import Completion
from simcomplete.errors import InputError

LEVEL = 0.9  # of the intervals; the default of `Completion.interval`


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(search)


def search(
    saved: Annotated[Path, typer.Argument(metavar="OUT", help="Folder that 'simcomplete complete' wrote.")],
    k: Annotated[int, typer.Option("-k", min=1, help="Number of candidates for each query.")] = 10,
    rows: Annotated[
        str | None, typer.Option(metavar="ROWS", help="Which queries, counted from 0: 3, or 0,5, or 10:20.")
    ] = None,
    above: Annotated[
        float | None, typer.Option(help="Add the probability that the true similarity exceeds this.")
    ] = None,
    std: Annotated[bool, typer.Option("--std", help="Add standard deviations of the true similarities.")] = False,
    quantile: Annotated[
        float | None, typer.Option(metavar="P", help="Add this quantile of the true similarities: 0.5 is the median.")
    ] = None,
    top: Annotated[
        int | None, typer.Option(metavar="K", help="Add the probability to be truly among the K nearest.")
    ] = None,
    order: Annotated[str, typer.Option(help="similarity, or balanced if candidates are incomplete.")] = "similarity",
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="File to write: .csv, .parquet, .json; - prints CSV."),
    ] = None,
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find the candidates that are most similar to each query."""
    if output is not None:
        check_output(output, RECORD_FORMATS, overwrite)
        if output == STANDARD and as_json:
            raise InputError("--output - and --json both write to standard output; leave one out")
    done = load(saved)
    wanted = list(range(done.n_queries)) if rows is None else parse_positions(rows, done.n_queries)
    asked = {"above": above, "std": std, "quantile": quantile, "top": top}
    names, neighbours = _neighbours(done, wanted, k, order=order, **asked)
    document = {"method": done.method, "k": k, "queries": neighbours}
    document |= {name: value for name, value in asked.items() if value is not None and name != "std"}
    head = ["query", "rank", "candidate", "score", *names[1:]]
    records = [
        (_row_name(query), rank, _row_name(hit), *(hit[name] for name in names))
        for query in neighbours
        for rank, hit in enumerate(query["nearest"], start=1)
    ]
    if output is not None:
        write_records(output, head, records, document)
    if as_json:
        written = {} if output is None else {"output": str(output)}
        print_json({**document, **written})
    elif output is None:
        lines = [
            [str(cell) if isinstance(cell, (str, int)) else f"{cell:.6f}" for cell in record] for record in records
        ]
        print_table(head, lines, text=(0, 2))
    elif not quiet and output != STANDARD:
        print_line(f"saved: {output}")


def _neighbours(done: Completion, wanted: list[int], k: int, **asked: Any) -> tuple[list[str], list[dict[str, Any]]]:
    """The names of the numbers about neighbours, and the neighbours of every query that is wanted."""
    first = done.n - done.n_queries  # the first query; 0 where every row is a query
    found = done.search(k=k, rows=[first + i for i in wanted], **asked)
    numbers = {"similarity": found.scores}
    if done.interval_model is not None:
        numbers["low"], numbers["high"] = found.bounds(done.interval_model, LEVEL)
    numbers |= found.numbers
    return list(numbers), [
        {
            "row": i,
            **_label(done, first + i),
            "nearest": _hits(done, near, {key: of[at] for key, of in numbers.items()}),
        }
        for at, (i, near) in enumerate(zip(wanted, found.ids, strict=True))
    ]


def _hits(done: Completion, near: Any, numbers: dict[str, Any]) -> list[dict[str, Any]]:
    """Describe the neighbours of a row, with their intervals where the result has some."""
    return [
        {"row": j, **_label(done, j), **{name: of[place].item() for name, of in numbers.items()}}
        for place, j in enumerate(near.tolist())
        if j >= 0
    ]


def _label(done: Completion, row: int) -> dict[str, str]:
    """Return the label of a row as an entry; empty where rows have no labels."""
    return {} if done.labels is None else {"label": done.labels[row]}


def _row_name(entry: dict[str, Any]) -> str:
    """Return the label of a row, or else its number."""
    return str(entry.get("label") or entry["row"])
