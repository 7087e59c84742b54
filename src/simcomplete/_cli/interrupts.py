"""Ctrl-C before a command has begun: it waits until the arguments are read.

While typer and its dependencies are imported and read the arguments, an interruption can be swallowed by compiled code
of theirs, and the command would run on. So it is noted, and raised when the command begins. Nothing here needs typer.
"""

from __future__ import annotations

import signal
import threading
from types import FrameType


class _Held:
    """Whether interruptions are held back, and whether there was one."""

    active = False
    pending = False


def hold() -> None:
    """Hold interruptions back until `release`; only where Python would raise KeyboardInterrupt."""
    usual = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    if usual and threading.current_thread() is threading.main_thread():
        _Held.active, _Held.pending = True, False
        signal.signal(signal.SIGINT, _note)


def release() -> None:
    """Let interruptions through again; one that was held back is raised."""
    if _Held.active:
        _Held.active = False
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if _Held.pending:
            raise KeyboardInterrupt


def _note(number: int, frame: FrameType | None) -> None:
    _Held.pending = True
