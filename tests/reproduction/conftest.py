"""Rows as the runner would write them, made without running anything."""

from __future__ import annotations

import pytest

from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.trials import expand

FACTS = {"outcome": "done", "reason": None, "limit": 60.0, "fails": [], "load": 1.0, "candidates_used": 1000}


@pytest.fixture(name="made", scope="session")
def made_fixture():
    """A function: rows of a protocol with the same values everywhere, or those that a function of the cell returns."""
    return made


def made(name, only=(), **values):
    cells = expand(load_protocol(name), only)
    return [{**c.trial, **FACTS, **{k: v(c) if callable(v) else v for k, v in values.items()}} for c in cells]
