"""The text of a file as UTF-8: unpacked, without its byte order mark, whatever its encoding."""

from __future__ import annotations

import codecs
import io
from pathlib import Path

from simcomplete.datasets._formats.source import Source
from simcomplete.errors import FileFormatError

# By the bytes that a file begins with. The mark of UTF-32 begins with that of UTF-16, so it comes first.
MARKS = {
    codecs.BOM_UTF32_LE: "utf-32-le",
    codecs.BOM_UTF32_BE: "utf-32-be",
    codecs.BOM_UTF8: "utf-8",
    codecs.BOM_UTF16_LE: "utf-16-le",
    codecs.BOM_UTF16_BE: "utf-16-be",
}
NOT_UTF8 = "is not text in UTF-8 ({}); save it as UTF-8, or convert it: iconv -f WINDOWS-1252 -t UTF-8"


class EncodedText(io.RawIOBase):
    """The text of a file, read from start to end as bytes in UTF-8.

    Text in UTF-8 passes through as it is; `check_text` tells whether it is what it seems.

    Parameters
    ----------
    path : Path
        A file of text, perhaps packed; UTF-16 and UTF-32 are recognised by their byte order mark.
    skip : int
        How many bytes, counted in UTF-8, to leave out at the start.
    """

    def __init__(self, path: Path, skip: int = 0) -> None:
        super().__init__()
        self._source = Source(path)
        self._rest = self._source.read(4)
        mark, codec = next(((m, c) for m, c in MARKS.items() if self._rest.startswith(m)), (b"", "utf-8"))
        self._rest = self._rest[len(mark) :]
        self._decoder = None if codec == "utf-8" else codecs.getincrementaldecoder(codec)()
        if self._decoder is not None:
            self._rest = self._decode(self._rest)
        while skip > 0 and (piece := self.read(min(skip, io.DEFAULT_BUFFER_SIZE))):
            skip -= len(piece)

    @property
    def path(self) -> Path:
        """The file."""
        return self._source.path

    def readable(self) -> bool:
        """True: it can be read."""
        return True

    def close(self) -> None:
        """Close the file."""
        if not self.closed:
            self._source.__exit__(None, None, None)
        super().close()

    def read(self, size: int = -1) -> bytes:
        """Read up to `size` bytes, all by default; fewer only at the end."""
        wanted = size if size >= 0 else self._source.max_bytes
        pieces, n = [self._rest], len(self._rest)
        while n < wanted:
            raw = self._source.read(wanted - n)
            piece = self._decode(raw)
            pieces.append(piece)
            n += len(piece)
            if not raw:
                break
        whole = b"".join(pieces)
        self._rest = whole[wanted:]  # text in UTF-16 may take more bytes in UTF-8
        return whole[:wanted]

    def _decode(self, raw: bytes) -> bytes:
        if self._decoder is None:
            return raw
        try:
            return self._decoder.decode(raw, final=not raw).encode()
        except UnicodeError as error:
            raise FileFormatError(f"{self.path}: is not the text that it seems ({error}); save it as UTF-8") from error


def check_text(path: Path, step: int = 2**20) -> tuple[int, int]:
    """Read a text once, block by block, and return its bytes in UTF-8 and at most how many lines it has.

    Raises FileFormatError where it is not text.
    """
    size, lines, decoder = 0, 1, codecs.getincrementaldecoder("utf-8")()
    with EncodedText(path) as text:
        while True:
            block = text.read(step)
            size += len(block)
            lines += max(block.count(b"\n"), block.count(b"\r"))
            try:
                decoder.decode(block, final=not block)
            except UnicodeDecodeError as error:
                raise FileFormatError(f"{path}: {NOT_UTF8.format(error)}") from error
            if not block:
                return size, lines
