"""Checks of row labels: text, whole numbers or dates, one for each row, without duplicates."""

from __future__ import annotations

import datetime
import re
import reprlib
from collections import Counter
from collections.abc import Iterable
from typing import Any
from uuid import UUID

import numpy as np

from simcomplete._rows.cells import is_missing
from simcomplete.errors import InputError

DAY = re.compile(r"(\d{4}-\d\d-\d\d)[ T]00:00:00(?:\.0+)?")  # midnight as written by datetime and by numpy.datetime64
NAMES_OF_ROWS = (str, int, np.integer, datetime.date, np.datetime64, UUID)


def checked_labels(values: Any, n: int, what: str) -> list[str]:
    """Return the labels of n rows as text, or raise an error that says what is wrong with them.

    Parameters
    ----------
    values : iterable
        Text, whole numbers (also as floats without a fraction, which is how pandas stores them beside missing ones) or
        dates; every row has one, and no two rows have the same.
    n : int
        How many rows there are.
    what : str
        What to call them in messages.

    Examples
    --------
    >>> checked_labels([7, "b"], 2, "labels")
    ['7', 'b']
    """
    if isinstance(values, (str, bytes)) or not isinstance(values, Iterable):
        raise InputError(f"{what} is {reprlib.repr(values)}; a label for each of the {n} rows is needed")
    given = list(values.tolist() if hasattr(values, "tolist") else values)
    if len(given) != n:
        raise InputError(f"{what} has {len(given)} labels for {n} rows; give one for every row, in their order")
    labels = _without_midnight([_text(value, row, what) for row, value in enumerate(given)])
    twice = [(label, count) for label, count in Counter(labels).most_common(3) if count > 1]
    if twice:
        shown = ", ".join(f"{label!r} {count} times" for label, count in twice)
        raise InputError(
            f"{what} has {shown}; a label must name one row: make them different, leave them out, or give them as the "
            "index of a pandas frame, where they may repeat"
        )
    return labels


def label_texts(index: Iterable[Any]) -> list[str]:
    """Return the labels of an index as text; dates at midnight without the time.

    Examples
    --------
    >>> label_texts([datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2)]), label_texts(["a", 7])
    (['2020-01-01', '2020-01-02'], ['a', '7'])
    """
    return _without_midnight([str(label) for label in index])


def _without_midnight(labels: list[str]) -> list[str]:
    """Leave out the time if all labels are dates at midnight."""
    days = [DAY.fullmatch(label) for label in labels[:1]]
    if not all(days):
        return labels
    days = [DAY.fullmatch(label) for label in labels]
    return [day[1] if day else label for day, label in zip(days, labels, strict=True)] if all(days) else labels


def labels_of_both(labels: Any, n_candidates: int, n_queries: int) -> tuple[list[str] | None, list[str] | None]:
    """Return the labels of candidates and of queries from a pair; either may be None."""
    pair = isinstance(labels, (tuple, list)) and len(labels) == 2
    if not pair or any(isinstance(part, (*NAMES_OF_ROWS, bytes, float)) for part in labels):
        raise InputError(
            f"labels={reprlib.repr(labels)} is not a pair; with queries, give labels=(labels of the {n_candidates} "
            f"candidates, labels of the {n_queries} queries), None for those that have none"
        )
    first, second = labels
    return (
        None if first is None else checked_labels(first, n_candidates, "labels of candidates"),
        None if second is None else checked_labels(second, n_queries, "labels of queries"),
    )


def _text(value: Any, row: int, what: str) -> str:
    if isinstance(value, (float, np.floating)) and float(value).is_integer():
        value = int(value)
    if not is_missing(value) and isinstance(value, NAMES_OF_ROWS) and not isinstance(value, bool):
        return str(value)
    problem = "nothing" if is_missing(value) else f"{value!r}, a {type(value).__name__},"
    raise InputError(f"{what} has {problem} for row {row}; text, whole numbers or dates are needed, one for every row")
