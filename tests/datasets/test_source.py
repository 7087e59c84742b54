"""Files to read from: compressed or not, complete or not."""

from __future__ import annotations

import bz2
import gzip
import lzma

import pytest

from simcomplete.datasets._formats import source
from simcomplete.datasets._formats.source import Source
from simcomplete.errors import FileFormatError

PACKERS = {"plain": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress}
TEXT = b"one\ntwo\n" * 1000 + b"end"


@pytest.fixture(params=PACKERS)
def pack(request):
    return PACKERS[request.param]


@pytest.fixture
def put(tmp_path):
    def writer(data):
        path = tmp_path / "file"  # the bytes determine the compression, not the name
        path.write_bytes(data)
        return path

    return writer


def test_bytes_and_lines(put, pack):
    path = put(pack(TEXT))
    with Source(path) as file:
        assert file.read_exactly(8, "words") == b"one\ntwo\n"
        assert file.read(10**6) == TEXT[8:]
        assert file.n_read == len(TEXT)
        file.check_end("words")
    with Source(path) as file:
        assert list(file.lines()) == TEXT.splitlines(keepends=True)


def test_too_short_says_expected_and_found(put, pack):
    with Source(put(pack(TEXT))) as file:
        file.read(3)
        with pytest.raises(FileFormatError, match=rf"numbers need {len(TEXT) + 3} bytes and only {len(TEXT)} bytes"):
            file.read_exactly(len(TEXT), "numbers")


def test_more_than_a_file_of_this_size_can_have_is_refused_unread(put, pack):
    with Source(put(pack(TEXT))) as file:
        with pytest.raises(FileFormatError, match=f"need {10**15} bytes"):
            file.read_exactly(10**15, "numbers")
        assert file.n_read == 0


def test_what_follows_the_last_byte(put, pack):
    with Source(put(pack(TEXT))) as file, pytest.raises(FileFormatError, match="goes on after the 5 bytes"):
        file.read(5)
        file.check_end("numbers")


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
@pytest.mark.parametrize("keep", [0.3, 0.9])
def test_a_compressed_file_cut_short(put, kind, keep):
    data = PACKERS[kind](bytes(range(256)) * 50)
    with (
        Source(put(data[: int(len(data) * keep)])) as file,
        pytest.raises(FileFormatError, match="truncated or damaged after"),
    ):
        file.read(10**6)


@pytest.mark.parametrize("kind", ["gz", "bz2", "xz"])
def test_a_bomb_is_stopped_while_it_is_small(put, kind, monkeypatch):
    monkeypatch.setattr(source, "ALWAYS_ALLOWED_BYTES", 2**16)
    monkeypatch.setattr(source, "CHUNK_BYTES", 2**14)
    path = put(PACKERS[kind](bytes(10**7)))
    bound = max(2**16, source.MAX_EXPANSION * path.stat().st_size)
    with Source(path) as file:
        with pytest.raises(FileFormatError, match="unpack to more than"):
            file.read(10**7)
        assert file.n_read <= bound + 2**14


def test_an_endless_line(put, pack, monkeypatch):
    monkeypatch.setattr(source, "MAX_LINE_BYTES", 100)
    with Source(put(pack(b"short\n" + b"x" * 500))) as file, pytest.raises(FileFormatError, match="longer than 100 B"):
        list(file.lines())
