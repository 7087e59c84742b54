"""`simcomplete match`: which incomplete rows are rows of a complete table, with probabilities."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from simcomplete import _api as api
from simcomplete._cli.arguments import STANDARD, Reading
from simcomplete._cli.complete import read_samples
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
    Overwrite,
    Quiet,
    Scaled,
    Seed,
    Separator,
)
from simcomplete._cli.output import print_json, print_line, print_table
from simcomplete._cli.outputs import RECORD_FORMATS, check_output, write_records
from simcomplete._result.completion import Completion
from simcomplete.errors import InputError

HEAD = ("query", "candidate", "copy", "exact", "near", "rough", "kind")


def register(app: Typer) -> None:
    """Add the command."""
    app.command()(match)


def match(
    candidates: Annotated[Path, Argument(metavar="CANDIDATES", help="Complete rows, 40 or more.")],
    queries: Annotated[Path, Argument(metavar="QUERIES", help="Rows with missing values that may be copies.")],
    *,
    output: Annotated[
        Path | None,
        Option("--output", "-o", metavar="FILE", help="File to write: .csv, .parquet, .json; - prints CSV."),
    ] = None,
    prior: Annotated[
        str | None, Option(help="Share of copies, or shares of exact, near and rough copies: 0.5,0,0.")
    ] = None,
    above: Annotated[
        float, Option(min=0.0, max=1.0, help="Only queries that are copies with at least this probability.")
    ] = 0.0,
    effort: Annotated[str, Option(help="Computational effort: full, fast or best.")] = "full",
    center: Centred = None,
    scale: Scaled = None,
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
    """Find the candidate that each query may be a copy of."""
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
    P, Q = read_samples(candidates, queries, reading)
    asked: dict[str, Any] = {"effort": effort, "prior": _prior(prior), "center": center, "scale": scale}
    done = api.complete(P, Q, method="posterior", random_state=seed, progress=False, copies=True, **asked)
    rows = _matches(done, above)
    document = {"candidates": done.n_candidates, "queries": done.n_queries, "matches": rows}
    if output is not None:
        write_records(output, HEAD, [[row[name] for name in HEAD] for row in rows], document)
    if as_json:
        print_json({**document, **({} if output is None else {"output": str(output)})})
    elif output is None:
        print_table(HEAD, [tuple(str(row[name]) for name in HEAD) for row in rows], text=(0, 1, 6))
    elif not quiet and output != STANDARD:
        print_line(f"saved: {output}")


def _prior(shares: str | None) -> float | list[float] | None:
    """One share, or three with commas."""
    if shares is None:
        return None
    try:
        found = [float(word) for word in shares.split(",")]
    except ValueError:
        raise InputError(
            f"prior={shares!r} is not a share; give one, such as 0.5, or three: 0.5,0,0", about=("prior",)
        ) from None
    return found[0] if len(found) == 1 else found


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
