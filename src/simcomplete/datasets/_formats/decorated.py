"""Numbers that are written for people, 1,000 or 5%, and what spreadsheets write in place of a number.

They are not numbers to a program. A first column of them would be taken for the labels of the rows, and silently lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from simcomplete.errors import InputError

CURRENCY = "$€£¥₹"
BLANKS = " \u00a0\u2009\u202f"
# Digits in groups of three, digits with a decimal comma, or plain digits.
DIGITS = rf"(\d{{1,3}}([,.'’_{BLANKS}]\d{{3}})+([.,]\d+)?|\d+[.,]\d*|[.,]?\d+)(e[-+]?\d+)?"
# With a sign, a currency, a percent sign or parentheses around them, which mean a negative number to accountants.
DECORATED = re.compile(
    rf"[(<>~]?[-+\u2212]?[{CURRENCY}]?[{BLANKS}]*[-+\u2212]?{DIGITS}[{BLANKS}]*[%‰{CURRENCY}]?\)?", re.IGNORECASE
)
SHEET_ERRORS = frozenset(
    (
        "#n/a",
        "#na",
        "#div/0!",
        "#value!",
        "#ref!",
        "#num!",
        "#name?",
        "#null!",
        "-nan",
        "1.#ind",
        "1.#qnan",
        "-",
        "--",
        "?",
    )
)


def refuse_decorated(path: Path, column: str, cells: Sequence[str]) -> None:
    """Raise InputError where a column that would label the rows looks like numbers.

    Examples
    --------
    >>> refuse_decorated(Path("t.csv"), "name", ["A-12", "5%"])
    >>> try:
    ...     refuse_decorated(Path("t.csv"), "price", ["1,000", "#REF!"])
    ... except InputError as error:
    ...     print(str(error).split(";")[0])
    t.csv: the first column, 'price', holds '1,000' in row 1, which looks like a formatted number
    """
    if all(is_decorated(cell) for cell in cells):
        raise InputError(
            f"{path}: the first column, {column!r}, holds {cells[0][:40]!r} in row 1, which looks like a formatted "
            "number; write 1000 for 1,000, 0.05 for 5% and an empty cell for #REF! (or use "
            "missing='#REF!'), or, where the cells do label the rows, leave the name of the column empty in the "
            "first line"
        )


def is_decorated(cell: str) -> bool:
    """Whether a cell that is not a number looks like one, or stands in place of one.

    Examples
    --------
    >>> [is_decorated(cell) for cell in ("1,000", "5%", "1 000", "$5", "(3.5)", "#DIV/0!", "A-12", "2020-01-02", "1st")]
    [True, True, True, True, True, True, False, False, False]
    """
    return cell.lower() in SHEET_ERRORS or DECORATED.fullmatch(cell) is not None
