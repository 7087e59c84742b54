"""Options that several commands have."""

from __future__ import annotations

from typing import Annotated

import typer

AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON document and nothing else.")]
Overwrite = Annotated[bool, typer.Option("--overwrite", help="Replace what an earlier run wrote there.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Seed of the random numbers.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print no summary and show no progress.")]
NoProgress = Annotated[bool, typer.Option("--no-progress", help="Show no progress.")]

Centred = Annotated[str | None, typer.Option("--center", help="Subtract the mean or the median from every feature.")]
Scaled = Annotated[str | None, typer.Option("--scale", help="Divide every feature by its scale: sd or robust.")]

# How files are read; `Reading` in `arguments` has them together.
Key = Annotated[str | None, typer.Option("--key", help="Name of the array in .npz files.")]
Header = Annotated[
    bool | None, typer.Option("--header/--no-header", help="Whether the first line of a text file names the columns.")
]
MissingValue = Annotated[
    list[str] | None,
    typer.Option("--missing-value", metavar="VALUE", help="Another value that means missing, e.g. -999; repeatable."),
]
Decimal = Annotated[
    str | None, typer.Option("--decimal", metavar="SIGN", help="Decimal sign in text files: . or , (comma).")
]
Separator = Annotated[
    str | None, typer.Option("--separator", metavar="SIGN", help="Separator in text files; detected by default.")
]
InputFormat = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Format of the input: csv, npy, npz, parquet or arrow."),
]
Id = Annotated[
    str | None, typer.Option("--id", metavar="COLUMN", help="The column that labels the rows; it is not a feature.")
]
Drop = Annotated[
    list[str] | None,
    typer.Option("--drop", metavar="COL[,COL]", help="Columns to leave out, separated by commas or repeated."),
]
Columns = Annotated[
    list[str] | None,
    typer.Option("--columns", metavar="COL[,COL]", help="The only columns to use, separated by commas or repeated."),
]
