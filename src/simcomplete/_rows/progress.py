"""One progress line for a whole call, with one estimate of the remaining time.

It shows on a terminal and in a notebook, appears after two seconds, and goes away when the work is done.
`progress=False` silences it, `progress=True` shows it anywhere.

The outermost call opens the bar with `one_bar`. Each loop inside it, run by `track`, has a part of the bar: with
`share` the given share of what is left, within `expect` equal parts, else half of what is left. A loop inside a loop
has a part of one round of the outer loop. So there is one bar, and it never goes back.
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
UNKNOWN = 20  # rounds after which a loop of unknown length has filled half of its part

Item = TypeVar("Item")
Clock = Callable[[], float]


class Span(NamedTuple):
    """The part of the bar that is still to be given to loops, and to how many; None if unknown."""

    low: float
    high: float
    loops: int | None = None


class Bar:
    """The bar of a call: its position, and the parts left for the next loops."""

    def __init__(self, show: Callable[[str], object], patience: float, clock: Clock) -> None:
        self.span, self.share = Span(0.0, 1.0), 0.0
        self._show, self._patience, self._clock = show, patience, clock
        self._began = self._last = clock()
        self._drawn = False

    def reach(self, share: float, label: str) -> None:
        """Move the bar to at least this share; redraw the line if it is due."""
        self.share = max(self.share, min(share, 1.0))
        now = self._clock()
        if now - self._began >= self._patience and (not self._drawn or now - self._last >= REDRAW):
            self._show(line(label, self.share, now - self._began))
            self._drawn, self._last = True, now

    def close(self) -> None:
        """Remove the line."""
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
    """Open the bar of a call; within another call, do nothing.

    Parameters
    ----------
    progress : bool, optional
        None shows the bar on a terminal and in a notebook, True always, False never.
    stream : file, optional
        Where to write; standard error, or the notebook, unless given.
    patience : float
        Seconds before the line appears.
    clock : callable
        Returns the time in seconds.
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
    """Give each of about `loops` loops an equal part of the rest of the bar; without a bar, do nothing."""
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
    """Take a part of the open bar; return a function that sets the position within the part, now and next."""
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
        # If there are more loops than expected, the last ones share the rest, so that the bar is never full too early.
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
    """Iterate over `items` and show progress.

    Parameters
    ----------
    items : iterable
        The items.
    label : str
        What is being done, for the progress line.
    progress : bool, optional
        None shows the line on a terminal and in a notebook, True always, False never.
    total : int, optional
        Number of items, if `items` has no length.
    weights : sequence of float, optional
        How long each item takes, in any unit; the same unless given.
    share : float, optional
        This loop's share of the rest of the call's bar.
    stream, patience, clock : optional
        As in `one_bar`, for a loop without an open bar.

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
    """Return the share of a loop that is done; without a known length it approaches 1."""
    if weights is not None and sum(weights) > 0:
        return min(sum(weights[:count]) / sum(weights), 1.0)
    return min(count / total, 1.0) if total else count / (count + UNKNOWN)


def shown(progress: bool | None, stream: TextIO | None = None) -> bool:
    """Return whether to show progress: as asked, or by default on a terminal or in a notebook."""
    if progress is not None:
        return progress
    return (sys.stderr if stream is None else stream).isatty() or (stream is None and notebook())


def notebook() -> bool:
    """Return whether this runs in a Jupyter kernel, without importing anything."""
    shell = getattr(sys.modules.get("IPython"), "get_ipython", lambda: None)()
    return "ipykernel" in sys.modules and hasattr(shell, "kernel")


def in_notebook() -> Callable[[str], object]:
    """Return a function that shows lines below the cell, each replacing the one before."""
    handle: Any = import_module("IPython.display").DisplayHandle()
    ways = [handle.display, handle.update]  # shown the first time, updated from then on

    def show(text: str) -> None:
        ways[0]({"text/plain": text}, raw=True)
        del ways[: len(ways) - 1]

    return show


def in_stream(stream: TextIO) -> Callable[[str], object]:
    """Return a function that shows lines in a terminal or plain console, each overwriting the one before."""
    before = 0

    def show(text: str) -> None:
        nonlocal before
        text = text[: shutil.get_terminal_size().columns - 1]  # a wrapped line could not be overwritten
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
