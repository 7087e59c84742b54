"""Tables of text with aligned columns, for a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any


def aligned(rows: Sequence[Sequence[str]]) -> str:
    """Rows of text in columns.

    Examples
    --------
    >>> print(aligned([("name", "rank"), ("smcnn", "100")]))
    name   rank
    smcnn  100
    """
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in rows)


def text_table(caption: str, rows: Iterable[Sequence[Any]], head: Sequence[str]) -> str:
    """A caption, a line of names and lines of values; None is left empty.

    Examples
    --------
    >>> print(text_table("Sizes", [("a", 3), ("b", None)], ("name", "size")))
    Sizes
    name  size
    a     3
    b
    """
    lines = [["" if value is None else str(value) for value in row] for row in rows]
    return f"{caption}\n{aligned([head, *lines])}"
