"""`simcomplete compare`: which method for these data, told by hiding values of complete rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from simcomplete._cli.arguments import parameters, tables
from simcomplete._cli.options import AsJson, Seed
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._compare.compare import compare as run
from simcomplete._compare.compare import summarise
from simcomplete._report.compare_page import HEAD, TEXT, cells, write_all
from simcomplete.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    data: Annotated[Path, Argument(metavar="DATA", help="Complete rows: .npy, .npz, .csv or .parquet.")],
    missing: Annotated[float, Option(help="Share of the values to hide.")] = 0.8,
    pattern: Annotated[str, Option(help="random, square, stripes or by_value.")] = "random",
    shape: Annotated[str | None, Option(metavar="ROWSxCOLUMNS", help="Of the image a row is, as 28x28.")] = None,
    methods: Annotated[list[str] | None, Option(help="Names, repeated or with commas; all unless told.")] = None,
    repeats: Annotated[int, Option(min=1, help="Runs of each method.")] = 5,
    budget: Annotated[float | None, Option(min=0, help="Seconds for each run.")] = None,
    candidates: Annotated[int | None, Option(min=2, help="How many; at most 1000 unless told.")] = None,
    queries: Annotated[int | None, Option(min=1, help="How many; at most 200 unless told.")] = None,
    param: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="For every method, as preset=original.")
    ] = None,
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="Folder for rows and page.")] = Path(
        "simcomplete-compare"
    ),
    key: Annotated[str | None, Option(help="Which array of .npz files.")] = None,
    header: Annotated[bool | None, Option("--header/--no-header", help="If .csv files name their columns.")] = None,
    seed: Seed = 0,
    no_progress: Annotated[bool, Option("--no-progress", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hide values of complete rows, run the methods, and print how near each comes to the truth.

    Rows are written as they come; a run that was interrupted goes on where it stopped.
    """
    (samples,) = tables([data], key, header)
    chosen = [name for text in methods or [] for name in text.replace(" ", "").split(",") if name]
    rows = run(
        samples,
        missing=missing,
        pattern=pattern,
        shape=_shape(shape),
        names=chosen or None,
        repeats=repeats,
        budget=budget,
        candidates=candidates,
        queries=queries,
        seed=seed,
        params=parameters(param or [], taken=["method", "random_state", "progress"]),
        ledger=output / "rows.jsonl",
        progress=False if no_progress else None,
    )
    summary = summarise(rows)
    page = write_all(output, summary, rows)
    if as_json:
        print_json({"output": str(page), "summary": summary, "rows": rows})
    else:
        print_table(HEAD, [cells(row) for row in summary], text=TEXT)
        print()
        print_line(f"page: {page}")


def _shape(text: str | None) -> tuple[int, int] | None:
    if text is None:
        return None
    try:
        height, width = (int(part) for part in text.lower().split("x"))
    except ValueError as error:
        raise InputError(f"--shape {text!r} is not a shape; write it as 28x28") from error
    return height, width
