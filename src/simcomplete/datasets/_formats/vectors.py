"""Word vectors: word2vec binary, word2vec text (with a first line of counts), GloVe text (without it)."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete.datasets._formats.source import CHUNK_BYTES, Source
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError

COUNTS = re.compile(rb"\s*(\d{1,18})\s+(\d{1,9})\s*")
NUMBER = re.compile(r"[-+]?[\d.]+(e[-+]?\d+)?", re.IGNORECASE)
MAX_WORD_BYTES = 10_000
LIMIT_HINT = "give limit= for the first rows only"


def read_word2vec(path: Path, options: Options) -> Table:
    """Read word2vec binary: 'count dimensions', then each word, a blank and its float32 values."""
    with Source(path) as source:
        line = next(source.lines(), b"")
        count, d = _counts(line) or (0, 0)
        if not count or not d:
            raise FileFormatError(
                f"{path}: begins with {line[:40]!r}; word2vec binary begins with the number of words and of dimensions"
            )
        # A word may be empty, but has a blank after it.
        source.check_size(source.n_read + count * (4 * d + 1), f"{count} words of {d} dimensions")
        n = options.rows(count)
        require(4 * n * d + 80 * n, f"{path} with {n} words of {d} dimensions", LIMIT_HINT)
        values = np.empty((n, d), np.float32)
        words, rest = _read_words(source, values)
        if n == count and (rest + source.read(CHUNK_BYTES)).strip(b"\n"):
            raise FileFormatError(f"{path}: goes on after its {count} words; it is damaged, or the header is wrong")
    return as_table(path, _check_finite(path, values), words)


def _read_words(source: Source, values: NDArray[np.float32]) -> tuple[list[str], bytes]:
    """Read words and their values into the array; return the words, and bytes that were read after them."""
    words: list[str] = []
    n, d = values.shape
    buffer, at = b"", 0
    for row in range(n):
        at = _skip_line_ends(buffer, at)
        blank = buffer.find(b" ", at, at + MAX_WORD_BYTES)
        if blank < 0 or blank + 1 + 4 * d > len(buffer):
            buffer = buffer[at:] + source.read(CHUNK_BYTES + MAX_WORD_BYTES + 4 * d)
            at = _skip_line_ends(buffer, 0)
            blank = buffer.find(b" ", at, at + MAX_WORD_BYTES)
        end = blank + 1 + 4 * d
        if blank < 0 or end > len(buffer):
            raise FileFormatError(
                f"{source.path}: is truncated or damaged: {n} words of {d} dimensions are expected and word {row + 1} "
                f"is not whole after {source.n_read} bytes; fetch it again"
            )
        words.append(buffer[at:blank].decode("utf-8", errors="replace"))
        values[row] = np.frombuffer(buffer, "<f4", d, blank + 1)
        at = end
    return words, buffer[at:]


def _skip_line_ends(buffer: bytes, at: int) -> int:
    """Return the position after line ends, which some programs write between rows."""
    while buffer[at : at + 1] == b"\n":
        at += 1
    return at


def read_word_text(path: Path, options: Options) -> Table:
    """Read lines of a word and its values, with or without a first line 'count dimensions'."""
    with Source(path) as source:
        words: list[str] = []
        values = np.empty((0, 0), np.float32)
        expected: int | None = None
        for number, line in enumerate(source.lines(), start=1):
            if number == 1:
                expected, d = _counts(line) or (None, len(line.split()) - 1)
                values = np.empty((0, max(d, 0)), np.float32)
                if expected is not None:
                    continue
            if len(words) == options.limit:
                break
            if len(words) == len(values):
                values = _extended(path, values)
            words.append(_row(path, number, line.split(), values[len(words)]))
    if not words:
        raise FileFormatError(f"{path}: has no line with a word and its values")
    if expected is None and all(NUMBER.fullmatch(word) for word in words):
        raise FileFormatError(
            f"{path}: begins every line with a number, not with a word; a table of numbers must be a .csv or .tsv file"
        )
    wanted = None if expected is None else options.rows(expected)
    if wanted is not None and len(words) != wanted:
        raise FileFormatError(
            f"{path}: is truncated or damaged: its first line promises {expected} words, {len(words)} lines follow"
        )
    return as_table(path, _check_finite(path, values[: len(words)]), words)


def _row(path: Path, number: int, parts: list[bytes], out: NDArray[np.float32]) -> str:
    """Read the values of one line into the array; return its word, which may have blanks (GloVe has '. . .')."""
    d = len(out)
    if len(parts) <= d or d == 0:
        raise FileFormatError(
            f"{path}: line {number} has {len(parts)} fields; a word and {max(d, 1)} numbers are needed"
        )
    try:
        with np.errstate(over="ignore"):  # refused below, as not finite
            out[:] = [float(part) for part in parts[-d:]]
    except ValueError as error:
        hint = (
            "; is it a table? use format='csv', and separator= where it is none of , ; | and tab" if number == 1 else ""
        )
        raise FileFormatError(f"{path}: line {number}: {error}; a word and {d} numbers are needed{hint}") from error
    return b" ".join(parts[:-d]).decode("utf-8", errors="replace")


def _extended(path: Path, values: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return a copy with half as many rows again."""
    n, d = max(64, len(values) * 3 // 2), values.shape[1]
    require(4 * (n + len(values)) * d, f"{path} with {n} words of {d} dimensions", LIMIT_HINT)
    extended = np.empty((n, d), np.float32)
    extended[: len(values)] = values
    return extended


def _counts(line: bytes) -> tuple[int, int] | None:
    """Read 'count dimensions'."""
    match = COUNTS.fullmatch(line)
    return (int(match[1]), int(match[2])) if match else None


def _check_finite(path: Path, values: NDArray[np.float32]) -> NDArray[np.float32]:
    with np.errstate(invalid="ignore"):
        bad = ~np.isfinite(values.sum(axis=1, dtype=np.float64))
    if bad.any():
        raise FileFormatError(f"{path}: vector {int(np.argmax(bad)) + 1} is not finite; the file is damaged")
    return values
