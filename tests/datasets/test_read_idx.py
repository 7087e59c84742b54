"""IDX files as MNIST has them, and as nobody should have them."""

from __future__ import annotations

import gzip
import lzma
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.datasets._formats.idx import DTYPES
from simcomplete.errors import FileFormatError, MemoryLimitError

IMAGES = np.arange(24, dtype=np.uint8).reshape(2, 3, 4)


def idx(array, code=0x08, shape=None):
    shape = array.shape if shape is None else shape
    return struct.pack(f">HBB{len(shape)}I", 0, code, len(shape), *shape) + array.astype(DTYPES[code]).tobytes()


@pytest.fixture
def put(tmp_path):
    def writer(data, name="train-images-idx3-ubyte"):
        path = tmp_path / name
        path.write_bytes(data)
        return path

    return writer


def test_bytes_written_by_hand(put):
    data = bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 2, 7, 255])
    table = read_table(put(data))
    assert_array_equal(table.values, [[7, 255]])
    assert table.image_shape == (1, 2)
    assert table.y is None


@pytest.mark.parametrize("packed", ["", ".gz", ".xz"])
def test_images_with_labels_beside(put, packed):
    pack = {"": bytes, ".gz": gzip.compress, ".xz": lzma.compress}[packed]
    put(gzip.compress(idx(np.array([5, 200], np.uint8))), "train-labels-idx1-ubyte.gz")
    table = read_table(put(pack(idx(IMAGES)), f"train-images-idx3-ubyte{packed}"))
    assert_array_equal(table.values, IMAGES.reshape(2, 12))
    assert table.values.dtype == np.float64
    assert_array_equal(table.y - 201, [-196, -1])  # no wrapping around
    assert table.image_shape == (3, 4)


@pytest.mark.parametrize("code", DTYPES)
def test_every_type_of_value(put, code):
    assert_array_equal(read_table(put(idx(np.array([[1, 2], [3, 100]]), code))).values, [[1, 2], [3, 100]])


@given(st.integers(1, 50), st.integers(0, 0xFF))
def test_cut_anywhere_it_says_so(tmp_path_factory, cut, filler):
    path = tmp_path_factory.mktemp("idx") / "x-idx3-ubyte"
    data = idx(np.full((2, 3, 4), filler, np.uint8))
    path.write_bytes(data[: max(1, len(data) - cut)])
    with pytest.raises(FileFormatError, match=r"need .* bytes and only"):
        read_table(path)


def test_expected_and_found_bytes(put):
    with pytest.raises(FileFormatError, match=r"shape \(2, 3, 4\) need 40 bytes and only 39 bytes"):
        read_table(put(idx(IMAGES)[:-1]))


def test_limit_reads_the_first_rows_and_no_more(put):
    put(idx(np.array([1, 2], np.uint8)), "train-labels-idx1-ubyte")
    # The packed second image is not there, and is not asked for.
    table = read_table(put(gzip.compress(idx(IMAGES)[:-12], mtime=0), "train-images-idx3-ubyte.gz"), limit=1)
    assert_array_equal(table.values, IMAGES[:1].reshape(1, 12))
    assert_array_equal(table.y, [1])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (idx(IMAGES) + b"\0", "goes on after the 40 bytes"),
        (idx(IMAGES, shape=(2**32 - 1, 2**32 - 1, 2**32 - 1)), "need .* bytes and only 40"),
        (gzip.compress(idx(IMAGES, shape=(2**31, 28, 28)), mtime=0), "packed bytes cannot hold that"),
        (b"\x89PNG\r\n\x1a\n", "is it another format"),
        (bytes([0, 0, 0x0A, 1, 0, 0, 0, 0]), "is it another format"),
        (bytes([0, 0, 8, 0]), "is it another format"),
        (idx(IMAGES[:0]), "0 rows"),
        (idx(np.array([1, 2], np.uint8)), "labels it seems"),
    ],
)
def test_refused(put, data, words):
    with pytest.raises((FileFormatError, MemoryLimitError), match=words):
        read_table(put(data))


def test_what_would_not_fit_is_refused_before_it_is_read(put, monkeypatch):
    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e5")
    with pytest.raises(MemoryLimitError, match="limit="):
        read_table(put(gzip.compress(idx(np.zeros((100, 28, 28), np.uint8))), "a-idx3-ubyte.gz"))


def test_labels_of_another_number(put):
    put(idx(np.array([1, 2, 3], np.uint8)), "train-labels-idx1-ubyte")
    with pytest.raises(FileFormatError, match="labels for the 2 images"):
        read_table(put(idx(IMAGES)))
