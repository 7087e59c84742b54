"""Files and folders that are written whole or not at all.

Data are written to a temporary folder beside the final place, and moved there in one step. Readers see the old or the
new version, and of two simultaneous writers one is last: see `swap`. A temporary folder is locked while its process
runs; one that a killed process left behind is removed by the next process that writes to the same place.
"""

from __future__ import annotations

import contextlib
import errno
import glob
import importlib
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from simcomplete._rows.budget import readable
from simcomplete._rows.swap import put_in_place, put_new
from simcomplete.errors import DiskFullError, InputError

fcntl: Any = None  # on Windows, where temporary folders of killed processes stay
with contextlib.suppress(ImportError):
    fcntl = importlib.import_module("fcntl")

ASIDE = "old"  # folder within a temporary folder for the old version, until the new one is in place
ATTEMPTS = 100  # tries to make a temporary folder that no other process takes
DRAFT_ENDING = ".simcomplete-draft"
# A full disk, an exhausted quota, and a file that is larger than the system allows (ulimit -f).
NO_ROOM = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)


def as_path(path: Any, name: str = "path") -> Path:
    """Return the place of a file or folder as a path.

    Examples
    --------
    >>> as_path("a/b").name
    'b'
    """
    try:
        found = Path(path)
    except TypeError as error:
        raise InputError(f"{name}={path!r} is not a path; give text, or a pathlib.Path", about=(name,)) from error
    if "\0" in str(found):
        raise InputError(f"{name}={str(path)!r} holds a null character, which no path has; leave it out", about=(name,))
    return found


@contextlib.contextmanager
def replacing(path: Path, *, needed: int | Callable[[], int | None] | None = None, new: bool = False) -> Iterator[Path]:
    """Give a temporary name beside `path`; move it into place at the end, or remove it on any error.

    Parameters
    ----------
    path : Path
        The final place of a file or folder.
    needed : int or callable, optional
        Bytes that will be written; if the disk has less room, nothing is written. A function is called only if writing
        fails.
    new : bool
        Refuse to replace what another process has written there meanwhile.

    Examples
    --------
    >>> import tempfile
    >>> target = Path(tempfile.mkdtemp()) / "answer.txt"
    >>> with replacing(target) as draft:
    ...     _ = draft.write_text("42")
    >>> target.read_text()
    '42'
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        _remove_left_behind(path)
        if isinstance(needed, int):
            check_room(path, needed)
        with _draft_folder(path) as folder:
            draft = folder / path.name
            yield draft
            if new:
                put_new(draft, path)
            else:
                put_in_place(draft, path, folder / ASIDE)
    except DiskFullError:
        raise
    except OSError as error:
        if error.errno in NO_ROOM:
            size = needed() if callable(needed) else needed
            raise no_room(path, size, error.strerror or "the disk is full") from error
        error.add_note(f"nothing was written to {path}: is there room and permission?")
        raise


def being_replaced(path: Path) -> bool:
    """Return whether another process has moved the old version away, and the new one is not there yet."""
    return any((folder / ASIDE).exists() for folder in _drafts(path))


def check_room(path: Path, needed: int) -> None:
    """Raise DiskFullError if fewer bytes are free than are needed."""
    usage = shutil.disk_usage(path.parent)
    if usage.total and needed > usage.free:  # some network file systems report 0 bytes of 0
        raise no_room(path, needed, os.strerror(errno.ENOSPC))


def no_room(path: Path, needed: int | None, reason: str) -> DiskFullError:
    """Return the error for a disk that has no room."""
    free = readable(shutil.disk_usage(path.parent).free) if path.parent.is_dir() else "nothing"
    wanted = "more" if needed is None else readable(needed)
    return DiskFullError(
        f"{path}: {reason}: {wanted} needed and {free} free in {path.parent.absolute()}; nothing was written, and what "
        "was there is as it was: make room, raise the limit on the size of files (ulimit -f), or write elsewhere"
    )


@contextlib.contextmanager
def _draft_folder(path: Path) -> Iterator[Path]:
    """Make a temporary folder beside a path, locked while it is in use and removed afterwards."""
    for _ in range(ATTEMPTS):
        folder = Path(tempfile.mkdtemp(prefix=f".{path.name}.", suffix=DRAFT_ENDING, dir=path.parent))
        lock = _locked(folder)
        # Before the folder is locked, another process may have taken it for one left behind: then that process has
        # the lock, or has removed the folder. If locks do not work here, the last folder is used without one.
        if folder.is_dir() and (lock is not None or fcntl is None):
            break
        _unlock(lock)
        lock = None
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        _unlock(lock)


def _remove_left_behind(path: Path) -> None:
    """Remove temporary folders for this path whose process is gone, which is so if they are not locked."""
    for folder in _drafts(path):
        lock = None if fcntl is None or folder.is_symlink() else _locked(folder)
        if lock is not None:
            shutil.rmtree(folder, ignore_errors=True)
            _unlock(lock)


def _drafts(path: Path) -> Iterator[Path]:
    return path.parent.glob(f".{glob.escape(path.name)}.*{DRAFT_ENDING}")


def _locked(folder: Path) -> Any:
    """Lock a folder for this process; return None if another has the lock, or if there are no locks."""
    if fcntl is None:
        return None
    try:
        lock = os.open(folder, os.O_RDONLY)
    except OSError:  # the folder was removed meanwhile
        return None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        return None
    return lock


def _unlock(lock: Any) -> None:
    if lock is not None:
        os.close(lock)
