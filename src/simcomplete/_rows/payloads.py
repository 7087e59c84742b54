"""Payloads: any JSON value that goes with a row, and its form in files and databases."""

from __future__ import annotations

import json
import math
import reprlib
from typing import Any

from simcomplete._rows.ids import encodes
from simcomplete.errors import InputError

DEEPEST = 100  # levels of lists and objects: what reads a payload calls itself for each


def payload_text(payload: Any) -> str | None:
    """Return a payload as JSON text, None for none, or raise an error: what is returned can be read by every engine.

    Examples
    --------
    >>> payload_text({"name": "ä"}), payload_text(None)
    ('{"name": "\\\\u00e4"}', None)
    """
    if payload is None:
        return None
    try:
        _check(payload)
        return json.dumps(payload, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(f"payload {reprlib.repr(payload)} cannot be written as JSON: {error}") from error


def read_payload(text: str | None) -> Any:
    """Return the payload of a text; numbers that are not finite, which `payload_text` refuses, become None."""
    return None if text is None else json.loads(text, parse_constant=lambda _: None)


def _check(payload: Any) -> None:
    """Refuse what JSON or databases cannot hold."""
    level, values = 0, [payload]
    while values:
        if level > DEEPEST:
            raise ValueError(f"it has more than {DEEPEST} levels of lists and objects")
        within: list[Any] = []
        for value in values:
            if isinstance(value, dict):
                within += [*value, *value.values()]
            elif isinstance(value, (list, tuple)):
                within += value
            elif isinstance(value, str) and ("\0" in value or not encodes(value)):
                raise ValueError("it has text with the character 0, or with half of a surrogate pair")
            elif isinstance(value, float) and not math.isfinite(value):
                raise ValueError("it has a number that is not finite")
        level, values = level + 1, within
