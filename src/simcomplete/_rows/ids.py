"""Ids of rows that stay while others come and go: text or whole numbers, and how files and databases hold them."""

from __future__ import annotations

import json
import reprlib
from typing import Any

import numpy as np

from simcomplete.errors import InputError

LONGEST_ID = 1000  # characters
LARGEST_ID = 2**63 - 1
RowId = str | int


def checked_id(value: Any) -> RowId:
    """An id as plain text or number, or an error that says what it may be.

    Examples
    --------
    >>> checked_id(np.int64(7)), checked_id("a")
    (7, 'a')
    """
    if isinstance(value, np.generic):
        value = value.item()
    if isinstance(value, str) and len(value) <= LONGEST_ID and "\0" not in value and _encodes(value):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) <= LARGEST_ID:
        return value
    raise InputError(
        f"id {reprlib.repr(value)} is neither text of up to {LONGEST_ID} characters nor a whole number of 64 bits"
    )


def id_key(value: RowId) -> str:
    """An id as text in which 7 and "7" differ: JSON.

    Examples
    --------
    >>> id_key(7), id_key("7"), id_of_key(id_key("7"))
    ('7', '"7"', '7')
    """
    return json.dumps(value, ensure_ascii=False)


def id_of_key(key: str) -> RowId:
    """The id that `id_key` made text of."""
    value: RowId = json.loads(key)
    return value


def _encodes(text: str) -> bool:
    """Whether text can be written to files: half of a surrogate pair cannot."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
