"""Bytes of a file, compressed or not, with a limit on how much a compressed file may expand.

The first bytes determine the compression, not the name. The error for a file that ends early has the number of bytes
expected and found; a file that expands to hundreds of times its size is refused before it fills the memory.
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

COMPRESSED_ENDINGS = (".gz", ".bz2", ".xz")
MAGIC: dict[bytes, Callable[[IO[bytes]], Any]] = {
    b"\x1f\x8b": lambda raw: gzip.GzipFile(fileobj=raw),
    b"BZh": bz2.BZ2File,
    b"\xfd7zXZ\x00": lzma.LZMAFile,
}
# Real data files expand 2 to 50 times. A file that exceeds both limits was made to fill the memory.
MAX_EXPANSION = 250
ALWAYS_ALLOWED_BYTES = 256 * 2**20
MAX_LINE_BYTES = 64 * 2**20
CHUNK_BYTES = 2**20


class Source:
    """A file to read from start to end.

    Parameters
    ----------
    path : Path
        A plain file, or one compressed with gzip, bzip2 or xz.

    Attributes
    ----------
    size : int
        Bytes of the file on the disk.
    compressed : bool
        Whether it is compressed.
    n_read : int
        Bytes read so far, after decompression.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.size = path.stat().st_size
        self.n_read = 0
        self._open = ExitStack()
        raw = self._open.enter_context(path.open("rb"))
        start = raw.read(6)
        raw.seek(0)
        opener = next((opener for magic, opener in MAGIC.items() if start.startswith(magic)), None)
        self.compressed = opener is not None
        self._file: IO[bytes] = raw if opener is None else self._open.enter_context(opener(raw))

    def __enter__(self) -> Source:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._open.close()

    @property
    def max_bytes(self) -> int:
        """The most bytes that the file may have after decompression."""
        return max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * self.size) if self.compressed else self.size

    def read(self, size: int) -> bytes:
        """Read up to `size` bytes; fewer only at the end."""
        pieces = []
        while size > 0:
            piece = self._read(self._file.read, min(size, CHUNK_BYTES))
            if not piece:
                break
            pieces.append(piece)
            size -= len(piece)
        return b"".join(pieces)

    def read_exactly(self, size: int, what: str) -> bytes:
        """Read `size` bytes, or raise where the file has fewer."""
        start = self.n_read
        self.check_size(start + size, what)
        data = self.read(size)
        if len(data) < size:
            raise self.truncated(start + size, self.n_read, what)
        return data

    def check_size(self, size: int, what: str) -> None:
        """Raise where a header claims more bytes than the file can have, before they are read."""
        if size > self.max_bytes:
            raise self.truncated(size, None if self.compressed else self.size, what)

    def check_end(self, what: str) -> None:
        """Raise where the file has bytes after what should be the last."""
        expected = self.n_read
        if self.read(1):
            raise FileFormatError(
                f"{self.path}: goes on after the {expected} bytes that {what} take; it is damaged, or not what it seems"
            )

    def lines(self) -> Iterator[bytes]:
        """Yield the lines, each with its line end."""
        while line := self._read(self._file.readline, MAX_LINE_BYTES):
            if len(line) == MAX_LINE_BYTES:
                raise FileFormatError(f"{self.path}: a line is longer than {readable(MAX_LINE_BYTES)}; is it text?")
            yield line

    def truncated(self, expected: int, n_read: int | None, what: str) -> FileFormatError:
        """Return the error for a file that is shorter than its header claims."""
        there = f"only {n_read} bytes are there" if n_read is not None else f"{self.size} packed bytes cannot hold that"
        return FileFormatError(
            f"{self.path}: is truncated or its header is wrong: {what} need {expected} bytes and {there}; "
            "fetch it again"
        )

    def _read(self, read: Callable[[int], bytes], size: int) -> bytes:
        """Read and count bytes, with errors of decompression as FileFormatError."""
        try:
            data = read(size)
        except (EOFError, OSError, zlib.error, lzma.LZMAError) as error:
            raise FileFormatError(
                f"{self.path}: is truncated or damaged after {self.n_read} unpacked bytes ({error}); fetch it again"
            ) from error
        self.n_read += len(data)
        if self.compressed and self.n_read > self.max_bytes:
            raise FileFormatError(
                f"{self.path}: {readable(self.size)} unpack to more than {readable(self.max_bytes)}, which no table of "
                "numbers does; unpack it yourself if you trust it"
            )
        return data
