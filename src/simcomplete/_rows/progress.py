"""One line of progress for a whole call, with one estimate of what is left.

It shows on a terminal and in a notebook, appears after two seconds, and goes away when the work is done.
`progress=False` silences it, `progress=True` shows it anywhere.

The outermost call opens the bar with `one_bar`. Loops inside it, which `track` goes through, have a part of it each:
with `share` as much of what is left as they say, within `expect` as much as each other, else half of what is left. A
loop inside a loop has a part of what one round of the outer one has. So the bar is one, and never goes back.
"""

from __future__ import annotations

import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence, Sized
from contextlib import contextmanager
from contextvars import ContextVar
from importlib import import_module
from typing import Any, NamedTuple, TextIO, TypeVar

PATIENCE = 2.0  # seconds of silence before the first line
REDRAW = 0.1  # seconds between two lines
WIDTH = 24
UNKNOWN = 20  # rounds after which a loop without a known end has half of its part

Item = TypeVar("Item")
Clock = Callable[[], float]


class Span(NamedTuple):
    """What of the bar is still to be given to loops, and to how many of them; None where nobody knows."""

    low: float
    high: float
    loops: int | None = None


class Bar:
    """The bar of a call: how far it is, and where the loops that come next are in it."""

    def __init__(self, show: Callable[[str], object], patience: float, clock: Clock) -> None:
        self.span, self.share = Span(0.0, 1.0), 0.0
        self._show, self._patience, self._clock = show, patience, clock
        self._began = self._last = clock()
        self._drawn = False

    def reach(self, share: float, label: str) -> None:
        """Be at least so far; draw the line where it is time to."""
        self.share = max(self.share, min(share, 1.0))
        now = self._clock()
        if now - self._began >= self._patience and (not self._drawn or now - self._last >= REDRAW):
            self._show(line(label, self.share, now - self._began))
            self._drawn, self._last = True, now

    def close(self) -> None:
        """Take the line away."""
        if self._drawn:
            self._show("")


BAR: ContextVar[Bar | None] = ContextVar("simcomplete_bar", default=None)


@contextmanager
def one_bar(
    progress: bool | None = None,
    *,
    stream: TextIO | None = None,
    patience: float = PATIENCE,
    clock: Clock | None = None,
) -> Iterator[None]:
    """Open the bar of a call; inside another call's, there is nothing to open.

    Parameters
    ----------
    progress : bool, optional
        None shows the bar on a terminal and in a notebook, True always, False never.
    stream : file, optional
        Where to write; standard error, or the notebook, unless given.
    patience : float
        Seconds before the line appears.
    clock : callable
        Tells the time in seconds.
    """
    before = BAR.get()
    if before is not None or not shown(progress, stream):
        yield
        return
    show = in_notebook() if stream is None and notebook() else in_stream(stream or sys.stderr)
    bar = Bar(show, patience, clock or time.monotonic)
    BAR.set(bar)
    try:
        yield
    finally:
        BAR.set(before)
        bar.close()


@contextmanager
def expect(loops: int) -> Iterator[None]:
    """Give each of about so many loops the same part of what is left of the bar; without a bar, do nothing."""
    bar = BAR.get()
    if bar is None:
        yield
        return
    low, high, _ = bar.span
    bar.span = Span(low, high, max(loops, 1))
    try:
        yield
    finally:
        bar.span = Span(min(bar.span.low, high), high)


@contextmanager
def part_of_bar(label: str, share: float | None = None) -> Iterator[Callable[[float, float], None]]:
    """Take a part of the open bar; gives what to call with where one is within it, from 0 to 1, and where next."""
    bar = BAR.get()
    if bar is None:
        yield lambda now, then: None
        return
    low, high, loops = bar.span
    part = (0.5 if loops is None else 1 / loops) if share is None else share
    end = low + part * (high - low)

    def tell(now: float, then: float) -> None:
        bar.span = Span(low + now * (end - low), low + then * (end - low))
        bar.reach(bar.span.low, label)

    try:
        yield tell
    finally:
        # Should more loops come than were expected, the last ones share what is left: no bar stands at its end.
        bar.span = Span(end, high, None if loops is None else max(loops - 1, 2))
        bar.reach(end, label)


def track(
    items: Iterable[Item],
    label: str,
    progress: bool | None = None,
    *,
    total: int | None = None,
    weights: Sequence[float] | None = None,
    share: float | None = None,
    stream: TextIO | None = None,
    patience: float = PATIENCE,
    clock: Clock | None = None,
) -> Iterator[Item]:
    """Go through `items` and show how far one is.

    Parameters
    ----------
    items : iterable
        What to go through.
    label : str
        What is being done, for the line.
    progress : bool, optional
        None shows the line on a terminal and in a notebook, True always, False never.
    total : int, optional
        How many items there are, where `items` does not tell.
    weights : sequence of float, optional
        How long each item takes, in any unit; the same unless given.
    share : float, optional
        How much of what is left of the bar of the call is this loop's.
    stream, patience, clock : optional
        As in `one_bar`, for a loop that is not inside another's.

    Yields
    ------
    item
        The items, unchanged.

    Examples
    --------
    >>> sum(track([1, 2, 3], "adding"))
    6
    """
    if progress is False or (BAR.get() is None and not shown(progress, stream)):
        yield from items
        return
    if total is None and isinstance(items, Sized):
        total = len(items)
    alone = 1.0 if BAR.get() is None else share
    with one_bar(progress, stream=stream, patience=patience, clock=clock), part_of_bar(label, alone) as tell:
        for count, item in enumerate(items):
            tell(_done(count, total, weights), _done(count + 1, total, weights))
            yield item


def _done(count: int, total: int | None, weights: Sequence[float] | None) -> float:
    """How much of a loop is done after so many rounds; one without a known end comes ever nearer to it."""
    if weights is not None and sum(weights) > 0:
        return min(sum(weights[:count]) / sum(weights), 1.0)
    return min(count / total, 1.0) if total else count / (count + UNKNOWN)


def shown(progress: bool | None, stream: TextIO | None = None) -> bool:
    """Whether progress is to be shown: as asked, or where there is a terminal or a notebook."""
    if progress is not None:
        return progress
    return (sys.stderr if stream is None else stream).isatty() or (stream is None and notebook())


def notebook() -> bool:
    """Whether this runs in a Jupyter kernel; imports nothing."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "ipykernel" in sys.modules and hasattr(shell, "kernel")


def in_notebook() -> Callable[[str], object]:
    """Show lines in one place below the cell, each instead of the one before."""
    handle: Any = import_module("IPython.display").DisplayHandle()
    ways = [handle.display, handle.update]  # the first time, and from then on

    def show(text: str) -> None:
        ways[0]({"text/plain": text}, raw=True)
        del ways[: len(ways) - 1]

    return show


def in_stream(stream: TextIO) -> Callable[[str], object]:
    """Show lines on a terminal or in a plain console, each over the one before: no console needs to know more."""
    before = 0

    def show(text: str) -> None:
        nonlocal before
        text = text[: shutil.get_terminal_size().columns - 1]  # one that is wrapped could not be written over
        stream.write("\r" + text.ljust(before) + ("" if text else "\r"))
        stream.flush()
        before = len(text)

    return show


def line(label: str, share: float, elapsed: float) -> str:
    """Compose the text of one progress line.

    Examples
    --------
    >>> line("reading", 0.5, 3.0)
    'reading ############............  50%  3 s left'
    >>> line("reading", 0.25, 100.0)
    'reading ######..................  25%  5 min left'
    """
    full = round(share * WIDTH)
    left = elapsed * (1 / share - 1) if share else 0.0
    remaining = f"{left:.0f} s left" if left < 120 else f"{left / 60:.0f} min left"
    return f"{label} {'#' * full}{'.' * (WIDTH - full)} {share:4.0%}  {remaining if share else f'{elapsed:.0f} s'}"
