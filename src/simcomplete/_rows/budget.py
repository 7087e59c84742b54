"""Rows in blocks: how long loops over many rows keep their memory small."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextvars import ContextVar
from typing import Any

from simcomplete._rows.xp import Array, on_accelerator
from simcomplete.errors import InputError

BLOCK_BYTES = 64 * 2**20
ACCELERATOR_BYTES = 2**32  # small blocks would keep it waiting
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}

_told: ContextVar[int | None] = ContextVar("block_bytes", default=None)


def row_blocks(n: int, bytes_per_row: int, budget: int | None = None, *, like: Array = None) -> list[slice]:
    """Cut `n` rows into slices of about `budget` bytes each.

    Without a budget it is what `working_memory` was told, or a usual one for the device of `like`.

    Examples
    --------
    >>> row_blocks(10, bytes_per_row=8, budget=32)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    rows = max(1, (budget or block_bytes(like)) // max(1, bytes_per_row))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def block_bytes(like: Array = None) -> int:
    """What a block may take: what `working_memory` was told, or a usual size for the device of `like`."""
    return _told.get() or (ACCELERATOR_BYTES if like is not None and on_accelerator(like) else BLOCK_BYTES)


def triangle_blocks(
    n: int, bytes_per_row: int, budget: int | None = None, *, like: Array = None
) -> Iterator[tuple[slice, slice]]:
    """Pairs of slices that cover the upper triangle of an n x n matrix: rows, and columns from there on."""
    for rows in row_blocks(n, bytes_per_row, budget, like=like):
        yield rows, slice(rows.start, n)


@contextlib.contextmanager
def working_memory(memory: Any) -> Iterator[None]:
    """Let blocks and their temporaries take about so much, for as long as this lasts; None changes nothing.

    Examples
    --------
    >>> with working_memory("1 KiB"):
    ...     len(row_blocks(10, bytes_per_row=256))
    3
    """
    if memory is None:
        yield
        return
    token = _told.set(as_bytes(memory))
    try:
        yield
    finally:
        _told.reset(token)


def told_memory() -> int | None:
    """What `working_memory` was told, to be told again where the work is done."""
    return _told.get()


def as_bytes(memory: Any) -> int:
    """Read a number of bytes, or words such as "2 GiB".

    Examples
    --------
    >>> as_bytes("1.5 GiB"), as_bytes(4096)
    (1610612736, 4096)
    """
    number, unit = memory, "B"
    if isinstance(memory, str):
        unit = memory.lstrip("0123456789. ").strip().upper() or "B"
        number = memory[: len(memory) - len(memory.lstrip("0123456789. "))]
    try:
        size = int(float(number) * UNITS[unit])
    except (KeyError, TypeError, ValueError, OverflowError):
        size = 0
    if isinstance(memory, bool) or size < 1:
        raise InputError(f"memory={memory!r} is no amount of memory; give bytes, or words such as '2 GiB'")
    return size
