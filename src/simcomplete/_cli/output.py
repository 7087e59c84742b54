"""What commands print: one JSON document, or a table that keeps its lines when piped."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from simcomplete._result.plain import plain

# Wider than any table: cells are never cut or wrapped, and a screen that is too narrow breaks lines by itself.
ENDLESS = 100_000


def say(message: str) -> None:
    """Tell people something beside the result: one line on standard error."""
    print(f"simcomplete: {_one_line(message)}", file=sys.stderr)


def print_json(document: Any) -> None:
    """Print the one JSON document of a command."""
    print(json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False))


def print_table(head: Sequence[str], rows: Sequence[Sequence[str]], text: Sequence[int] = (0,)) -> None:
    """Print rows in aligned columns: those in `text` to the left, numbers to the right."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for j, name in enumerate(head):
        table.add_column(name, justify="left" if j in text else "right", no_wrap=True)
    for row in rows:
        table.add_row(*(Text(_one_line(cell)) for cell in row))
    console = Console(width=ENDLESS, highlight=False)
    with console.capture() as captured:
        console.print(table)
    print(*(line.rstrip() for line in captured.get().splitlines()), sep="\n")


def _one_line(text: str) -> str:
    """Take out what would break a line or steer a terminal; labels come from files."""
    return "".join(mark if mark.isprintable() else " " for mark in text)
