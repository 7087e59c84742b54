"""Arguments of commands: parameters, positions and files."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from simcomplete.datasets import Table, read_table
from simcomplete.errors import InputError

# A file of fewer bytes is read whole.
READ_BELOW_BYTES = 2**28


def parse_parameters(texts: Sequence[str], taken: Sequence[str]) -> dict[str, Any]:
    """Read NAME=VALUE pairs; values are JSON (numbers, true, null) or else plain words.

    Parameters
    ----------
    texts : sequence of str
        The arguments of --param.
    taken : sequence of str
        Names that have an option of their own, which are refused.

    Examples
    --------
    >>> parse_parameters(["step=1e-4", "variant=paper", "flag=true"], taken=[])
    {'step': 0.0001, 'variant': 'paper', 'flag': True}
    """
    values: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        name = name.strip().replace("-", "_")
        if not equals or not name:
            raise InputError(f"--param {text!r} is not a pair; write it as --param NAME=VALUE")
        if name in taken or name in values:
            why = "has an option of its own" if name in taken else "is given twice"
            raise InputError(f"--param {text!r}: {name} {why}; give it once, see --help")
        try:
            values[name] = json.loads(value)
        except RecursionError as error:
            raise InputError(
                f"--param {name}: the value is nested too deeply; give a number, a word or a list"
            ) from error
        except ValueError:
            values[name] = value
    return values


def parse_positions(text: str, n: int) -> list[int]:
    """Read positions below n, such as 0,3,10:20; the end of a range is not included, as in Python.

    Examples
    --------
    >>> parse_positions("0,5:8", n=10)
    [0, 5, 6, 7]
    """
    positions: list[int] = []
    for piece in text.split(","):
        first, colon, last = (part.strip() for part in piece.partition(":"))
        try:
            start = int(first) if first or not colon else 0
            stop = (int(last) if last else n) if colon else start + 1
        except ValueError as error:
            raise InputError(f"--rows {text!r}: {piece!r} is not a position; write it as 0,3 or 10:20") from error
        if not 0 <= start < stop <= n:
            raise InputError(f"--rows {text!r}: {piece!r} lies outside 0 to {n - 1}; there are {n} rows")
        positions += range(start, stop)
    return positions


def is_read_by_block(path: Path) -> bool:
    """Whether a file is given to the library as a path, to be read block by block: a .zarr, or a large .npy."""
    kind = path.suffix.lower()
    return kind == ".zarr" or (kind == ".npy" and path.is_file() and path.stat().st_size > READ_BELOW_BYTES)


def read_tables(paths: Sequence[Path], key: str | None, header: bool | None) -> list[Table]:
    """Read the files of one command, which must have the same columns.

    `key` is passed on for .npz files and `header` for text; where there are no such files, the first file refuses them.
    """
    archives = [path for path in paths if path.suffix.lower() == ".npz"] or paths[:1]
    texts = [path for path in paths if path.suffix.lower() in (".csv", ".tsv")] or paths[:1]
    read = [
        read_table(path, key if path in archives else None, header=header if path in texts else None) for path in paths
    ]
    for path, table in zip(paths[1:], read[1:], strict=True):
        _same_columns(paths[0], read[0].columns, path, table.columns)
    return read


def _same_columns(first: Path, one: list[str] | None, second: Path, two: list[str] | None) -> None:
    """Refuse tables with equally many columns of different names, which would be matched by position."""
    if one is None or two is None or len(one) != len(two):
        return  # no names to compare, or different widths, which the library refuses
    different = next((i for i, names in enumerate(zip(one, two, strict=True)) if names[0] != names[1]), None)
    if different is not None:
        raise InputError(
            f"column {different + 1} is {one[different]!r} in {first} and {two[different]!r} in {second}; "
            "both files need the same columns in the same order"
        )
