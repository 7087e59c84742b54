"""Passes over many rows in blocks, which sum something over the blocks or compute a new row for every row.

The work on a block is a small object that can be serialised, so that a table whose rows are spread over machines can
do it where the rows are. This module has the passes over rows that are read in this process.
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

# Makes a table of a given shape and type, into which rows are written in order; None for an array in memory.
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
    """Apply `work` to every block of rows, and merge the results in the order of the rows.

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
    """Apply `work` to all blocks, and return its rows with the rows `below` under them, in an array or a `target`."""
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
    """Write the result of `work` for every block into the same rows of `target`."""
    for rows, made in _worked(source, work, bytes_per_row, label, progress):
        target[rows, :] = astype(made, target.dtype)


def _worked(
    source: Array, work: Work[Part], bytes_per_row: int, label: str, progress: bool | None
) -> Iterator[tuple[slice, Part]]:
    """Yield the results of `work` for all blocks, in order.

    With NumPy, as many blocks are processed at once as BLAS may have threads, with one BLAS thread each: otherwise the
    other cores would wait while rows are scaled. Blocks are read one after the other, and are so small that all blocks
    in process together take the memory of one.
    """
    n, threads = int(source.shape[0]), 1
    blocks = row_blocks(n, bytes_per_row, like=source)
    if len(blocks) > 1 and is_numpy(source[:1, :]):  # counting the threads takes longer than a small block
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
    """Return the number of threads that NumPy's products may use at present."""
    return min((pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"), default=1)
