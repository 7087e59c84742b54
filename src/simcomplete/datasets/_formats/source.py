"""Bytes of a file, compressed or not, that never grow beyond reason.

What the bytes begin with tells the compression, not the name. A file that ends early is told by how many bytes
were expected and found; one that unpacks to hundreds of times its size is refused while it is still small.
"""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import IO, Any

from simcomplete._rows.budget import readable
from simcomplete.errors import FileFormatError

PACKED = (".gz", ".bz2", ".xz")
MAGIC: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
# Real data files shrink 2 to 50 times. Beyond both bounds a file is one made to fill the memory.
MOST_GROWTH = 250
GROWTH_FREE = 256 * 2**20
LONGEST_LINE = 64 * 2**20
CHUNK = 2**20


class Source:
    """A file to read from the front to the back.

    Parameters
    ----------
    path : Path
        A plain file, or one packed with gzip, bzip2 or xz.

    Attributes
    ----------
    size : int
        Bytes of the file as it lies on the disk.
    packed : bool
        Whether it is compressed.
    found : int
        Bytes read so far, unpacked.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.found = 0
        self._open = ExitStack()
        raw = self._open.enter_context(path.open("rb"))
        start = raw.read(6)
        raw.seek(0)
        unpack = next((unpack for magic, unpack in MAGIC.items() if start.startswith(magic)), None)
        self.packed = unpack is not None
        self._file: IO[bytes] = raw if unpack is None else self._open.enter_context(unpack(raw))

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def most(self) -> int:
        """How many bytes the file can hold at the most once it is unpacked."""
        return max(GROWTH_FREE, MOST_GROWTH * self.size) if self.packed else self.size

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end."""
        pieces = []
        while size > 0:
            piece = self._take(self._file.read, min(size, CHUNK))
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def exactly(self, size: int, what: str) -> bytes:
        """Read `size` bytes, or say how many were expected and found."""
        start = self.found
        self.holds(start + size, what)
        data = self.read(size)
        if len(data) < size:
            raise self.truncated(start + size, self.found, what)
        return data

    def holds(self, size: int, what: str) -> None:
        """Refuse, before it is read, what promises more than a file of this size can hold."""
        if size > self.most:
            raise self.truncated(size, None if self.packed else self.size, what)

    def ends(self, what: str) -> None:
        """Refuse bytes behind what should be the last."""
        expected = self.found
        if self.read(1):
            raise FileFormatError(
                f"{self.path}: goes on after the {expected} bytes that {what} take; it is damaged, or not what it seems"
            )

    def lines(self) -> Iterator[bytes]:
        """Go through the lines, each with its end."""
        while line := self._take(self._file.readline, LONGEST_LINE):
            if len(line) == LONGEST_LINE:
                raise FileFormatError(f"{self.path}: a line is longer than {readable(LONGEST_LINE)}; is it text?")
            yield line

    def truncated(self, expected: int, found: int | None, what: str) -> FileFormatError:
        """Make the error of a file that is too short for what it promises."""
        there = f"only {found} bytes are there" if found is not None else f"{self.size} packed bytes cannot hold that"
        return FileFormatError(
            f"{self.path}: is truncated or its header is wrong: {what} need {expected} bytes and {there}; "
            "fetch it again"
        )

    def _take(self, read: Callable[[int], bytes], size: int) -> bytes:
        """Read, count, and put whatever the unpacking finds wrong into words."""
        try:
            data = read(size)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise FileFormatError(
                f"{self.path}: is truncated or damaged after {self.found} unpacked bytes ({error}); fetch it again"
            ) from error
        self.found += len(data)
        if self.packed and self.found > self.most:
            raise FileFormatError(
                f"{self.path}: {readable(self.size)} unpack to more than {readable(self.most)}, which no table of "
                "numbers does; unpack it yourself if you trust it"
            )
        return data
