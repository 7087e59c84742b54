"""What a cell of text may be: a number with a point or a comma in it, a sign for missing, or text."""

from __future__ import annotations

import re

# In lower case; blanks around a cell are ignored.
MISSING = ("", "nan", "na", "n/a", "n.a.", "null", "none", "?", "-", "--", ".", "..", "#n/a", "#na", "<na>", "-nan")
EXPONENT = r"(e[-+]?[0-9]+)?"
# 1,5 and 1,234: a comma between digits, which ends the whole part or separates thousands.
COMMA_NUMBER = rf"[-+]?([0-9]+,[0-9]*|,[0-9]+){EXPONENT}"
POINT_NUMBER = rf"[-+]?([0-9]+\.?[0-9]*|\.[0-9]+){EXPONENT}"
# Only with a decimal sign that was named: 1,234.5 and 1.234,5.
GROUPED = {
    ".": rf"[-+]?[0-9]{{1,3}}(,[0-9]{{3}})+(\.[0-9]*)?{EXPONENT}",
    ",": rf"[-+]?[0-9]{{1,3}}(\.[0-9]{{3}})+(,[0-9]*)?{EXPONENT}",
}
# Commas that may separate thousands, each with three digits behind it: 1,234 but not 0,123 or 12,34.
THOUSANDS = r"[-+]?[1-9][0-9]{0,2},[0-9]{3}"
# Without a doubt: 1,234.5 and 1,234,567 have decimal points, 1.234,5 and 1.234.567 have decimal commas.
SURELY_GROUPED = {
    ".": rf"[-+]?[0-9]{{1,3}}(,[0-9]{{3}})+(\.[0-9]*|,[0-9]{{3}}){EXPONENT}",
    ",": rf"[-+]?[0-9]{{1,3}}(\.[0-9]{{3}})+(,[0-9]*|\.[0-9]{{3}}){EXPONENT}",
}
# Signs that only people write: a typographical minus, and blanks or apostrophes between thousands (1 234,5).
MINUS, GROUP_SIGNS = "\u2212", " '\u2019\u00a0\u2009\u202f"
TYPESET = rf"[-+{MINUS}]?([0-9]{{1,3}}([{GROUP_SIGNS}][0-9]{{3}})+([.,][0-9]*)?|[0-9]*[.,]?[0-9]+[.,]?){EXPONENT}"
BOOLEANS = {"true": "1", "false": "0"}  # as pandas writes them
ANY_NUMBER = "|".join([POINT_NUMBER, COMMA_NUMBER, *GROUPED.values(), TYPESET, "[-+]?inf(inity)?"])
_NUMBERS = re.compile("|".join([COMMA_NUMBER, *GROUPED.values(), TYPESET]), re.IGNORECASE)


def is_text(cell: str, absent: frozenset[str]) -> bool:
    """Whether a cell, without the blanks around it, is neither missing nor a number in any notation.

    Examples
    --------
    >>> [is_text(cell, frozenset(MISSING)) for cell in ("1.5", "1,5", "1.234,5", "1 234", "NA", "1_000", "cat")]
    [False, False, False, False, False, True, True]
    """
    return cell.lower() not in absent and cell_number(cell, ".") is None and _NUMBERS.fullmatch(cell) is None


def cell_number(cell: str, decimal: str, grouped: bool = False) -> float | None:
    """Return the number that a cell holds, or None where it holds none.

    Parameters
    ----------
    cell : str
        Without blanks around it.
    decimal : {".", ","}
        The sign before the fraction.
    grouped : bool
        Whether the other sign may separate thousands.

    Examples
    --------
    >>> cell_number("1,5", ","), cell_number("1.5", ","), cell_number("1.234,5", ",", grouped=True)
    (1.5, None, 1234.5)
    """
    other = "," if decimal == "." else "."
    if grouped and re.fullmatch(GROUPED[decimal], cell, re.IGNORECASE):
        cell = cell.replace(other, "")
    if other in cell or "_" in cell:  # Python accepts 1_000 as a number, tables do not
        return None
    try:
        return float(cell.replace(",", "."))
    except ValueError:
        return None
