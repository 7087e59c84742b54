"""`simcomplete compare`: which method is best for these data, measured by hiding values of complete rows."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from simcomplete._cli.arguments import parse_parameters, read_tables
from simcomplete._cli.options import AsJson, Seed
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._compare.compare import compare_methods, summarise
from simcomplete._report.compare_page import COMPARE_HEAD, COMPARE_TEXT, compare_cells, write_comparison
from simcomplete._report.page import require_packages
from simcomplete.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    data: Annotated[Path, Argument(metavar="DATA", help="Complete rows: .npy, .npz, .csv or .parquet.")],
    missing: Annotated[float, Option(help="Share of the values to hide.")] = 0.8,
    pattern: Annotated[str, Option(help="random, square, stripes or by_value.")] = "random",
    shape: Annotated[
        str | None, Option(metavar="ROWSxCOLUMNS", help="Shape of the images that the rows are, as 28x28.")
    ] = None,
    methods: Annotated[list[str] | None, Option(help="Names, separated by commas or repeated; all by default.")] = None,
    repeats: Annotated[int, Option(min=1, help="Runs of each method.")] = 5,
    budget: Annotated[float | None, Option(min=0, help="Seconds for each run.")] = None,
    candidates: Annotated[int | None, Option(min=2, help="How many candidates; by default at most 1000.")] = None,
    queries: Annotated[int | None, Option(min=1, help="How many queries; by default at most 200.")] = None,
    param: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="A parameter of every method, as preset=original; repeatable."),
    ] = None,
    output: Annotated[Path, Option("--output", "-o", metavar="DIR", help="Folder for rows and page.")] = Path(
        "simcomplete-compare"
    ),
    key: Annotated[str | None, Option(help="Name of the array in .npz files.")] = None,
    header: Annotated[
        bool | None, Option("--header/--no-header", help="Whether the first line of .csv files names the columns.")
    ] = None,
    seed: Seed = 0,
    no_progress: Annotated[bool, Option("--no-progress", help="Show no progress.")] = False,
    as_json: AsJson = False,
) -> None:
    """Hide values of complete rows, and compare the errors of the methods.

    Rows are written as they are made; a run that was interrupted continues where it stopped.
    """
    require_packages()
    (samples,) = read_tables([data], key, header)
    chosen = [name for text in methods or [] for name in text.replace(" ", "").split(",") if name]
    rows = compare_methods(
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
        params=parse_parameters(param or [], taken=["method", "random_state", "progress"]),
        path=output / "rows.jsonl",
        progress=False if no_progress else None,
    )
    summary = summarise(rows)
    page = write_comparison(output, summary, rows)
    if as_json:
        print_json({"output": str(page), "summary": summary, "rows": rows})
    else:
        print_table(COMPARE_HEAD, [compare_cells(row) for row in summary], text=COMPARE_TEXT)
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
