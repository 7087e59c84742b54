"""Small HTML tables for notebooks: every text is escaped, and colours are those of the notebook."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

import numpy as np

from simcomplete._result.text import text_table

MOST_ROWS = 50  # rows of a table that are shown; the number of others is given
COMPARED = ("method", "error", "recall", "seconds", "note")
NUMBER = re.compile(r"[-+]?[\d.]*(e[-+]?\d+)?|nan")


class Election(list[dict[str, Any]]):
    """The scores of the methods compared by "auto": a list of dicts, shown as a table by `print` and in notebooks.

    Examples
    --------
    >>> table = Election([{"method": "lr", "error": 0.25, "recall": 0.5, "seconds": 0.1, "note": "chosen"}])
    >>> table[0]["error"]
    0.25
    >>> print(table)
    Methods compared
    method  error  recall  seconds  note
    lr      0.250  0.500   0.100    chosen
    """

    def _repr_html_(self) -> str:
        return html_table("Methods compared", self._rows(), COMPARED)

    def __str__(self) -> str:
        return text_table("Methods compared", self._rows(), COMPARED)

    def _rows(self) -> list[list[Any]]:
        return [[three_digits(row.get(name)) for name in COMPARED] for row in self]


def html_table(caption: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Compose a table; without a head, the first cell of every row is its heading.

    Examples
    --------
    >>> html_table("Sizes", [("a < b", 3)])
    '<table><caption>Sizes</caption><tbody><tr><th style="text-align:left">a &lt; b</th>\
<td style="text-align:left">3</td></tr></tbody></table>'
    """
    every = list(rows)
    shown = every[:MOST_ROWS]
    left = [any(_is_words(row[j]) for row in shown) for j in range(len(head))]
    names = "".join(_cell("th", name, to_left) for name, to_left in zip(head, left, strict=True))
    top = f"<thead><tr>{names}</tr></thead>" if head else ""
    lines = "".join(f"<tr>{_cells(row, left)}</tr>" for row in shown)
    more = len(every) - MOST_ROWS
    foot = f"<tfoot><tr><td>and {more} more</td></tr></tfoot>" if more > 0 else ""
    return f"<table><caption>{escape(caption)}</caption>{top}<tbody>{lines}</tbody>{foot}</table>"


def _cells(row: Sequence[Any], left: Sequence[bool]) -> str:
    """Return the cells of a row; without a head, the first is a heading."""
    if left:
        return "".join(_cell("td", value, to_left) for value, to_left in zip(row, left, strict=True))
    name, *values = row
    return _cell("th", name, True) + "".join(_cell("td", value, True) for value in values)


def _cell(kind: str, value: Any, to_left: bool) -> str:
    # Notebooks align all cells to the right, which suits numbers only.
    style = ' style="text-align:left"' if to_left else ""
    return f"<{kind}{style}>{escape(_text(value))}</{kind}>"


def _is_words(value: Any) -> bool:
    if value is None or isinstance(value, bool):
        return value is not None
    return not NUMBER.fullmatch(str(value))


def three_digits(value: Any) -> Any:
    """Return a number with three decimals, so that columns align; anything else unchanged."""
    return f"{value:.3f}" if isinstance(value, (float, np.floating)) else value


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
