"""Move a finished file or folder to its final place in one step, also if other processes read or write there.

A file replaces another in one step on every system. For folders this needs a system that can exchange two names (Linux
with its usual file systems). Elsewhere the old folder is moved away first, and for a moment there is none.
"""

from __future__ import annotations

import ctypes
import errno
import os
import sys
import time
from pathlib import Path

from simcomplete.errors import InputError

EXCHANGE = 2  # RENAME_EXCHANGE of Linux
CURRENT_FOLDER = -100  # AT_FDCWD
ATTEMPTS = 100
TAKEN = (errno.ENOTEMPTY, errno.EEXIST, errno.ENOTDIR, errno.EISDIR)


def put_in_place(draft: Path, path: Path, aside: Path) -> None:
    """Move a draft to `path`; a folder that was there is afterwards at `draft` or `aside`.

    Another writer may interfere between any two steps, so they are repeated until they succeed. A file never takes the
    place of a folder: whoever gave the name of a folder by mistake would lose what is in it.

    Examples
    --------
    >>> import tempfile
    >>> room = Path(tempfile.mkdtemp())
    >>> for name in ("old", "new"):
    ...     (room / name).mkdir()
    ...     _ = (room / name / "which").write_text(name)
    >>> put_in_place(room / "new", room / "old", room / "aside")
    >>> (room / "old" / "which").read_text()
    'new'
    """
    if path.is_dir() and not draft.is_dir():
        raise InputError(f"{path} is a folder, and a file is to be written there; give another name")
    for _ in range(ATTEMPTS):
        folder = os.path.lexists(path) and (draft.is_dir() or path.is_dir())
        if folder and exchange(draft, path):
            return
        if not folder or _move_aside(path, aside):
            try:
                draft.replace(path)
                return
            except BaseException as error:
                if aside.exists() and not os.path.lexists(path):
                    aside.rename(path)
                if getattr(error, "errno", None) not in TAKEN:
                    raise
        time.sleep(0.001)
    raise InputError(f"{path} is being written by other processes again and again; choose another name")


def put_new(draft: Path, path: Path) -> None:
    """Move a draft to `path`, where nothing may exist; raise InputError if another process was faster."""
    try:
        if draft.is_dir():
            draft.rename(path)  # fails if there is a file, or a folder that is not empty
        else:
            path.hardlink_to(draft)  # fails if there is anything
    except OSError as error:
        if error.errno not in TAKEN:
            raise
        raise InputError(f"{path} exists already: another process has just written it; choose another name") from error


def exchange(one: Path, other: Path) -> bool:
    """Exchange two paths in one step; return False if the system cannot, or if one of them is gone."""
    if not sys.platform.startswith("linux"):
        return False
    rename = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
    if rename is None:
        return False
    return bool(rename(CURRENT_FOLDER, os.fsencode(one), CURRENT_FOLDER, os.fsencode(other), EXCHANGE) == 0)


def _move_aside(path: Path, aside: Path) -> bool:
    """Move an old folder away; return False if it is gone, or was moved by another writer."""
    try:
        path.rename(aside)
    except OSError as error:
        if error.errno not in (*TAKEN, errno.ENOENT):
            raise
        return False
    return True
