"""Memory and threads: how many rows a block may have, what would not fit, and where one thread is enough.

The wheels of NumPy and SciPy each bring an OpenBLAS with threads of its own, and threads that have nothing to do go on
looking for work for a while: those of one library then take cores from those of the other. A decomposition of a small
matrix, too, is quicker by one thread than by several that meet a thousand times, and on a busy machine many times so.
"""

from __future__ import annotations

import contextlib
import functools
import os
import re
import threading
from collections.abc import Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any

import psutil
import scipy.linalg  # noqa: F401  # a BLAS has to be loaded before its threads can be counted
from threadpoolctl import ThreadpoolController

from simcomplete._rows.xp import Array, on_accelerator
from simcomplete.errors import InputError, MemoryLimitError

SMALL_MATRIX = 2048  # rows up to which a decomposition is not shared between threads
BLOCK_BYTES = 64 * 2**20
ACCELERATOR_BYTES = 2**32  # small blocks would keep it waiting
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
AMOUNT = re.compile(r"\s*([\d.]+(?:e[+-]?\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)

_limit: ContextVar[int | None] = ContextVar("block_bytes", default=None)


def row_blocks(n: int, bytes_per_row: int, budget: int | None = None, *, like: Array = None) -> list[slice]:
    """Cut `n` rows into slices of about `budget` bytes each.

    Without a budget it is what `working_memory` set, or the default for the device of `like`.

    Examples
    --------
    >>> row_blocks(10, bytes_per_row=8, budget=32)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    rows = max(1, (budget or block_bytes(like)) // max(1, bytes_per_row))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def block_bytes(like: Array = None) -> int:
    """What a block may take: what `working_memory` set, or the default for the device of `like`.

    Where the environment variable SIMCOMPLETE_MEMORY limits memory, the default is at most an eighth of that.
    """
    set_here = _limit.get()
    if set_here:
        return set_here
    if like is not None and on_accelerator(like):
        return ACCELERATOR_BYTES
    return min(BLOCK_BYTES, max(1, available_bytes() // 8)) if os.environ.get(LIMIT_VARIABLE) else BLOCK_BYTES


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
    token = _limit.set(parse_bytes(memory))
    try:
        yield
    finally:
        _limit.reset(token)


def memory_limit() -> int | None:
    """The limit that `working_memory` set, or None; to be set again where the work is done."""
    return _limit.get()


def parse_bytes(memory: Any, name: str = "memory") -> int:
    """Read a number of bytes, or words such as "2 GiB".

    Examples
    --------
    >>> parse_bytes("1.5 GiB"), parse_bytes(4096)
    (1610612736, 4096)
    """
    number, unit = memory, "B"
    if isinstance(memory, str) and (words := AMOUNT.fullmatch(memory)):
        number, unit = words[1], words[2].upper() or "B"
    try:
        size = int(float(number) * UNITS[unit])
    except (KeyError, TypeError, ValueError, OverflowError):
        size = 0
    if isinstance(memory, bool) or size < 1:
        raise InputError(
            f"{name}={memory!r} is not an amount of memory; give bytes, or words such as '2 GiB'", about=(name,)
        )
    return size


# Environment variable that replaces the measured free memory, for containers that do not tell: bytes, or "2 GiB".
LIMIT_VARIABLE = "SIMCOMPLETE_MEMORY"
# Requests so small are not worth the time that measuring free memory takes, a quarter of a millisecond.
ALWAYS_FREE = 2**20


def available_bytes() -> int:
    """Free memory in bytes, or what the environment variable SIMCOMPLETE_MEMORY says.

    In a container the limit of its control group is the tighter of two.
    """
    limit = os.environ.get(LIMIT_VARIABLE)
    if limit:
        return parse_bytes(limit, LIMIT_VARIABLE)
    free = int(psutil.virtual_memory().available)
    group = _control_group()
    return free if group is None else min(free, group)


def require(needed: int, what: str, instead: str) -> None:
    """Raise MemoryLimitError when `needed` bytes are not free.

    Parameters
    ----------
    needed : int
        Bytes the request will take at its peak.
    what : str
        What they are for.
    instead : str
        The way round, for the message.

    Examples
    --------
    >>> require(10**3, "a small table", "nothing")
    """
    if needed <= ALWAYS_FREE and not os.environ.get(LIMIT_VARIABLE):
        return
    free = available_bytes()
    if needed > free:
        raise MemoryLimitError(
            f"{what} needs {readable(needed)} and {readable(free)} are free; {instead} "
            f"(set {LIMIT_VARIABLE} to a number of bytes if more may be used)"
        )


def readable(size: int) -> str:
    """Bytes in words.

    Examples
    --------
    >>> readable(3 * 2**30)
    '3.0 GiB'
    """
    value = float(size)
    for unit in ("B", "KiB", "MiB"):
        if value < 1024:
            return f"{value:.0f} {unit}" if unit == "B" else f"{value:.1f} {unit}"
        value /= 1024
    return f"{value:.1f} GiB" if value < 1024 else f"{value / 1024:.1f} TiB"


def _control_group() -> int | None:
    root = Path("/sys/fs/cgroup")
    try:
        limit = (root / "memory.max").read_text(encoding="ascii").strip()
        used = int((root / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)


class OneThread:
    """Gives BLAS one thread for as long as a call lasts; calls may be nested and come from several threads.

    The BLAS of NumPy and SciPy, and of other libraries that were loaded before the first call.

    Parameters
    ----------
    only_scipy : bool
        Only the BLAS that SciPy does not share with NumPy; nothing where they have the same.

    Examples
    --------
    >>> with OneThread()(size=100):
    ...     float(scipy.linalg.norm([3.0, 4.0]))
    5.0
    """

    def __init__(self, *, only_scipy: bool = False) -> None:
        self.only_scipy = only_scipy
        self._lock, self._inside = threading.Lock(), 0
        self._before: list[int] = []

    @functools.cached_property
    def _blas(self) -> ThreadpoolController | None:
        found = ThreadpoolController().select(user_api="blas")
        names = [pool["filepath"] for pool in found.info() if not self.only_scipy or "scipy.libs" in pool["filepath"]]
        return found.select(filepath=names) if names else None

    @contextlib.contextmanager
    def __call__(self, size: int = 0) -> Iterator[None]:
        """Hold the limit, for matrices of up to `SMALL_MATRIX` rows.

        Whoever leaves restores what was there before the first came, not what was there when it came itself: where
        calls overlap in several threads, that may have been the limit.
        """
        blas = self._blas if size <= SMALL_MATRIX else None
        if blas is None:
            yield
            return
        with self._lock:
            if self._inside == 0:
                self._before = [library.num_threads for library in blas.lib_controllers]
            self._inside += 1
            self._set(blas, [1] * len(self._before))
        try:
            yield
        finally:
            with self._lock:
                self._inside -= 1
                self._set(blas, self._before)

    @staticmethod
    def _set(blas: ThreadpoolController, numbers: list[int]) -> None:
        for library, number in zip(blas.lib_controllers, numbers, strict=True):
            library.set_num_threads(number)


blas_on_one_thread = OneThread()
scipy_on_one_thread = OneThread(only_scipy=True)
