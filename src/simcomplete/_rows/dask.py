"""Rows of a dask array: every pass runs on the workers that have the rows, and only small results come back.

Sums are merged as a tree on the workers. If a worker dies, its part is computed again elsewhere, with the same result.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import memory_limit, working_memory
from simcomplete._rows.passes import Part, Target, Work, fill_array, fold
from simcomplete._rows.progress import one_bar, part_of_bar, shown, track
from simcomplete._rows.source import SourceRows, checked
from simcomplete.errors import InputError, optional

FAN_IN = 8  # number of sums merged by one task
ASK_AGAIN = 0.1  # seconds between two checks of a cluster's progress


def client() -> Any:
    """Return the cluster's client where there is one."""
    distributed = sys.modules.get("distributed")  # imported already if there is a client
    try:
        return None if distributed is None else distributed.get_client()
    except ValueError:
        return None


def computed(value: Any, progress: bool | None = False) -> Any:
    """Compute delayed values, with progress if it is to be shown."""
    if progress is False or not shown(progress):
        return value.compute()
    cluster = client()
    if cluster is None:
        callback = optional("dask.callbacks", extra="dask", purpose="progress").Callback
        with one_bar(progress), part_of_bar("dask") as tell:

            def task_done(key: Any, result: Any, dsk: Any, state: Any, worker: Any) -> None:
                done = len(state["finished"])
                share = done / (done + sum(len(state[kind]) for kind in ("ready", "waiting", "running")))
                tell(share, share)

            with callback(posttask=task_done):
                return value.compute()
    future = cluster.compute(value)
    for _ in track(iter(future.done, True), "dask", progress):  # only the scheduler knows how many tasks are left
        time.sleep(ASK_AGAIN)
    return future.result()


class DaskRows(SourceRows):
    """Rows of a dask array, which is `base`."""

    def __init__(self, base: Any, name: str, *, complete: bool = False) -> None:
        if np.isnan(base.shape).any() or base.ndim != 2:
            raise InputError(
                f"{name} is a dask array of shape {base.shape}; 2 dimensions of known size are needed: "
                "call compute_chunk_sizes() first"
            )
        super().__init__(base.rechunk({1: -1}), name, complete=complete)

    def read(self, start: int, stop: int) -> NDArray[Any]:
        """Fetch some rows."""
        rows = np.asarray(computed(self.base[start:stop]))
        return checked(rows, (stop - start, self.shape[1]), self.name, start, self.complete).astype(
            self.dtype, copy=False
        )

    def take(self, positions: NDArray[np.int64]) -> NDArray[Any]:
        """Fetch some rows, in the given order, by one computation."""
        order = np.argsort(positions, kind="stable")
        out = np.empty((len(positions), self.shape[1]), self.dtype)
        out[order] = computed(self.base[positions[order]])
        return out

    @property
    def array_like(self) -> Any:
        """The dask array."""
        return self.base

    def fold(
        self,
        work: Work[Part],
        merge: Callable[[Part, Part], Part],
        *,
        bytes_per_row: int,
        label: str,
        progress: bool | None = False,
    ) -> Part:
        """Apply `work` to every block and merge the results as a tree, on the workers."""
        delayed = optional("dask", extra="dask", purpose="a dask array").delayed
        shared = delayed((work, merge, self.name, self.complete, self.dtype, memory_limit()), traverse=False)
        starts = np.concatenate([[0], np.cumsum(self.base.chunks[0])[:-1]])
        chunks = self.base.to_delayed().ravel()
        one, many = delayed(_fold_chunk, pure=True), delayed(_merged, pure=True)
        parts = [one(shared, chunk, int(k), bytes_per_row) for chunk, k in zip(chunks, starts, strict=True)]
        while len(parts) > 1:
            parts = [many(shared, parts[i : i + FAN_IN]) for i in range(0, len(parts), FAN_IN)]
        total: Part = computed(parts[0], progress)
        return total

    def map(
        self,
        work: Work[NDArray[Any]],
        below: NDArray[Any],
        *,
        bytes_per_row: int,
        label: str,
        progress: bool | None = False,
        target: Target = None,
        dtype: Any = None,
    ) -> DaskRows:
        """Return the results of `work`, one row for every row, and the rows `below` under them, as a dask array."""
        da = optional("dask.array", extra="dask", purpose="a dask array")
        width, dtype = int(below.shape[1]), below.dtype if dtype is None else dtype
        shared = optional("dask", extra="dask", purpose="a dask array").delayed(
            (work, self.name, self.complete, self.dtype, memory_limit()), traverse=False
        )
        top = self.base.map_blocks(
            _map_chunk,
            shared,
            width,
            dtype,
            bytes_per_row,
            chunks=(self.base.chunks[0], (width,)),
            dtype=dtype,
            meta=np.empty((0, width), dtype),
        )
        return DaskRows(da.concatenate([top, da.from_array(below.astype(dtype), chunks=-1)]), "factor")


def _fold_chunk(shared: Any, chunk: NDArray[Any], start: int, bytes_per_row: int) -> Any:
    work, merge, name, complete, dtype, memory = shared
    rows = checked(np.asarray(chunk), chunk.shape, name, start, complete).astype(dtype, copy=False)
    with working_memory(memory):
        return fold(
            rows, lambda X, k: work(X, start + k), merge, bytes_per_row=bytes_per_row, label="block", progress=False
        )


def _merged(shared: Any, parts: list[Any]) -> Any:
    total = parts[0]
    for part in parts[1:]:
        total = shared[1](total, part)
    return total


def _map_chunk(
    chunk: NDArray[Any], shared: Any, width: int, dtype: Any, bytes_per_row: int, block_info: Any = None
) -> NDArray[Any]:
    work, name, complete, kind, memory = shared
    start = 0 if not block_info else int(block_info[0]["array-location"][0][0])
    rows = checked(np.asarray(chunk), chunk.shape, name, start, complete).astype(kind, copy=False)
    out = np.empty((len(rows), width), dtype)
    with working_memory(memory):
        fill_array(
            out, rows, lambda X, k: work(X, start + k), bytes_per_row=bytes_per_row, label="block", progress=False
        )
    return out
