"""`simcomplete duplicates`: rows of one table that are the same, with probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from simcomplete._cli.arguments import STANDARD, Reading
from simcomplete._cli.complete import read_samples
from simcomplete._cli.options import (
    AsJson,
    Columns,
    Decimal,
    Drop,
    Header,
    Id,
    InputFormat,
    Key,
    MissingValue,
    Overwrite,
    Quiet,
    Seed,
    Separator,
)
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._cli.outputs import RECORD_FORMATS, check_output, write_records
from simcomplete._posterior.same_rows.duplicates import duplicates
from simcomplete.errors import InputError


def register(app: Typer) -> None:
    """Add the command."""
    app.command("duplicates")(list_duplicates)


def list_duplicates(
    table: Annotated[Path, Argument(metavar="TABLE", help="Rows that may have missing values.")],
    *,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="File to write: .csv, .parquet, .json; - prints CSV."),
    ] = None,
    above: Annotated[
        float, Option(min=0.0, max=1.0, help="Only pairs that are the same with at least this probability.")
    ] = 0.9,
    prior: Annotated[float | None, Option(help="Share of rows that have a copy, if it is known.")] = None,
    min_overlap: Annotated[int, Option(min=1, help="Least number of features that two rows have in common.")] = 2,
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
    overwrite: Overwrite = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Find duplicate rows in a table with missing values."""
    if output is not None:
        check_output(output, RECORD_FORMATS, overwrite)  # before the work, not after it
        if output == STANDARD and as_json:
            raise InputError("--output - and --json both write to standard output; leave one out")
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
    X, _ = read_samples(table, None, reading)
    own: dict[str, Any] = {"above": above, "prior": prior, "min_overlap": min_overlap}
    found = duplicates(X, random_state=seed, progress=False, **own)
    facts = found.columns()
    head = list(facts)
    records = [
        [round(float(cell), 6) if isinstance(cell, float) else cell for cell in record]
        for record in zip(*(_plain_values(column) for column in facts.values()), strict=True)
    ]
    pairs = [dict(zip(head, record, strict=True)) for record in records]
    document = {"rows": found.n, "pairs": pairs, "groups": len(found.groups)}
    if output is not None:
        write_records(output, head, records, document)
    if as_json:
        print_json({**document, **({} if output is None else {"output": str(output)})})
    elif output is None and not records:
        print_line(f"no two of the {found.n} rows are the same with a probability of {above:g} or more")
    elif output is None:
        print_table(head, [tuple(str(cell) for cell in record) for record in records], text=(0, 1, 6))
    elif not quiet and output != STANDARD:
        print_line(f"saved: {output}")


def _plain_values(column: Any) -> list[Any]:
    """A column as a list of plain values."""
    return list(column.tolist() if hasattr(column, "tolist") else column)
