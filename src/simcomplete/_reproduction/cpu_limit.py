"""Limits of processor time: the same on a busy machine as on an idle one, so that rows do not depend on the load."""

from __future__ import annotations

import contextlib
import math
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

# A process is ended by the system when its solve has used this share more than its limit, and these seconds.
SHARE_MORE = 1.25
GRACE_SECONDS = 3.0


@dataclass
class CpuLimit:
    """A callback for iterative methods that stops each of their runs when its share of processor time is used up.

    A tuned method runs once for each setting and once more. Each of these runs has its share, and what the runs before
    it left of theirs: settings take very different times.

    Examples
    --------
    >>> now = iter([0.0, 1.0, 5.0, 5.5, 5.9, 9.0, 9.5])
    >>> limit = CpuLimit(3.0, clock=lambda: next(now))
    >>> limit(1, {}), limit(2, {}), limit.exceeded  # the first run is stopped
    (False, True, True)
    >>> limit(1, {}), limit(2, {})  # the next run begins with iteration 1; 6 seconds are for the two
    (False, False)
    >>> limit(1, {}), limit(2, {})  # 9 for the three
    (False, True)
    """

    seconds: float
    clock: Callable[[], float] = time.process_time
    exceeded: bool = False
    began: float = field(init=False)

    def __post_init__(self) -> None:
        self.began = self.clock()
        self._runs = 0

    def __call__(self, iteration: int, facts: Any) -> bool:
        """Return whether the run is to be stopped."""
        if iteration == 1:
            self._runs += 1
        over = self.clock() - self.began > self.seconds * self._runs
        self.exceeded = self.exceeded or over
        return over


@contextlib.contextmanager
def ended_by_the_system(seconds: float) -> Iterator[None]:
    """Let the system end this process when what is done here takes much more processor time than its limit.

    Methods that cannot be stopped between steps need it; nothing happens where the system has no such limit.
    """
    try:
        import resource
    except ImportError:  # Windows
        yield
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_CPU)
    most = math.ceil(time.process_time() + SHARE_MORE * seconds + GRACE_SECONDS)
    resource.setrlimit(resource.RLIMIT_CPU, (most if hard == resource.RLIM_INFINITY else min(most, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def was_ended_by_the_system(exit_code: int | None) -> bool:
    """Whether a process with this exit code had used up its processor time."""
    return hasattr(signal, "SIGXCPU") and exit_code == -signal.SIGXCPU
