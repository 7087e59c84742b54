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
    folder: Path | None = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", dir=path.parent))
        draft = folder / path.name
        yield draft
        if path.is_dir():  # a folder cannot be replaced in one step: the old one is moved away first
            path.rename(folder / "old")
        try:
            draft.replace(path)
        except BaseException:
            if (folder / "old").exists():
                (folder / "old").rename(path)
            raise
    except OSError as error:
        error.add_note(f"nothing was written to {path}: is there room and permission?")
        raise
    finally:
        if folder is not None:
            shutil.rmtree(folder, ignore_errors=True)
