"""What to say of cells that are not numbers, and what to do about them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simcomplete.datasets._formats.decorated import is_decorated
from simcomplete.errors import InputError

SHOWN = 8  # columns in a message
CODE = re.compile(r"0[0-9]+")  # a zip code, an account: as a number it would lose its zeros
LOOK_CODES = 1000  # cells to look at


@dataclass(frozen=True)
class NotANumber:
    """The first cell of a column that is not a number: its place, and whether most cells of the column are like it."""

    column: str
    row: int
    text: str
    most: bool = False


def text_columns(columns: Sequence[NotANumber]) -> str:
    """What to say of columns of text.

    Examples
    --------
    >>> text_columns([NotANumber("class", 1, "cat", True)])
    "column 'class' holds text such as 'cat' (row 1); leave it out: drop='class', or use id='class' if it labels \
the rows"
    >>> text_columns([NotANumber("a", 1, "cat", True), NotANumber("b", 1, "dog", True)])
    "columns 'a', 'b' hold text such as 'cat' (row 1 of 'a'); leave them out: drop=['a', 'b'], or use id= of one that \
labels the rows"
    """
    first = columns[0]
    if len(columns) == 1:
        name = f"{first.column!r}"
        return (
            f"column {name} holds text such as {first.text[:40]!r} (row {first.row}); leave it out: drop={name}, or "
            f"use id={name} if it labels the rows"
        )
    names = [cell.column for cell in columns]
    listed = ", ".join(map(repr, names[:SHOWN])) + (f" and {len(names) - SHOWN} more" if len(names) > SHOWN else "")
    drop = f"drop={names}" if len(names) <= SHOWN else "drop="
    return (
        f"columns {listed} hold text such as {first.text[:40]!r} (row {first.row} of {first.column!r}); leave them "
        f"out: {drop}, or use id= of one that labels the rows"
    )


def odd_cell(cell: NotANumber, notation: bool = False) -> str:
    """What to say of a cell that is not a number among others that are, or is one in another notation.

    Examples
    --------
    >>> odd_cell(NotANumber("size", 3, "unknown"))
    "row 3, column 'size': 'unknown' is not a number; if it means missing, use missing='unknown' or leave the cell \
empty; if the column is not a feature, use drop='size' or id='size'"
    """
    place = f"row {cell.row}, column {cell.column!r}: {cell.text[:40]!r} is not a number"
    if notation:
        return (
            f"{place} in the notation of the others; write all of them with one decimal sign and nothing between "
            "thousands, or use decimal='.' or decimal=','"
        )
    if is_decorated(cell.text) and "#" not in cell.text:  # a formula that failed (#DIV/0!) means missing, if anything
        return (
            f"row {cell.row}, column {cell.column!r}: {cell.text[:40]!r} is a formatted number; write plain numbers "
            f"(0.05 for 5%, 10 for $10, -3 for (3)), or leave the column out: drop={cell.column!r}"
        )
    return (
        f"{place}; if it means missing, use missing={cell.text[:40]!r} or leave the cell empty; if the column is not a "
        f"feature, use drop={cell.column!r} or id={cell.column!r}"
    )


def only_text(lines: Sequence[str]) -> str:
    """What to say of a table with one column, of text, by its first lines.

    Examples
    --------
    >>> only_text(["a b", "1 2", "3 4"])
    "the only column holds text; cells seem to be separated by blanks: use separator=' '"
    >>> only_text(["name", "cat"])
    'the only column holds text, numbers are needed'
    """
    widths = {len(line.split()) for line in lines[:LOOK_CODES]}
    if len(widths) == 1 and widths != {1}:
        return "the only column holds text; cells seem to be separated by blanks: use separator=' '"
    return "the only column holds text, numbers are needed"


def refuse_codes(path: Path, names: Sequence[str], cells: Sequence[Any], features: Sequence[int]) -> None:
    """Ask about a first column of numbers with zeros in front, where no other column has such: are they codes?"""

    def has_codes(i: int) -> bool:
        return any(map(CODE.fullmatch, cells[i][:LOOK_CODES].to_pylist()))

    if len(features) > 1 and has_codes(0) and not any(has_codes(i) for i in features if i):
        shown = next(filter(CODE.fullmatch, cells[0].to_pylist()))
        raise InputError(
            f"{path}: the first column, {names[0]!r}, has numbers with zeros in front, such as {shown!r}, as codes "
            f"have; use id={names[0]!r} if it labels the rows, drop={names[0]!r} to leave it out, or name it in "
            "columns= with the others if it is a feature"
        )
