"""`simcomplete compare`: which method is best for these data, measured by hiding values."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer
from typer import Argument, Option

from simcomplete._cli.arguments import STANDARD, Reading, parse_parameters, read_tables
from simcomplete._cli.options import (
    AsJson,
    Centred,
    Columns,
    Decimal,
    Drop,
    Header,
    Id,
    InputFormat,
    Key,
    MissingValue,
    NoProgress,
    Quiet,
    Scaled,
    Seed,
    Separator,
)
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._compare.compare import compare_methods, summarise, winner
from simcomplete._report.compare_page import comparison_table, write_comparison
from simcomplete._report.page import require_packages
from simcomplete.errors import InputError


def register(app: typer.Typer) -> None:
    """Add the command."""
    app.command()(compare)


def compare(
    data: Annotated[Path, Argument(metavar="DATA", help="Rows: .csv, .parquet, .npy, .npz ...; - is standard input.")],
    missing: Annotated[
        float | None, Option(help="Share of values to hide: 0.8, or 0.2 if some are missing already.")
    ] = None,
    pattern: Annotated[str, Option(help="Values to hide: random, square, stripes or by_value.")] = "random",
    shape: Annotated[
        str | None, Option(metavar="ROWSxCOLUMNS", help="Shape of the images in the rows, such as 28x28.")
    ] = None,
    methods: Annotated[
        list[str] | None, Option(help="Methods, separated by commas or repeated; all by default.")
    ] = None,
    repeats: Annotated[int, Option(min=1, help="Number of runs of each method.")] = 5,
    budget: Annotated[float | None, Option(min=0, help="Time limit of each run, in seconds.")] = None,
    candidates: Annotated[int | None, Option(min=2, help="Number of candidates; at most 1000 by default.")] = None,
    queries: Annotated[int | None, Option(min=1, help="Number of queries; at most 200 by default.")] = None,
    metric: Annotated[str, Option(help="cosine or pearson.")] = "cosine",
    center: Centred = None,
    scale: Scaled = None,
    param: Annotated[
        list[str] | None,
        Option(metavar="NAME=VALUE", help="A parameter of every method, such as preset=original; repeatable."),
    ] = None,
    output: Annotated[
        Path, Option("--output", "-o", metavar="DIR", help="Folder for the results and the page.")
    ] = Path("simcomplete-compare"),
    id: Id = None,
    drop: Drop = None,
    columns: Columns = None,
    missing_value: MissingValue = None,
    decimal: Decimal = None,
    separator: Separator = None,
    format: InputFormat = None,
    key: Key = None,
    header: Header = None,
    seed: Seed = 0,
    no_progress: NoProgress = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Hide known values and compare the errors of methods.

    Results are written during the run; an interrupted run continues where it stopped.
    """
    require_packages()
    reading = Reading.of(
        id=id,
        drop=drop,
        columns=columns,
        missing=missing_value,
        decimal=decimal,
        separator=separator,
        format=format,
        key=key,
        header=header,
    )
    (samples,) = read_tables([data], reading=reading)
    chosen = [name for text in methods or [] for name in text.replace(" ", "").split(",") if name]
    of_data = {"metric": None if metric == "cosine" else metric, "center": center, "scale": scale}
    given = {name: value for name, value in of_data.items() if value is not None}
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
        params=given | parse_parameters(param or [], taken=["method", "random_state", "progress", *of_data]),
        path=output / "rows.jsonl",
        progress=False if no_progress or quiet else None,
    )
    summary = summarise(rows)
    name = "standard input" if data == STANDARD else data.name
    page = write_comparison(output, summary, rows, name)
    if as_json:
        best = summary[0]["method"] if summary[0]["error"] is not None else None
        print_json({"data": str(data), "winner": best, "output": str(page), "summary": summary, "rows": rows})
    elif not quiet:
        print_line(f"{name}: {winner(summary)}")
        print()
        print_table(*comparison_table(summary))
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
