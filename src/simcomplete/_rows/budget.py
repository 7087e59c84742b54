"""Limits on memory and threads: sizes of blocks, refusal of what would not fit, and one thread for small matrices.

The wheels of NumPy and SciPy each bring an OpenBLAS with threads of its own, and idle threads keep waiting actively for
a while: those of one library then take cores from those of the other. Also, a decomposition of a small matrix is faster
with one thread than with several that synchronise thousands of times, and many times faster on a busy machine.
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

SMALL_MATRIX = 2048  # matrices of up to so many rows are decomposed by one thread
BLOCK_BYTES = 64 * 2**20
ACCELERATOR_BYTES = 2**32  # smaller blocks would leave the device idle
UNITS = {"B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "KIB": 2**10, "MIB": 2**20, "GIB": 2**30}
AMOUNT = re.compile(r"\s*([\d.]+(?:e[+-]?\d+)?)\s*([a-z]*)\s*", re.IGNORECASE)

_limit: ContextVar[int | None] = ContextVar("block_bytes", default=None)


def row_blocks(n: int, bytes_per_row: int, budget: int | None = None, *, like: Array = None) -> list[slice]:
    """Cut `n` rows into slices of about `budget` bytes each.

    The default budget is that of `working_memory`, or else that of the device of `like`.

    Examples
    --------
    >>> row_blocks(10, bytes_per_row=8, budget=32)
    [slice(0, 4, None), slice(4, 8, None), slice(8, 10, None)]
    """
    rows = max(1, (budget or block_bytes(like)) // max(1, bytes_per_row))
    return [slice(start, min(start + rows, n)) for start in range(0, n, rows)]


def block_bytes(like: Array = None) -> int:
    """Return the bytes that a block may take: the limit of `working_memory`, or the default for the device of `like`.

    If the environment variable SIMCOMPLETE_MEMORY limits memory, the default is at most an eighth of that.
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
    """Return pairs of slices that cover the upper triangle of an n x n matrix: rows, and the columns from there on."""
    for rows in row_blocks(n, bytes_per_row, budget, like=like):
        yield rows, slice(rows.start, n)


@contextlib.contextmanager
def working_memory(memory: Any) -> Iterator[None]:
    """Limit blocks and their temporaries to about so much memory within this context; None changes nothing.

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
    """Return the limit of `working_memory`, or None, so that workers elsewhere can set the same."""
    return _limit.get()


def parse_bytes(memory: Any, name: str = "memory") -> int:
    """Return a number of bytes, given as a number or as text such as "2 GiB".

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


# Environment variable that replaces the measured free memory, for containers that do not report it: bytes, or "2 GiB".
LIMIT_VARIABLE = "SIMCOMPLETE_MEMORY"
# Smaller requests are not checked, because measuring free memory takes a quarter of a millisecond.
ALWAYS_FREE = 2**20


def available_bytes() -> int:
    """Return the free memory in bytes, or the value of the environment variable SIMCOMPLETE_MEMORY.

    In a container, the limit of its control group counts if it is smaller.
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
        Peak memory of the request, in bytes.
    what : str
        What they are for.
    instead : str
        What to do instead, for the message.

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
    """Return a number of bytes as text.

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
    """Limits BLAS to one thread within a context; contexts may be nested and used from several threads.

    The limit applies to the BLAS of NumPy, SciPy and other libraries loaded before the first call.

    Parameters
    ----------
    only_scipy : bool
        Limit only SciPy's BLAS, if it is not the same as NumPy's.

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
        """Limit the threads, for matrices of up to `SMALL_MATRIX` rows.

        The last context to end restores the number of threads from before the first one: a context that begins while
        another thread has one would otherwise restore the limit itself.
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
