"""Standard output and standard error: usable from the start, and checked at the end.

Python writes what is left of standard output when the process exits, after every `except` clause. A full disk or a
closed pipe would then end in "Exception ignored" and exit code 120, so the command line flushes the streams itself.
"""

from __future__ import annotations

import io
import os
import sys
from contextlib import suppress
from typing import TextIO


def prepare() -> None:
    """Replace closed streams, and let standard output write characters that its encoding does not have.

    A process that was started with a stream closed (`>&-`) has None in its place. A terminal that is not in UTF-8 gets
    the escape sequence of a character that it cannot show, as Python does for standard error, instead of an error.
    """
    if sys.stdout is None:
        sys.stdout = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115 - open until the process ends
    if sys.stderr is None:
        sys.stderr = open(os.devnull, "w", encoding="utf-8")  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")


def finish(stream: TextIO) -> None:
    """Write what is left of a stream; raise OSError where that fails, and let nothing fail after it.

    Examples
    --------
    >>> finish(io.StringIO())
    """
    try:
        stream.flush()
        # Some file systems report a full disk only when a file is closed. Closing a copy of the descriptor asks them,
        # and leaves the stream open for a program that runs the command line inside itself.
        with suppress(io.UnsupportedOperation):
            os.close(os.dup(stream.fileno()))
    except OSError:
        discard(stream)
        raise


def discard(stream: TextIO) -> None:
    """Send what is left of a stream to nowhere, so that Python can write it when the process exits."""
    with suppress(OSError):  # io.UnsupportedOperation, too: a stream without a descriptor fails nowhere else
        nowhere = os.open(os.devnull, os.O_WRONLY)
        try:
            os.dup2(nowhere, stream.fileno())
        finally:
            os.close(nowhere)
