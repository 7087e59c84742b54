"""One numbering of the rows of a result: by group, position, mask or label.

Text is always a label and a whole number always a position, whatever the labels look like: ``rows="3"`` is the row
labelled 3, ``rows=3`` the fourth row. "candidates" and "queries" are the groups; to select a row with such a label,
put it into a list: ``rows=["queries"]``.
"""

from __future__ import annotations

import reprlib
from difflib import get_close_matches
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.matrix import Selection
from simcomplete._rows.xp import is_array, to_numpy
from simcomplete.errors import InputError

COMPARED = 20_000  # largest number of labels that an unknown label is compared with, to suggest similar ones


def resolve_rows(
    rows: Any,
    name: str,
    n: int,
    n_candidates: int,
    all_rows_are_queries: bool = False,
    labels: list[str] | None = None,
) -> Selection:
    """Turn a selection of rows by the user into a slice or an array of positions in the result.

    Parameters
    ----------
    rows : None, str, slice, int, sequence or tuple
        None for all rows; "candidates" or "queries"; positions in the result, candidates first, as in NumPy; a boolean
        for every row; a label or several; or a pair such as ``("queries", [0, 3])``: rows counted within a group.
    name : str
        What to call it in messages.
    n, n_candidates : int
        How many rows there are, and how many leading ones are candidates.
    all_rows_are_queries : bool
        Whether every row is candidate and query at once.
    labels : list of str, optional
        Labels of the rows.

    Examples
    --------
    >>> resolve_rows("queries", "rows", 5, 3)
    slice(3, 5, None)
    >>> resolve_rows(-1, "rows", 5, 3)
    array([4])
    >>> resolve_rows(("queries", [1, 0]), "rows", 5, 3)
    array([4, 3])
    >>> resolve_rows(["b"], "rows", 2, 1, labels=["a", "b"])
    array([1])
    """
    groups = {"candidates": slice(0, n_candidates), "queries": slice(0 if all_rows_are_queries else n_candidates, n)}
    if rows is None:
        return slice(0, n)
    if isinstance(rows, str) and rows in groups:
        return groups[rows]
    if not _is_pair(rows, groups):
        return _resolve(rows, name, n, labels)
    group = groups[rows[0]]
    within = _resolve(rows[1], f"{name}, {rows[0]}", group.stop - group.start, labels and labels[group])
    if isinstance(within, slice):
        return slice(group.start + within.start, group.start + within.stop)
    return within + group.start


def positions_of(rows: Selection) -> NDArray[np.int64]:
    """Return a selection as an array of positions."""
    return np.arange(rows.start, rows.stop) if isinstance(rows, slice) else rows


def refuse_two_readings(rows: Any, n_candidates: int) -> None:
    """Refuse positions that version 0.1 counted from the first query, and that now count from the first row."""
    numbers = isinstance(rows, slice)
    if not numbers and not isinstance(rows, str) and not _is_pair(rows, ("candidates", "queries")):
        numbers = _as_flat_array(rows, "rows").dtype.kind in "iu"
    if numbers:
        text = reprlib.repr(rows)
        raise InputError(
            f"interval(rows={text}) has two readings: before version 0.2 rows were counted from the first query; in "
            f"similarity() and search() they are positions in the result, whose first {n_candidates} rows are "
            f"candidates. Say which is meant: rows=('queries', {text}) or rows=('candidates', {text}); labels and a "
            "boolean for every row of the result can be used, too"
        )


def _is_pair(rows: Any, groups: Any) -> bool:
    """Whether rows are counted within a group: ("queries", which)."""
    if not isinstance(rows, tuple) or len(rows) != 2:
        return False
    return isinstance(rows[0], str) and rows[0] in groups and not isinstance(rows[1], str)


def _resolve(rows: Any, name: str, n: int, labels: list[str] | None) -> Selection:
    """Resolve a slice, positions, a mask or labels among n rows."""
    if isinstance(rows, slice):
        try:
            start, stop, step = rows.indices(n)
        except (TypeError, ValueError) as error:  # bounds that are not whole numbers, or a step of 0
            raise InputError(f"{name}={rows!r} must have whole numbers, and a step other than 0: {error}") from error
        return slice(start, max(start, stop)) if step == 1 else np.arange(n)[rows]
    asked = _as_flat_array(rows, name)
    if asked.dtype.kind in "iu" or not asked.size:
        return _in_range(np.atleast_1d(asked).astype(np.int64), name, n, labels)
    if asked.dtype.kind == "b" and asked.ndim:
        if len(asked) != n:
            raise InputError(f"{name} has {len(asked)} booleans; give one for each of the {n} rows")
        return np.flatnonzero(asked)
    if all(isinstance(label, str) for label in asked.ravel().tolist()):
        return _labelled(asked.ravel().tolist(), name, labels)
    raise InputError(
        f"{name}={reprlib.repr(rows)} names no rows; use 'candidates', 'queries', a slice, whole numbers, labels, or "
        f"{n} booleans"
    )


def _as_flat_array(rows: Any, name: str) -> NDArray[Any]:
    try:
        asked = np.asarray(to_numpy(rows) if is_array(rows) else rows)
    except ValueError as error:
        raise InputError(f"{name}={reprlib.repr(rows)} is not a flat list: {error}") from error
    if asked.ndim > 1:
        raise InputError(f"{name} has {asked.ndim} dimensions; give a flat list of positions, labels or booleans")
    return asked


def _in_range(asked: NDArray[np.int64], name: str, n: int, labels: list[str] | None) -> NDArray[np.int64]:
    outside = (asked < -n) | (asked >= n)
    if outside.any():
        wrong = int(asked[outside][0])
        labelled = labels is not None and str(wrong) in labels
        hint = f"; a number is a position: the row labelled {wrong} is {str(wrong)!r}, as text" * labelled
        raise InputError(f"{name}: {wrong} is outside the {n} rows; use 0 to {n - 1}, or -{n} to -1 from the end{hint}")
    return np.where(asked < 0, asked + n, asked)


def _labelled(asked: list[str], name: str, labels: list[str] | None) -> NDArray[np.int64]:
    """Return the positions of labels; many labels are found by one pass over all."""
    place = {label: i for i, label in enumerate(labels or [])} if len(asked) > 1 else {}
    once = len(place) == len(labels or [])
    found = [place[label] if once and label in place else _position(label, name, labels) for label in asked]
    return np.array(found, dtype=np.int64)


def _position(label: str, name: str, labels: list[str] | None) -> int:
    """Return the position of a label, which must occur exactly once."""
    known = "'candidates', 'queries', a slice, positions"
    if labels is None:
        raise InputError(f"{name}={label!r} is unknown, and rows have no labels (an index of a frame); use {known}")
    found = [i for i, other in enumerate(labels) if other == label]
    if len(found) == 1:
        return found[0]
    if found:
        raise InputError(
            f"{name}={label!r} is the label of {len(found)} rows, at positions {reprlib.repr(found)}; use positions, "
            f"or a label within a group: ('candidates', [{label!r}]) or ('queries', [{label!r}])"
        )
    near = get_close_matches(label, list(islice(labels, COMPARED)), n=3)
    hint = f"; similar labels are {', '.join(map(repr, dict.fromkeys(near)))}" if near else ""
    raise InputError(f"{name}={label!r} is not one of the {len(labels)} labels{hint}; use a label, {known}")
