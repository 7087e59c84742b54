"""Word vectors in three spellings that must meet."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.datasets._formats import vectors
from simcomplete.errors import FileFormatError, MemoryLimitError

WORDS = ["the", "New_York", "naïve", "10", "."]
VALUES = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)


def binary(words=WORDS, values=VALUES, between=b"\n", header=None):
    head = header if header is not None else b"%d %d\n" % values.shape
    rows = [w.encode() + b" " + v.astype("<f4").tobytes() + between for w, v in zip(words, values, strict=True)]
    return head + b"".join(rows)


def text(words=WORDS, values=VALUES, header=True, end="\n"):
    head = f"{len(values)} {values.shape[1]}\n" if header else ""
    rows = [f"{w} {' '.join(repr(float(x)) for x in v)}{end}" for w, v in zip(words, values, strict=True)]
    return (head + "".join(rows)).encode()


@pytest.fixture
def put(tmp_path):
    def writer(data, name):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return writer


@pytest.mark.parametrize(
    ("data", "name"),
    [
        (binary(), "x.bin"),
        (binary(between=b""), "x.bin"),
        (gzip.compress(binary(), mtime=0), "x.bin.gz"),
        (text(), "x.txt"),
        (text(end=" \r\n"), "x.vec"),
        (text(header=False), "glove.txt"),
        (gzip.compress(text(header=False), mtime=0), "glove.txt.gz"),
    ],
)
def test_all_spellings_meet(put, data, name):
    table = read_table(put(data, name))
    assert_array_equal(table.values, VALUES)
    assert table.values.dtype == np.float32
    assert table.labels == WORDS
    few = read_table(put(data, name), limit=2)
    assert_array_equal(few.values, VALUES[:2])
    assert few.labels == WORDS[:2]


@given(
    st.lists(st.text(st.characters(exclude_characters=" \n", exclude_categories=["Cs"]), max_size=20), min_size=1),
    st.integers(1, 40),
    st.sampled_from([b"", b"\n"]),
)
def test_binary_in_small_pieces(tmp_path_factory, words, d, between):
    path = tmp_path_factory.mktemp("vectors") / "x.bin"
    values = np.random.default_rng(d).standard_normal((len(words), d)).astype(np.float32)
    path.write_bytes(binary(words, values, between))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(vectors, "CHUNK_BYTES", 7)
        patch.setattr(vectors, "MAX_WORD_BYTES", 100)
        table = read_table(path)
    assert_array_equal(table.values, values)
    assert table.labels == words


def test_a_word_with_blanks(put):
    table = read_table(put(b"a 1 2\n. . . 3 4\n", "glove.txt"))
    assert table.labels == ["a", ". . ."]
    assert_array_equal(table.values, [[1, 2], [3, 4]])


def test_many_rows(put):
    values = np.arange(1000, dtype=np.float32)[:, None]
    assert_array_equal(read_table(put(text(["w"] * 1000, values, header=False), "x.txt")).values, values)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (binary(between=b"")[:-1], r"5 words of 3 dimensions|word 5 is not whole"),
        (binary()[:40], "need 69 bytes and only 40 bytes"),
        (gzip.compress(binary()[:40], mtime=0), "word 2 is not whole after 40 bytes"),
        (binary() + b"more", "goes on after its 5 words"),
        (binary(header=b"4 3\n"), "goes on after its 4 words"),
        (binary(header=b"999999999999 300\n"), "truncated or its header is wrong"),
        (gzip.compress(binary(header=b"999999999999 300\n"), mtime=0), "packed bytes cannot hold that"),
        (binary(header=b""), "begins with"),
        (binary(header=b"0 3\n"), "begins with"),
        (b"\x80\x02}q\x01.", "begins with"),
        (binary(values=np.where(VALUES > 1, np.nan, VALUES)), "not finite"),
    ],
)
def test_refused_binary(put, data, words):
    with pytest.raises(FileFormatError, match=words):
        read_table(put(data, "x.bin" if data[:2] != b"\x1f\x8b" else "x.bin.gz"))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (text()[: text().rindex(b".")].rsplit(b"\n", 1)[0] + b"\n", "promises 5 words, 4 lines"),
        (text() + b"more 1 2 3\n", "promises 5 words, 6 lines"),
        (b"a 1 2\nb 1\n", "line 2 has 2 fields"),
        (b"a 1 2\nb 1 x\n", "line 2.*'x'"),
        (b"a\nb\n", "line 1 has 1 fields"),
        (b"\n", "line 1 has 0 fields"),
        (b"3 2\n", "no line"),
        (b"a 1 nan\n", "not finite"),
        (b"a 1 2\nb inf -inf\n", "vector 2 is not finite"),
        (b"a 1 1e300\n", "not finite"),
        (b"1 2 3\n-.4e1 5 6\n", "a number, not with a word.*csv"),
        (b"\xff\xfe\x00\x01", "line 1"),
    ],
)
def test_refused_text(put, data, words):
    with pytest.raises(FileFormatError, match=words):
        read_table(put(data, "x.txt"))


def test_what_would_not_fit(put, monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "300")
    with pytest.raises(MemoryLimitError, match="limit="):
        read_table(put(binary(), "x.bin"))
    assert len(read_table(put(binary(), "x.bin"), limit=1).values) == 1
