"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Give a temporary name beside `path`; move it into place at the end, or remove it on any error.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with replacing(target) as draft:
    ...     _ = draft.write_text("42")
    >>> target.read_text()
    '42'
    """
    room: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        room = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        draft = room / path.name
        yield draft
        if path.is_dir():  # a folder cannot be replaced in one step: step aside, move in, clear away
            path.rename(room / "old")
        try:
            draft.replace(path)
        except BaseException:
            if (room / "old").exists():
                (room / "old").rename(path)
            raise
    except OSError as error:
        error.add_note(f"nothing was written to {path}: is there room and permission?")
        raise
    finally:
        if room is not None:
            shutil.rmtree(room, ignore_errors=True)
