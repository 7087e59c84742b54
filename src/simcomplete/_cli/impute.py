"""`simcomplete impute`: a table with missing values to one without."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Annotated, Any

import numpy as np
from numpy.typing import NDArray
from typer import Argument, Option, Typer

from simcomplete._cli.arguments import Reading, read_tables
from simcomplete._cli.options import (
    AsJson,
    Columns,
    Decimal,
    Drop,
    Header,
    InputFormat,
    Key,
    MissingValue,
    Overwrite,
    Seed,
    Separator,
)
from simcomplete._cli.output import print_json, print_line
from simcomplete._rows.atomic import replacing
from simcomplete.datasets import Table
from simcomplete.errors import InputError

SEPARATORS = {".csv": ",", ".tsv": "\t"}
COUNTED = {"filled": "value", "rows": "row", "columns": "column"}


def register(app: Typer) -> None:
    """Add the command."""
    app.command("impute")(impute_table)


def impute_table(
    table: Annotated[Path, Argument(metavar="TABLE", help="Rows with missing values: .csv, .npy, .npz or .parquet.")],
    *,
    output: Annotated[Path, Option("--output", "-o", metavar="FILE", help="File to write: .csv, .tsv or .npy.")],
    std: Annotated[bool, Option("--std", help="Also write a column NAME_std for every column.")] = False,
    identity: Annotated[
        str | None, Option("--id", metavar="COLUMN", help="Column that names the rows; it is copied unchanged.")
    ] = None,
    effort: Annotated[str, Option(help="Computational effort: full, fast or best.")] = "full",
    digits: Annotated[int | None, Option("--round", help="Decimal places of filled-in values.")] = None,
    low: Annotated[float | None, Option("--min", help="Smallest filled-in value.")] = None,
    high: Annotated[float | None, Option("--max", help="Largest filled-in value.")] = None,
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
    as_json: AsJson = False,
) -> None:
    """Fill in the missing values of a table, in their own units."""
    from simcomplete.estimators import PosteriorImputer  # scikit-learn takes a second to import

    if output.exists() and not overwrite:  # before the work, not after it
        raise InputError(f"{output} exists already; choose another name, or replace it with --overwrite")
    kind = output.suffix.lower()
    if kind not in (*SEPARATORS, ".npy") or (kind == ".npy" and std):
        raise InputError(f"{output}: give the file a name that ends in .csv or .tsv{'' if std else ', or in .npy'}")
    how = {"decimal": decimal, "separator": separator, "format": format, "key": key, "header": header}
    (read,) = read_tables([table], reading=Reading.of(missing=missing_value, drop=drop, columns=columns, **how))
    names = read.columns or [str(i + 1) for i in range(read.values.shape[1])]
    fixed = _position(identity, read)
    features = [j for j in range(len(names)) if j != fixed]
    X = read.values[:, features]
    limits = {"round": digits, "min": low, "max": high}
    model = PosteriorImputer(effort=effort, random_state=seed, keep_empty_features=True, **limits)  # type: ignore[arg-type]
    values, deviations = model.fit(X).impute(X, return_std=True)
    empty = np.isnan(X).all(axis=0)
    values[:, empty] = np.nan  # nothing can be told of a column without any value
    filled = read.values.copy()
    filled[:, features] = values
    if kind == ".npy":
        with replacing(output, needed=filled.nbytes) as draft:
            np.save(draft, filled, allow_pickle=False)
    else:
        deviations[:, empty] = np.nan
        extra = (deviations, [f"{names[j]}_std" for j in features]) if std else None
        _write(output, SEPARATORS[kind], read, filled, extra)
    facts = {"rows": len(X), "columns": len(features), "filled": int(np.isnan(X).sum() - np.isnan(values).sum())}
    left = [names[j] for j, gone in zip(features, empty, strict=True) if gone]
    if as_json:
        print_json({"output": str(output), **facts, "empty_columns": left})
        return
    if left:
        print_line(f"columns without any value stay empty: {', '.join(left)}")
    counts = (f"{facts[of]} {word}{'s' * (facts[of] != 1)}" for of, word in COUNTED.items())
    print_line("filled in {} of {} and {}".format(*counts))
    print_line(f"saved: {output}")


def _position(identity: str | None, read: Table) -> int | None:
    """Where the column is that names rows; None where it became the labels of the rows, or was not asked for."""
    if identity is None:
        return None
    if read.columns is not None and identity in read.columns:
        return read.columns.index(identity)
    if read.labels is not None:
        return None
    raise InputError(
        f"--id {identity}: there is no such column; the file has {', '.join(read.columns or ['no names'])}"
    )


def _write(
    path: Path,
    separator: str,
    read: Table,
    filled: NDArray[Any],
    extra: tuple[NDArray[Any], list[str]] | None,
) -> None:
    text = io.StringIO(newline="")
    writer = csv.writer(text, delimiter=separator, lineterminator="\n")
    numbers = filled if extra is None else np.hstack([filled, extra[0]])
    if read.columns is not None or extra is not None:
        names = [*(read.columns or [str(i + 1) for i in range(filled.shape[1])]), *(extra[1] if extra else [])]
        writer.writerow(names if read.labels is None else [read.label_name or "", *names])
    for i, row in enumerate(numbers):
        cells = [number_as_text(value) for value in row]
        writer.writerow(cells if read.labels is None else [read.labels[i], *cells])
    table = text.getvalue().encode("utf-8", errors="surrogateescape")
    with replacing(path, needed=len(table)) as draft:
        draft.write_bytes(table)


def number_as_text(value: Any) -> str:
    """The shortest text that is read as the same number; empty for NaN.

    Examples
    --------
    >>> [number_as_text(x) for x in (np.float64(3.0), np.float32(0.1), np.float64("nan"), np.float64(1e300))]
    ['3', '0.1', '', '1e+300']
    """
    return "" if np.isnan(value) else str(value).removesuffix(".0")
