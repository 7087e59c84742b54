"""Passes over many rows: sums of something over blocks, or a new row for every row.

What is done with a block is a small object that can be sent elsewhere, so that a table whose rows are spread over
machines can do the same work where they are. These are the passes over rows that are read here.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import reduce
from typing import Any, TypeVar

from threadpoolctl import threadpool_info, threadpool_limits

from simcomplete._rows.budget import row_blocks
from simcomplete._rows.progress import track
from simcomplete._rows.xp import Array, astype, is_numpy, zeros

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
    parts = (part for _, part in _worked(source, work, bytes_per_row, label, progress))
    return reduce(merge, parts)  # there is at least one row


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
    shape = (n + int(below.shape[0]), int(below.shape[1]))
    V = zeros(below, shape, dtype) if target is None else target(shape, dtype)
    fill_array(V, source, work, bytes_per_row=bytes_per_row, label=label, progress=progress)
    V[slice(n, shape[0]), :] = astype(below, dtype)
    return V


def fill_array(
    target: Array,
    source: Array,
    work: Work[Array],
    *,
    bytes_per_row: int,
    label: str,
    progress: bool | None = None,
) -> None:
    """Write what `work` makes of every block of rows into the same rows of `target`."""
    for rows, made in _worked(source, work, bytes_per_row, label, progress):
        target[rows, :] = astype(made, target.dtype)


def _worked(
    source: Array, work: Work[Part], bytes_per_row: int, label: str, progress: bool | None
) -> Iterator[tuple[slice, Part]]:
    """What `work` makes of every block, in order.

    In NumPy as many blocks are worked on at once as BLAS may have threads, each with one: products alone would leave
    the other cores waiting while rows are scaled. Blocks are read one after the other, and shared out so that all of
    them together take what one was to take.
    """
    n, threads = int(source.shape[0]), 1
    blocks = row_blocks(n, bytes_per_row, like=source)
    if len(blocks) > 1 and is_numpy(source[:1, :]):  # asking for the threads takes longer than a small block
        threads = _threads()
        blocks = row_blocks(n, bytes_per_row * threads, like=source)
    if threads == 1 or len(blocks) < 2 * threads:
        for rows in track(blocks, label, progress) if len(blocks) > 1 else blocks:
            yield rows, work(source[rows, :], rows.start)
        return
    with threadpool_limits(limits=1, user_api="blas"), ThreadPoolExecutor(threads) as pool:
        waiting: deque[tuple[slice, Future[Part]]] = deque()
        try:
            for rows in track(blocks, label, progress):
                waiting.append((rows, pool.submit(work, source[rows, :], rows.start)))
                if len(waiting) >= threads:
                    first, future = waiting.popleft()
                    yield first, future.result()
            for first, future in waiting:
                yield first, future.result()
        finally:
            pool.shutdown(cancel_futures=True)


def _threads() -> int:
    """Threads that NumPy's products may have, here and now."""
    return min((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
