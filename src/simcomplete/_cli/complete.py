"""`simcomplete complete`: from files with missing values to a saved completion."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Annotated, Any

from typer import Argument, Option, Typer

from simcomplete import _api as api
from simcomplete._cli.arguments import STANDARD, Reading, is_read_by_block, parse_parameters, read_tables
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
    Overwrite,
    Quiet,
    Scaled,
    Separator,
)
from simcomplete._cli.output import print_json, print_line, print_table, say
from simcomplete._cli.outputs import TABLE_FORMATS, LabelledTable, check_names, check_output, write_table
from simcomplete._result.completion import Completion
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError

# The library's own defaults.
DEFAULT: dict[str, Any] = {
    name: parameter.default for name, parameter in inspect.signature(api.complete).parameters.items()
}


def register(app: Typer) -> None:
    """Add the command."""
    app.command()(complete)


def complete(
    candidates: Annotated[
        Path,
        Argument(metavar="CANDIDATES", help="Complete rows: .csv, .parquet, .npy, .zarr ...; - is stdin."),
    ],
    queries: Annotated[
        Path | None,
        Argument(metavar="QUERIES", help="Incomplete rows. Without them, any of CANDIDATES may be incomplete."),
    ] = None,
    *,
    output: Annotated[
        Path,
        Option("--output", "-o", metavar="OUT", help="Folder, or a .csv, .parquet, .npz or .npy file; - prints CSV."),
    ],
    method: Annotated[str, Option(help="Name of a method; 'simcomplete methods' lists them.")] = DEFAULT["method"],
    rank: Annotated[int | None, Option(help="Largest rank; min(100, rows) by default.")] = DEFAULT["rank"],
    penalty: Annotated[float, Option(help="Weight of the method's penalty.")] = DEFAULT["penalty"],
    metric: Annotated[str, Option(help="cosine or pearson.")] = DEFAULT["metric"],
    center: Centred = DEFAULT["center"],
    scale: Scaled = DEFAULT["scale"],
    min_overlap: Annotated[int, Option(help="Pairs with fewer common features have no similarity.")] = DEFAULT[
        "min_overlap"
    ],
    epsilon: Annotated[float, Option(help="If above 0, rows of zeros are treated as constant rows.")] = DEFAULT[
        "epsilon"
    ],
    positive: Annotated[bool, Option("--positive", help="Map similarities to (0, 1].")] = False,
    unit_diagonal: Annotated[bool, Option("--unit-diagonal", help="Rescale to a diagonal of 1.")] = False,
    keep_candidates: Annotated[
        bool, Option("--keep-candidates", help="Restore the exact similarities of candidates.")
    ] = False,
    clip: Annotated[bool, Option("--clip", help="Clip entries to [-1, 1].")] = False,
    param: Annotated[
        list[str] | None, Option(metavar="NAME=VALUE", help="A parameter of the method; repeatable.")
    ] = None,
    id: Id = None,
    drop: Drop = None,
    columns: Columns = None,
    missing_value: MissingValue = None,
    decimal: Decimal = None,
    separator: Separator = None,
    format: InputFormat = None,
    key: Key = None,
    header: Header = None,
    seed: Annotated[int, Option(help="Seed of the random numbers.")] = DEFAULT["random_state"],
    memory: Annotated[str | None, Option(help="Memory for one block of rows, such as 500MB.")] = DEFAULT["memory"],
    overwrite: Overwrite = False,
    no_progress: NoProgress = False,
    quiet: Quiet = False,
    as_json: AsJson = False,
) -> None:
    """Estimate the similarities of rows with missing values."""
    ending = check_output(output, TABLE_FORMATS, overwrite, folder=True)  # before the work, not after it
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
    settings: dict[str, Any] = {
        "method": method,
        "rank": rank,
        "penalty": penalty,
        "metric": metric,
        "center": center,
        "scale": scale,
        "min_overlap": min_overlap,
        "epsilon": epsilon,
        "positive": positive,
        "unit_diagonal": unit_diagonal,
        "keep_candidates": keep_candidates,
        "clip": clip,
        "random_state": seed,
        "progress": False if no_progress or quiet else None,
        "memory": memory,
    }
    method_parameters = parse_parameters(param or [], taken=list(DEFAULT))
    P, Q = read_samples(candidates, queries, reading)
    check_names(output, getattr(P, "labels", None))
    done = api.complete(P, Q, **settings, **method_parameters)
    if ending:
        write_table(output, similarity_table(done))
    else:
        done.save(output, overwrite=overwrite)
    if not done.status.ok:
        say(f"warning: {done.status}")
    facts = done.summary()
    if as_json:
        print_json({"output": str(output), **facts})
    elif not quiet and output != STANDARD:
        _print_summary(facts, str(done.status))
        print()
        print_line(f"saved: {output}")


def similarity_table(done: Completion) -> LabelledTable:
    """Return all similarities, or those of queries (rows) with candidates (columns), as a table to write.

    Where rows have no labels they are counted from 0, queries and candidates each for themselves.
    """
    apart = not done.all_rows_are_queries
    first = done.n - done.n_queries  # the first query; 0 where every row is a query
    labels = done.labels or [str(i) for i in (*range(first), *range(done.n - first))]
    return LabelledTable(
        lambda part: to_numpy(done.similarity(slice(first + part.start, first + part.stop), "candidates")),
        labels[first:],
        labels[: done.n_candidates],
        kind="query" if apart else "row",
        name="similarity",
        dtype=to_numpy(done.similarity(slice(first, first + 1), slice(0, 1))).dtype,
    )


def read_samples(candidates: Path, queries: Path | None, reading: Reading) -> tuple[Any, Any]:
    """Read the files; candidates that are read by block are returned as a path."""
    others = [] if queries is None else [queries]
    if not is_read_by_block(candidates):
        samples: list[Any] = list(read_tables([candidates, *others], reading=reading))
    elif reading.id or reading.drop or reading.columns or reading.missing:
        raise InputError(
            f"{candidates} is read block by block, with all its columns; --id, --drop, --columns and "
            "--missing-value need a table in memory: give a .csv or .parquet file"
        )
    else:
        samples = [candidates, *read_tables(others, reading=reading)]
    return samples[0], samples[1] if others else None


def _print_summary(facts: dict[str, Any], status: str) -> None:
    """Print the summary of a completion; what is too expensive to compute for a large one is None in it."""
    rank = facts["rank"] if facts["rank"] is not None else f"at most {facts['rank_at_most']}"
    lines = {
        "method": facts["method"],
        "candidates": str(facts["n_candidates"]),
        "queries": str(facts["n_queries"]),
        "rank": str(rank),
        "status": status,
    }
    if facts["evidence"] is not None:
        lines["pairs without evidence"] = f"{facts['evidence']['pairs_without']} of {facts['evidence']['pairs']}"
    print_table(["fact", "value"], list(lines.items()), text=(0, 1))
    print()
    checks = []
    for name, check in facts["validity"].items():
        value = "-" if check["value"] is None else f"{check['value']:.3g}"
        checks.append((name.replace("_", " "), "yes" if check["ok"] else "no", value, check["meaning"]))
    print_table(["check", "holds", "value", "meaning"], checks, text=(0, 1, 3))
