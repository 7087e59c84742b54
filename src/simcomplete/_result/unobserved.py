"""Rows without any observed value: no result about them is claimed.

A method may still have an estimate for such a row, the average direction of the others. It stays in the matrix, but the
row has confidence 0, intervals from -1 to 1, no neighbours, and is not a neighbour of other rows. A row of zeros is
different: its values were observed. It has no direction, so its similarities are 0 by convention, and it is searched
for like any other row.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

NAMED = 5  # largest number of rows that a message names
WIDEST = 2.0  # half-width of an interval that contains [-1, 1] around any similarity


def without_certainty(facts: Mapping[str, Any], blind: NDArray[np.int64], first_query: int) -> dict[str, Any]:
    """Return the facts of a result with these rows recorded as unobserved, and their intervals made widest."""
    facts, model = {**facts, "unobserved": blind}, facts.get("interval_model")
    if model is not None:
        spread = np.array(model.spread)
        spread[blind[blind >= first_query] - first_query] = 1.0
        facts["interval_model"] = replace(model, spread=spread)
    return facts


def open_pairs(rows: NDArray[np.int64], cols: NDArray[np.int64], blind: NDArray[np.int64]) -> NDArray[np.bool_]:
    """Return which pairs have a row about which nothing is known: their similarity may be anything.

    Examples
    --------
    >>> open_pairs(np.array([0, 1]), np.array([0, 1]), np.array([1]))
    array([[False,  True],
           [ True, False]])
    """
    pairs = np.isin(rows, blind)[:, None] | np.isin(cols, blind)[None, :]
    return np.asarray(pairs & (rows[:, None] != cols[None, :]))


def unanswered(
    ids: NDArray[np.int64], scores: NDArray[Any], blind: NDArray[np.bool_] | None = None
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Set id -1 and score NaN where there is no neighbour: a score of -inf, or a row about which nothing is known.

    Examples
    --------
    >>> unanswered(np.array([[3, 1]]), np.array([[0.5, -np.inf]]))
    (array([[ 3, -1]]), array([[0.5, nan]]))
    """
    none = np.isneginf(scores)
    if blind is not None:
        none |= blind[:, None]
    return np.where(none, -1, ids), np.where(none, np.asarray(np.nan, scores.dtype), scores)


def without_ids(
    ids: NDArray[np.int64], scores: NDArray[Any], absent: NDArray[np.int64], k: int
) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Return the first `k` neighbours of every row that are not in `absent`."""
    scores = np.where(np.isin(ids, absent), np.asarray(-np.inf, scores.dtype), scores)
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return unanswered(np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1))


def unobserved_message(blind: Sequence[int] | NDArray[np.int64], labels: list[str] | None, first_query: int) -> str:
    """Return the warning about rows without any observed value.

    Examples
    --------
    >>> print(unobserved_message([4], None, 3))
    nothing is observed of 1 query (1): it has confidence 0 and no neighbours; leave it out, or give at least one value
    """
    rows = [int(row) for row in blind]
    names = [str(row - first_query) if labels is None else repr(labels[row]) for row in rows[:NAMED]]
    named = ", ".join(names) + (", ..." if len(rows) > NAMED else "")
    one = len(rows) == 1
    what = ("query" if one else "queries") if first_query else ("row" if one else "rows")
    it, has = ("it", "has") if one else ("they", "have")
    return (
        f"nothing is observed of {len(rows)} {what} ({named}): {it} {has} confidence 0 and no neighbours; "
        f"leave {'it' if one else 'them'} out, or give at least one value"
    )
