"""Memory maps whose file is checked before they are read.

Reading a memory map beyond the end of a file that was truncated kills the process. So the size of the file is compared
with that of the map whenever rows are read: before every pass, and before every block.
"""

from __future__ import annotations

import mmap
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from simcomplete._rows.xp import memory_map_under
from simcomplete.errors import FileFormatError


@dataclass(frozen=True)
class MappedFile:
    """The file under a memory map, and how many bytes of it the map needs."""

    path: Path
    needed: int

    def check(self) -> None:
        """Raise FileFormatError if the file was truncated."""
        try:
            size = self.path.stat().st_size
        except FileNotFoundError:  # the file was removed: the map keeps its contents
            return
        if size < self.needed:
            raise FileFormatError(
                f"{self.path} has {size} bytes and its memory map needs {self.needed}: it was cut short while it is in "
                "use; write it again and open it again, or give its path instead of a map"
            )


def mapped_file(array: Any) -> MappedFile | None:
    """Return the file that an array, or its base array, is a map of; None for other arrays.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.npy"
    >>> np.save(path, np.ones((100, 2)))
    >>> part = np.asarray(np.load(path, mmap_mode="r")[10:20])
    >>> mapped_file(part).needed  # a header of 128 bytes, and 20 rows of 16
    448
    >>> mapped_file(np.ones(3)) is None
    True
    """
    root = memory_map_under(array)
    under: Any = None if root is None else root.base
    if root is None or not isinstance(under, mmap.mmap) or root.filename is None:
        return None
    first, last = np.lib.array_utils.byte_bounds(root)[0], np.lib.array_utils.byte_bounds(array)[1]
    return MappedFile(Path(root.filename), int(root.offset) + int(last - first))
