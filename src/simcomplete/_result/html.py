"""Small tables for notebooks: every text is escaped, and colours are left to the notebook, light or dark."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

MOST_ROWS = 50  # of a table; the rest is counted


class Election(list[dict[str, Any]]):
    """The table an automatic method chose from: a list of rows, which a notebook shows as a table.

    Examples
    --------
    >>> table = Election([{"method": "lr", "error": 0.25, "recall": 0.5, "seconds": 0.1, "note": "elected"}])
    >>> table[0]["error"]
    0.25
    >>> "<td>lr</td><td>0.25</td>" in table._repr_html_()
    True
    """

    def _repr_html_(self) -> str:
        head = ("method", "error", "recall", "seconds", "note")
        return html_table("Election", [[row.get(name) for name in head] for row in self], head)


def html_table(caption: str, rows: Iterable[Sequence[Any]], head: Sequence[str] = ()) -> str:
    """Compose a table; without a head, the first cell of every row is what the others are about.

    Examples
    --------
    >>> html_table("Sizes", [("a < b", 3)])
    '<table><caption>Sizes</caption><tbody><tr><th>a &lt; b</th><td>3</td></tr></tbody></table>'
    """
    every = list(rows)
    top = f"<thead><tr>{''.join(f'<th>{escape(name)}</th>' for name in head)}</tr></thead>" if head else ""
    lines = "".join(f"<tr>{_cells(row, first='td' if head else 'th')}</tr>" for row in every[:MOST_ROWS])
    more = len(every) - MOST_ROWS
    foot = f"<tfoot><tr><td>and {more} more</td></tr></tfoot>" if more > 0 else ""
    return f"<table><caption>{escape(caption)}</caption>{top}<tbody>{lines}</tbody>{foot}</table>"


def _cells(row: Sequence[Any], first: str) -> str:
    kinds = [first, *["td"] * (len(row) - 1)]
    return "".join(f"<{kind}>{escape(_text(value))}</{kind}>" for kind, value in zip(kinds, row, strict=True))


def _text(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.3g}" if isinstance(value, float) else str(value)
