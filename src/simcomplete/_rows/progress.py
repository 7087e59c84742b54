"""One line of progress for anything that takes more than two seconds.

It shows on a terminal only, appears after two seconds, and goes away when the work is done. `progress=False`
silences it, `progress=True` shows it even where there is no terminal.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator, Sized
from typing import TextIO, TypeVar

PATIENCE = 2.0  # seconds of silence before the first line
REDRAW = 0.1  # seconds between two lines
WIDTH = 24

Item = TypeVar("Item")


def track(
    items: Iterable[Item],
    label: str,
    progress: bool | None = None,
    *,
    total: int | None = None,
    stream: TextIO | None = None,
    patience: float = PATIENCE,
) -> Iterator[Item]:
    """Go through `items` and show how far one is.

    Parameters
    ----------
    items : iterable
        What to go through.
    label : str
        What is being done, for the line.
    progress : bool, optional
        None shows the line on a terminal only, True always, False never.
    total : int, optional
        How many items there are, where `items` does not tell.
    stream : file, optional
        Where to write; standard error unless told.
    patience : float
        Seconds before the first line appears.

    Yields
    ------
    item
        The items, unchanged.

    Examples
    --------
    >>> sum(track([1, 2, 3], "adding"))
    6
    """
    out = sys.stderr if stream is None else stream
    show = shown(progress, out)
    if total is None and isinstance(items, Sized):
        total = len(items)
    start = last = time.monotonic()
    drawn = False
    try:
        for count, item in enumerate(items, start=1):
            yield item
            now = time.monotonic()
            if show and now - start >= patience and (not drawn or now - last >= REDRAW):
                out.write("\r" + line(label, count, total, now - start) + "\x1b[K")
                out.flush()
                drawn, last = True, now
    finally:
        if drawn:
            out.write("\r\x1b[K")
            out.flush()


def shown(progress: bool | None, stream: TextIO | None = None) -> bool:
    """Whether progress is to be shown: as told, or where there is a terminal."""
    return progress if progress is not None else (sys.stderr if stream is None else stream).isatty()


def line(label: str, count: int, total: int | None, elapsed: float) -> str:
    """Compose the text of one progress line.

    Examples
    --------
    >>> line("reading", 5, 10, 3.0)
    'reading ############············  50%  3 s left'
    """
    if not total:
        return f"{label} {count}  {elapsed:.0f} s"
    share = min(count / total, 1.0)
    full = round(share * WIDTH)
    left = elapsed * (1 / share - 1) if share else 0.0
    return f"{label} {'#' * full}{'·' * (WIDTH - full)} {share:4.0%}  {left:.0f} s left"
