"""Refusing, before anything is allocated, what would not fit."""

from __future__ import annotations

import os
from pathlib import Path

from simcomplete.errors import MemoryLimitError

# Environment variable that replaces the measured free memory, in bytes: for containers that do not tell.
LIMIT_VARIABLE = "SIMCOMPLETE_MEMORY"


def available_bytes() -> int:
    """Free memory in bytes, or what the environment variable SIMCOMPLETE_MEMORY says.

    Where the system does not tell, a cautious 4 GiB.
    """
    told = os.environ.get(LIMIT_VARIABLE)
    if told:
        return int(float(told))
    free = [
        value for value in (_meminfo(), _control_group()) if value is not None
    ]  # in a container the control group is the tighter of the two
    if free:
        return min(free)
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 2
    except (AttributeError, OSError, ValueError):
        return 4 * 2**30


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


def _meminfo() -> int | None:
    try:
        text = Path("/proc/meminfo").read_text(encoding="ascii")
    except OSError:
        return None
    for line in text.splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) * 1024
    return None


def _control_group() -> int | None:
    root = Path("/sys/fs/cgroup")
    try:
        limit = (root / "memory.max").read_text(encoding="ascii").strip()
        used = int((root / "memory.current").read_text(encoding="ascii"))
    except (OSError, ValueError):
        return None
    return None if limit == "max" else max(0, int(limit) - used)
