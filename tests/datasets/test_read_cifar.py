"""CIFAR-10: two forms of the same pictures meet, and what is not CIFAR-10 is refused."""

from __future__ import annotations

import gzip
import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from simcomplete.datasets import load, read_table
from simcomplete.errors import FileFormatError

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (5, 3072), dtype=np.uint8)
LABELS = [3, 0, 9, 1, 3]


def binary(colours=COLOURS, labels=LABELS):
    return np.column_stack([np.array(labels, np.uint8), colours]).tobytes()


def batch(keys=bytes, protocol=2, **changes):
    content = {"data": COLOURS, "labels": LABELS, "batch_label": b"training batch 1 of 5", **changes}
    return pickle.dumps({(k.encode() if keys is bytes else k): v for k, v in content.items()}, protocol)


@pytest.fixture
def put(tmp_path):
    def writer(data, name="data_batch_1"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return writer


def test_grey_by_hand(put):
    colours = np.zeros((1, 3072), np.uint8)
    # The first pixel is (255, 0, 0), the second (10, 20, 30): 76.245 and 2.99 + 11.74 + 3.42 = 18.15.
    colours[0, [0, 1, 1025, 2049]] = 255, 10, 20, 30
    table = read_table(put(binary(colours, [7]), "data_batch_1.bin"))
    assert_array_equal(table.values[0, :3], [76, 18, 0])
    assert_array_equal(table.y, [7])
    assert table.image_shape == (32, 32)


@pytest.mark.parametrize("protocol", range(6))
@pytest.mark.parametrize("keys", [bytes, str])
def test_batch_and_records_meet(put, protocol, keys):
    one = read_table(put(batch(keys, protocol)))
    two = read_table(put(gzip.compress(binary(), mtime=0), "test_batch.bin.gz"))
    assert_array_equal(one.values, two.values)
    assert_array_equal(one.y, two.y)
    assert one.values.shape == (5, 1024)


def test_the_parts_follow_one_another(put):
    for i in range(1, 6):
        put(binary(COLOURS[i - 1 : i], [i]), f"data_batch_{i}.bin")
    path = put(binary(COLOURS[:1], [0]), "test_batch.bin")
    data = load("cifar10", path.parent)
    assert_array_equal(data.y, [1, 2, 3, 4, 5, 0])
    assert_array_equal(data.X[5], data.X[0])
    assert [file.name for file in data.files] == [f"data_batch_{i}.bin" for i in range(1, 6)] + ["test_batch.bin"]
    few = load("cifar10", path.parent, limit=2)
    assert_array_equal(few.y, [1, 2])
    assert len(few.files) == 2


def test_limit(put):
    assert_array_equal(read_table(put(batch()), limit=2).y, [3, 0])
    assert_array_equal(read_table(put(binary(), "data_batch_1.bin"), limit=2).y, [3, 0])


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (batch()[:-100], "truncated"),
        (batch(labels=LABELS[:4]), "one label .* each of 5"),
        (batch(labels=[10, 0, 0, 0, 0]), "one label from 0 to 9"),
        (batch(labels="31930"), "one label"),
        (batch(data=COLOURS[:, :1000]), r"\(5, 1000\)"),
        (batch(data=COLOURS.astype(float)), "bytes of shape"),
        (batch(data=[1]), "list"),
        (pickle.dumps({"fine_labels": [1]}), "fine_labels"),
        (pickle.dumps([1]), "only a list"),
        (pickle.dumps({5: 10**5000}), "only a dict"),
        (pickle.dumps({"data": COLOURS, "labels": LABELS, "x": print}), "print"),
    ],
)
def test_refused_batches(put, data, words):
    with pytest.raises(FileFormatError, match=words):
        read_table(put(data))


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (binary()[:-1], "need 15365 bytes and only 15364"),
        (gzip.compress(binary()[:-1], mtime=0), "need 15365 bytes and only 15364"),
        (binary(labels=[10, 0, 0, 0, 0]), "a label is 10"),
    ],
)
def test_refused_records(put, data, words):
    with pytest.raises(FileFormatError, match=words):
        read_table(put(data, "data_batch_1.bin"))
