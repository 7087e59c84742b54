"""Combinations that a protocol leaves out, each with its reason: they take longer than they tell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

# What a combination is named by; all of them together with a reason make an entry.
PLACES = ("dataset", "candidates", "missing", "rank", "penalty", "step", "method", "column", "seed")
REASON = "why"


def is_without(without: Sequence[Mapping[str, Any]], place: Mapping[str, Any]) -> bool:
    """Whether a protocol leaves a combination out.

    Parameters
    ----------
    without : sequence of mapping
        Entries of the protocol: lists of values by name, and the reason.
    place : mapping
        The combination: a value for each name that the protocol has.

    Examples
    --------
    >>> slow = [{"method": ["nnfn"], "column": ["tuned"], "why": "it takes minutes"}]
    >>> is_without(slow, {"method": "nnfn", "column": "tuned", "missing": 0.8})
    True
    >>> is_without(slow, {"method": "nnfn", "column": "original", "missing": 0.8})
    False
    """
    return any(all(place.get(name) in values for name, values in entry.items() if name != REASON) for entry in without)


def wrong_entries(without: Any) -> str | None:
    """Say what is wrong with the entries, or return None.

    Examples
    --------
    >>> wrong_entries([{"method": ["nnfn"], "why": "it takes minutes"}]) is None
    True
    >>> wrong_entries([{"method": ["nnfn"]}])
    "an entry of without needs a reason, why = '...'"
    """
    for entry in without:
        if not isinstance(entry.get(REASON), str):
            return "an entry of without needs a reason, why = '...'"
        names = set(entry) - {REASON}
        if not names or not names <= set(PLACES) or not all(isinstance(entry[name], list) for name in names):
            return f"an entry of without has {sorted(names)}; it needs lists of values by any of {', '.join(PLACES)}"
    return None
