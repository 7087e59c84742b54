"""Detect columns that seem to number the rows and not to describe them.

A column of whole numbers is doubtful when

- its name is id, index, key or the like, or has "id" as its first or last word (`user_id`, `CustomerID`); or
- it rises by one from row to row, in ten rows and more; or
- its values are all different although coincidences were to be expected: of n numbers drawn at random between the
  smallest and the largest, n (n - 1) / (2 range) pairs would be equal, and that number is at least 7 + log(columns).
  Chance would do that to one table in a thousand. Incomes of a hundred people are all different and not doubtful, for
  their range is wide; nor are pixels, counts or years that come again.
"""

from __future__ import annotations

import re
from collections import Counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.frames import FrameRows

NAMES = {
    "id",
    "index",
    "idx",
    "key",
    "pk",
    "uid",
    "guid",
    "unnamed: 0",
    "row",
    "rowid",
    "rownum",
    "row number",
    "row id",
}
WORDS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
FIRST = 200  # rows of a column that are examined before all of it is
RISING_ROWS = 10
COINCIDENCES = 7.0


def question_columns(rows: FrameRows, id: Any) -> str | None:
    """Return a warning if columns seem to number the rows; None if none does, or if `id` is given."""
    if id is False:
        return None
    names = list(range(rows.d)) if rows.columns is None else rows.columns
    found = doubtful_columns(rows.array, names)
    if not found:
        return None
    first = names[found[0][0]]
    listed = "; ".join(f"column {names[i]!r} {why}" for i, why in found[:3]) + ("; ..." if len(found) > 3 else "")
    otherwise = ", or use id=False if it is a feature" if id is None else ""  # id= names the labels already
    return (
        f"{listed}: it may be an id, and is used as a feature. Use id={first!r} if it names the rows, leave it out if "
        f"it is neither{otherwise}"
    )


def question_labels(rows: FrameRows) -> str | None:
    """Return a warning if labels read from a file occur more than once, else None."""
    if rows.library is not None or not rows.labels or len(set(rows.labels)) == len(rows.labels):
        return None
    (label, count), *_ = Counter(rows.labels).most_common(1)
    where = "" if rows.label_name is None else f" in column {rows.label_name!r}"
    other = "" if rows.label_name is None else f", or drop={rows.label_name!r} if it is a class and not a label"
    return (
        f"{label!r} is the label of {count} rows{where}, and labels should be unique; name another column with id="
        f"{other}: results cannot distinguish these rows"
    )


def doubtful_columns(X: NDArray[Any], names: list[Any]) -> list[tuple[int, str]]:
    """Return the positions of columns that seem to number the rows, with the reasons.

    Examples
    --------
    >>> X = np.column_stack([np.arange(30), np.arange(30) % 7])
    >>> doubtful_columns(X.astype(float), ["no", "weekday"])
    [(0, 'rises by one from row to row')]
    """
    head = X[:FIRST]
    # NaN and infinities are no whole numbers.
    with np.errstate(invalid="ignore"):
        whole = np.flatnonzero((head == np.floor(head)).all(axis=0))
    found = []
    least = COINCIDENCES + np.log(X.shape[1])
    for i in whole.tolist():
        if is_name_of_an_id(names[i]):
            found.append((i, "has the name of an id"))
        elif len(np.unique(head[:, i])) == len(head):
            why = _why_it_numbers(X[:, i], least)
            if why is not None:
                found.append((i, why))
    return found


def is_name_of_an_id(name: Any) -> bool:
    """Return whether the name of a column suggests that it has ids of rows.

    Examples
    --------
    >>> [is_name_of_an_id(name) for name in ("ID", "user_id", "CustomerID", "idle time", "humid", "price_index", 3)]
    [True, True, True, False, False, False, False]
    """
    if not isinstance(name, str):
        return False
    words = [word.lower() for word in WORDS.findall(name)]
    return name.strip().lower() in NAMES or (len(words) > 1 and "id" in (words[0], words[-1]))


def _why_it_numbers(values: NDArray[Any], least: float) -> str | None:
    n = len(values)
    if n >= RISING_ROWS and np.all(np.diff(values) == 1):
        return "rises by one from row to row"
    reach = float(values.max() - values.min()) + 1
    if n * (n - 1) / (2 * reach) < least or np.any(values != np.floor(values)) or len(np.unique(values)) < n:
        return None
    return "has whole numbers that are all different"
