"""svmlight, tidy and as the file of PROTEIN writes it."""

from __future__ import annotations

import bz2
import gzip
import lzma

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from sklearn.datasets import dump_svmlight_file

from simcomplete.datasets import load, read_table
from simcomplete.errors import FileFormatError, MemoryLimitError

TIDY = b"0 1:0.92 3:0.5\n2 2:1\n"


@pytest.fixture
def put(tmp_path):
    def writer(data, name="x.svm"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return writer


@pytest.mark.parametrize(
    "text",
    [
        TIDY,
        b"0  1: .92  3: .5\n2  2: 1\n",
        b"# about\n\n0 1:.92 3:.5 # a note\n2 2:1",
        b"0\t1:.92\t3:.5\r\n2 qid:7 2:1\r\n",
        b"0 0:.92 2:.5\n2 1:1\n",  # counted from 0
    ],
)
@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz"])
def test_spellings(put, text, ending):
    pack = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}[ending]
    table = read_table(put(pack(text), f"x.svm{ending}"))
    assert_array_equal(table.values, [[0.92, 0, 0.5], [0, 1, 0]])
    assert_array_equal(table.y, [0, 2])
    assert table.y.dtype == np.int64


def test_packed_without_another_ending(put):
    assert read_table(put(bz2.compress(TIDY), "protein.bz2")).values.shape == (2, 3)


@given(st.lists(st.lists(st.floats(-1e6, 1e6), min_size=4, max_size=4), min_size=1, max_size=6))
def test_what_scikit_learn_writes_and_the_same_with_blanks(tmp_path_factory, rows):
    X = np.array(rows) + 0.0
    path = tmp_path_factory.mktemp("svm") / "x.svm"
    dump_svmlight_file(X, np.arange(len(X)) + 0.5, str(path), zero_based=False)
    folder = path.parent / "protein"
    folder.mkdir()
    (folder / "usps").write_bytes(path.read_bytes().replace(b":", b": ").replace(b" ", b"  "))
    tidy = load("usps", path)
    untidy = load("usps", folder)
    assert_array_equal(tidy.X, untidy.X)
    np.testing.assert_allclose(tidy.X[:, :4], X, rtol=1e-12)
    assert_array_equal(tidy.y, np.arange(len(X)) + 0.5)
    assert tidy.X.shape == (len(X), 256)


def test_limit_stops_before_what_is_wrong_below(put):
    path = put(TIDY + b"what is this\n")
    assert read_table(path, limit=2).values.shape == (2, 3)
    with pytest.raises(FileFormatError, match="line 3"):
        read_table(path, limit=3)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (b"1 1:2\n1 1:x\n", "line 2"),
        (b"1 1:2\n\n1 2:1 1:1\n", "line 3.*sorted"),
        (b"1 1:2\n1 5: 6:1\n", "line 2"),
        (b"cat 1:2\n", "line 1"),
        (b"1,2 1:2\n", "line 1"),
        (b"1 -3:2\n", "line 1"),
        (b"1 99999999999999999999999:2\n", "line 1"),
        (b"1 1:1_0\n", "line 1"),
        (b"1 2\n", "line 1"),
        (b"\x00\x01\x02", "line 1"),
        (b"# nothing\n", "0 rows"),
    ],
)
def test_refused(put, text, words):
    with pytest.raises(FileFormatError, match=words) as caught:
        read_table(put(text))
    assert "x.svm" in str(caught.value)


def test_an_index_beyond_memory(put, monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e6")
    with pytest.raises(MemoryLimitError, match="check the indices"):
        read_table(put(b"1 999999999:2\n"))


def test_more_features_than_the_data_set_has(put):
    with pytest.raises(FileFormatError, match="357"):
        load("protein", put(b"1 358:2\n"))
    assert load("protein", put(b"1 2:2\n")).X.shape == (1, 357)
