"""Passes over many rows: sums of something over blocks, or a new row for every row.

What is done with a block is a small object that can be sent elsewhere, so a source that is spread over machines
(it has `fold_rows` and `map_rows` of its own) does the same work where its rows are.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

from simcomplete.arrays import Array, astype, zeros
from simcomplete.blocks import row_blocks
from simcomplete.progress import track

Part = TypeVar("Part")
Work = Callable[[Array, int], Part]  # rows, and the position of the first

# Makes a table of a shape and type to write rows into, in order; None for an array in memory.
Target = Callable[[tuple[int, int], Any], Any] | None


def fold(
    source: Array,
    work: Work[Part],
    merge: Callable[[Part, Part], Part],
    *,
    bytes_per_row: int,
    label: str,
    progress: bool | None = None,
) -> Part:
    """Merge what `work` makes of every block of rows; the order of merging is that of the rows.

    Examples
    --------
    >>> import numpy as np
    >>> fold(np.arange(6.0).reshape(3, 2), lambda X, start: X.sum(), lambda a, b: a + b, bytes_per_row=8, label="sum")
    np.float64(15.0)
    """
    if hasattr(source, "fold_rows"):
        found: Part = source.fold_rows(work, merge, bytes_per_row, progress)
        return found
    total: Part | None = None
    for rows in track(row_blocks(int(source.shape[0]), bytes_per_row, like=source), label, progress):
        part = work(source[rows, :], rows.start)
        total = part if total is None else merge(total, part)
    assert total is not None  # a source has at least one row
    return total


def stacked(
    source: Array,
    work: Work[Array],
    below: Array,
    *,
    bytes_per_row: int,
    label: str,
    progress: bool | None = None,
    target: Target = None,
    dtype: Any = None,
) -> Array:
    """What `work` makes of every row, and the rows `below` under them: in a new array, or where `target` makes one."""
    n, dtype = int(source.shape[0]), below.dtype if dtype is None else dtype
    if hasattr(source, "map_rows"):
        return source.map_rows(work, below, dtype, bytes_per_row)
    shape = (n + int(below.shape[0]), int(below.shape[1]))
    V = zeros(below, shape, dtype) if target is None else target(shape, dtype)
    fill(V, source, work, bytes_per_row=bytes_per_row, label=label, progress=progress)
    V[slice(n, shape[0]), :] = astype(below, dtype)
    return V


def fill(
    target: Array,
    source: Array,
    work: Work[Array],
    *,
    bytes_per_row: int,
    label: str,
    progress: bool | None = None,
) -> None:
    """Write what `work` makes of every block of rows into the same rows of `target`."""
    for rows in track(row_blocks(int(source.shape[0]), bytes_per_row, like=source), label, progress):
        target[rows, :] = astype(work(source[rows, :], rows.start), target.dtype)
