"""Output of commands: one JSON document, lines, or a table whose rows are never broken."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from rich.console import Console
from rich.table import Table as Grid
from rich.text import Text

from simcomplete._result.plain import plain

# Wider than any table: cells are never cut or wrapped, and a screen that is too narrow breaks lines by itself.
ENDLESS = 100_000
# How our own signs are written where the terminal's encoding does not have them.
ASCII_SIGNS = {"±": "+-"}
# Blanks at the end of a line, which a narrow terminal would wrap, and the end of bold type behind them.
TRAILING = re.compile(r" +((?:\x1b\[\d*m)*)$")


def say(message: str) -> None:
    """Print a message that is not part of the result: one line on standard error."""
    with suppress(OSError):  # closed, or on a full disk; the exit code remains
        print(f"simcomplete: {one_line(message)}", file=sys.stderr)


def print_line(text: str) -> None:
    """Print one line of a command's result."""
    print(_encodable(one_line(text)))


def print_json(document: Any) -> None:
    """Print the one JSON document of a command."""
    text = json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False)
    if _encodable(text) != text:  # JSON has escape sequences of its own
        text = json.dumps(plain(document), indent=2, allow_nan=False)
    print(text)


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int] = (0,)) -> None:
    """Print rows in aligned columns: those in `text` to the left, numbers to the right."""
    grid = Grid(box=None, pad_edge=False, header_style="bold")
    for j, name in enumerate(head):
        grid.add_column(name, justify="left" if j in text else "right", no_wrap=True)
    for row in rows:
        grid.add_row(*(Text(_encodable(one_line(cell))) for cell in row))
    console = Console(width=ENDLESS, highlight=False)
    with console.capture() as captured:
        console.print(grid)
    print(*(TRAILING.sub(r"\1", line) for line in captured.get().splitlines()), sep="\n")


def one_line(text: str) -> str:
    r"""Replace characters that would break a line or control a terminal; labels and names come from files.

    Examples
    --------
    >>> one_line("a\nb")
    'a b'
    """
    return "".join(mark if mark.isprintable() or _is_surrogate(mark) else " " for mark in text)


def _is_surrogate(mark: str) -> bool:
    """Whether a character represents a byte of a file name that the system's encoding does not have."""
    return "\ud800" <= mark <= "\udfff"


def _encodable(text: str) -> str:
    """Write characters that standard output cannot show as escape sequences, before columns are aligned."""
    encoding = getattr(sys.stdout, "encoding", None) or "utf-8"
    try:
        text.encode(encoding)
    except UnicodeEncodeError:
        for sign, written in ASCII_SIGNS.items():
            text = text.replace(sign, written)
        return text.encode(encoding, "backslashreplace").decode(encoding)
    return text
