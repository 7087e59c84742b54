"""`simcomplete repair`: from a file with a correlation matrix that is not valid to one that is."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from typer import Argument, Option, Typer

from simcomplete._cli.arguments import Reading, read_tables
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
    Separator,
)
from simcomplete._cli.output import print_json, print_line, print_table, say
from simcomplete._correlation.constraints import weights_by_label
from simcomplete._correlation.labels import opened
from simcomplete._correlation.nearest import nearest_correlation
from simcomplete._correlation.repair import Repair
from simcomplete._rows.atomic import replacing
from simcomplete._types import Matrix
from simcomplete.datasets import Table
from simcomplete.errors import InputError


def register(app: Typer) -> None:
    """Add the command."""
    app.command()(repair)


def repair(
    matrix: Annotated[
        Path, Argument(metavar="MATRIX", help="A square matrix, empty where unknown: .csv, .npy, .npz or .parquet.")
    ],
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="OUT.csv", help="File to write, .csv or .npy.")],
    min_eigenvalue: Annotated[float, Option(help="Smallest eigenvalue; above 0 if you need a Cholesky factor.")] = 0.0,
    fixed: Annotated[
        Path | None, Option(metavar="FILE", help="Matrix of values that must not change, empty elsewhere.")
    ] = None,
    weights: Annotated[
        Path | None, Option(metavar="FILE", help="Weights: a column with one per row, or a matrix.")
    ] = None,
    rescale: Annotated[bool, Option("--rescale", help="Divide by standard deviations first.")] = False,
    id: Id = None,
    drop: Drop = None,
    columns: Columns = None,
    missing_value: MissingValue = None,
    decimal: Decimal = None,
    separator: Separator = None,
    format: InputFormat = None,
    key: Key = None,
    header: Header = None,
    overwrite: Overwrite = False,
    as_json: AsJson = False,
) -> None:
    """Find the valid correlation matrix nearest to an invalid one."""
    if output.suffix.lower() not in (".csv", ".npy"):
        raise InputError(f"{output} ends in {output.suffix!r}; give a name that ends in .csv or .npy")
    if output.exists() and not overwrite:
        raise InputError(f"{output} exists already; choose another name, or replace it with --overwrite")
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
    given = {"A": matrix, "fixed": fixed, "weights": weights}
    files = {name: path for name, path in given.items() if path is not None}
    tables = dict(zip(files, read_tables(list(files.values()), reading=reading), strict=True))
    done = nearest_correlation(
        tables["A"],
        weights=_weights(tables["weights"], tables["A"]) if "weights" in tables else None,
        fixed=tables.get("fixed"),
        min_eigenvalue=min_eigenvalue,
        rescale=rescale,
    )
    write_matrix(output, done.values, done.labels)
    if not done.status.ok:
        say(f"warning: {done.status}")
    facts = {"output": str(output), **done.summary()}
    if as_json:
        print_json(facts)
    else:
        _print(done, output)


def write_matrix(path: Path, X: Matrix, labels: list[str] | None) -> None:
    """Write a square matrix whole or not at all: .npy, or .csv with the labels in the first line and column."""
    if path.suffix.lower() == ".npy":
        with replacing(path, needed=X.nbytes + 128) as draft:
            np.save(draft, X)
        return
    text = io.StringIO(newline="")
    write = csv.writer(text)
    if labels is not None:
        write.writerow(["", *labels])
    # repr has as many digits as it takes to read the same number back.
    write.writerows([*([] if labels is None else [labels[i]]), *map(repr, row.tolist())] for i, row in enumerate(X))
    table = text.getvalue().encode("utf-8", errors="surrogateescape")
    with replacing(path, needed=len(table)) as draft:
        draft.write_bytes(table)


def _weights(table: Table, matrix: Table) -> Any:
    """Weights by entry as they are; weights by row in the order of the matrix, where both have labels."""
    if table.values.shape[0] == table.values.shape[1] > 1:
        return table
    weights = table.values.ravel()
    return weights if table.labels is None else weights_by_label(opened(matrix).labels, table.labels, weights)


def _print(done: Repair, output: Path) -> None:
    lines = {
        "variables": str(len(done.values)),
        "distance": f"{done.distance:.6g} ({done.relative_change:.2%} of the norm)",
        "smallest eigenvalue": f"{done.min_eigenvalue_before:.3g} before, {done.min_eigenvalue_after:.3g} after",
        "status": str(done.status),
    }
    print_table(["fact", "value"], [*lines.items(), *(("note", note) for note in done.notes)], text=(0, 1))
    print()
    moves = [(str(m.row), str(m.column), f"{m.before:.6f}", f"{m.after:.6f}", f"{m.change:+.6f}") for m in done.moved]
    print_table(["row", "column", "before", "after", "change"], moves, text=(0, 1))
    print()
    print_line(f"saved: {output}")
