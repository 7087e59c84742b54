"""Arguments of commands: parameters, positions and files."""

from __future__ import annotations

import ast
import csv
import json
import re
import shlex
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcomplete.datasets import Table, read_table
from simcomplete.datasets._columns import AbsentColumnsError
from simcomplete.errors import InputError, SimcompleteError

# The name of standard input and of standard output.
STANDARD = Path("-")
# The options of the parameters of `read_table`.
READ_OPTIONS = {
    **{name: name for name in ("key", "format", "separator", "decimal", "id", "drop", "columns")},
    "missing": "missing-value",
}
SHELL_SIGNS = re.compile(r"[^\w@%+=:,./-]")  # what a shell would not take as it is, as `shlex.quote` has it
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


def parse_columns(texts: Sequence[str] | None) -> list[str]:
    """Read names of columns, separated by commas; a name with a comma in it is quoted.

    Examples
    --------
    >>> parse_columns(["a,b", '"c, d"'])
    ['a', 'b', 'c, d']
    """
    cells = [cell.strip() for line in csv.reader(texts or [], skipinitialspace=True) for cell in line]
    return [cell for cell in cells if cell]


@dataclass(frozen=True)
class Reading:
    """How the files of a command are read: the options of `simcomplete.datasets.read_table`."""

    key: str | None = None
    header: bool | None = None
    missing: tuple[str, ...] = ()
    decimal: str | None = None
    separator: str | None = None
    format: str | None = None
    id: str | None = None
    drop: tuple[str, ...] = ()
    columns: tuple[str, ...] = ()

    @classmethod
    def of(
        cls,
        *,
        missing: Sequence[str] | None = None,
        drop: Sequence[str] | None = None,
        columns: Sequence[str] | None = None,
        **others: Any,
    ) -> Reading:
        """Take the options of a command as typer gives them."""
        separator = others.pop("separator", None)
        return cls(
            missing=tuple(missing or ()),
            separator="\t" if separator in ("\\t", "tab") else separator,
            drop=tuple(parse_columns(drop)),
            columns=tuple(parse_columns(columns)),
            **others,
        )

    def of_file(self, path: Path, *, texts: Sequence[Path], archives: Sequence[Path]) -> dict[str, Any]:
        """Return the options for one of several files: those for text and for archives only where they apply."""
        is_text = path in texts
        return {
            "key": self.key if path in archives else None,
            "header": self.header if is_text else None,
            "decimal": self.decimal if is_text else None,
            "separator": self.separator if is_text else None,
            "missing": [value for value in self.missing if is_text or _is_number(value)],
            "format": self.format,
            "id": self.id,
            "drop": self.drop,
            "columns": self.columns,
        }


def is_read_by_block(path: Path) -> bool:
    """Whether a file is given to the library as a path, to be read block by block: a .zarr, or a large .npy."""
    kind = path.suffix.lower()
    return kind == ".zarr" or (kind == ".npy" and path.is_file() and path.stat().st_size > READ_BELOW_BYTES)


def read_tables(
    paths: Sequence[Path], key: str | None = None, header: bool | None = None, reading: Reading | None = None
) -> list[Table]:
    """Read the files of one command; `-` is standard input. The library matches their columns by name.

    An option for text or for archives is passed on to such files; where there are none, the first file refuses it. A
    column to drop must be in one of the files.
    """
    how = reading or Reading(key, header)
    if sum(path == STANDARD for path in paths) > 1:
        raise InputError("standard input (-) was given twice, and can be read once; give a file for one of them")
    archives = [path for path in paths if path.suffix.lower() == ".npz" or path == STANDARD] or paths[:1]
    texts = [path for path in paths if _may_be_text(path, how.format)] or paths[:1]
    absent: list[AbsentColumnsError] = []
    try:
        tables = [_read(path, how.of_file(path, texts=texts, archives=archives), absent, len(paths)) for path in paths]
        if len(absent) == len(paths) and paths and set.intersection(*(set(error.names) for error in absent)):
            raise absent[0]
    except SimcompleteError as error:
        error.args = (reading_in_options(str(error)),)
        raise
    return tables


def _read(path: Path, options: dict[str, Any], absent: list[AbsentColumnsError], n_files: int) -> Table:
    """Read one file, without the columns to drop that it does not have; note those."""
    source = sys.stdin.buffer if path == STANDARD else path
    try:
        return read_table(source, **options)
    except AbsentColumnsError as error:
        if n_files == 1 or path == STANDARD:  # no other file can have them, or this one cannot be read again
            raise
        absent.append(error)
        return read_table(path, **{**options, "drop": [name for name in options["drop"] if name not in error.names]})


def reading_in_options(message: str) -> str:
    """Write the parameters that a message of the readers names as options of the command line.

    Examples
    --------
    >>> reading_in_options("use missing=; or header=False, or decimal=',' for a fraction, or drop='a b'")
    "use --missing-value; or --no-header, or --decimal , for a fraction, or --drop 'a b'"
    >>> print(reading_in_options("if it means missing, use missing='#DIV/0!'"))
    if it means missing, use --missing-value '#DIV/0!'
    >>> print(reading_in_options("leave them out: drop=['a', 'b, c']"))
    leave them out: --drop 'a,"b, c"'
    """
    message = message.replace("header=True", "--header").replace("header=False", "--no-header")

    def option(found: re.Match[str]) -> str:
        value = found["value"] or ""
        if value.startswith("["):
            names = [f'"{name}"' if "," in name else name for name in ast.literal_eval(value)]
            return f"--{READ_OPTIONS[found['name']]} {shlex.quote(','.join(names))}"
        plain = value[1:-1] if len(value) > 2 and not SHELL_SIGNS.search(value[1:-1]) else value
        return f"--{READ_OPTIONS[found['name']]}" + (f" {plain}" if plain else "")

    return re.sub(
        rf"(?<![\w-])(?P<name>{'|'.join(READ_OPTIONS)})=(?P<value>'[^']*'|\[(?:'[^']*'|, )+\])?", option, message
    )


def _may_be_text(path: Path, kind: str | None) -> bool:
    name = path.name.lower()
    for ending in (".gz", ".bz2", ".xz"):
        name = name.removesuffix(ending)
    return name.endswith((".csv", ".tsv", ".tab", ".txt")) or kind == "csv" or (path == STANDARD and kind is None)


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True
