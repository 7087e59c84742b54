"""Permanent ids of rows, for models whose rows change: text or whole numbers, and their form in files and databases."""

from __future__ import annotations

import json
import reprlib
from typing import Any

import numpy as np

from simcomplete.errors import InputError

LONGEST_ID = 1000  # longest id, in characters
LARGEST_ID = 2**63 - 1
RowId = str | int


def checked_id(value: Any) -> RowId:
    """Return an id as plain text or number, or raise an error that says what it may be.

    Examples
    --------
    >>> checked_id(np.int64(7)), checked_id("a")
    (7, 'a')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and len(value) <= LONGEST_ID and "\0" not in value and encodes(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_ID:
        return value
    raise InputError(
        f"id {reprlib.repr(value)} is neither text of up to {LONGEST_ID} characters nor a whole number of 64 bits"
    )


def id_key(value: RowId) -> str:
    """Return an id as JSON text, in which 7 and "7" differ.

    Examples
    --------
    >>> id_key(7), id_key("7"), id_of_key(id_key("7"))
    ('7', '"7"', '7')
    """
    return json.dumps(value, ensure_ascii=False)


def id_of_key(key: str) -> RowId:
    """Return the id from the text of `id_key`."""
    value: RowId = json.loads(key)
    return value


def encodes(text: str) -> bool:
    """Return whether text can be encoded; half of a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
