"""CIFAR-10: binary records become grey images, and the version for Python, a pickle, is refused unread."""

from __future__ import annotations

import gzip
import pickle
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from simcomplete.datasets import available, load, read_table
from simcomplete.errors import FileFormatError, InputError

RNG = np.random.default_rng(0)
COLOURS = RNG.integers(0, 256, (5, 3072), dtype=np.uint8)
LABELS = [3, 0, 9, 1, 3]


def binary(colours=COLOURS, labels=LABELS):
    return np.column_stack([np.array(labels, np.uint8), colours]).tobytes()


class WritesAFile:
    """Its pickle writes a file when it is loaded."""

    def __reduce__(self):
        return (Path.write_text, (Path("harm"), "done"))


def batch(**more):
    return pickle.dumps({b"data": COLOURS, b"labels": LABELS, **more}, 2)


@pytest.fixture
def put(tmp_path):
    def writer(data, name="data_batch_1.bin"):
        (tmp_path / name).write_bytes(data)
        return tmp_path / name

    return writer


def test_grey_by_hand(put):
    colours = np.zeros((1, 3072), np.uint8)
    # The first pixel is (255, 0, 0), the second (10, 20, 30): 76.245 and 2.99 + 11.74 + 3.42 = 18.15.
    colours[0, [0, 1, 1025, 2049]] = 255, 10, 20, 30
    table = read_table(put(binary(colours, [7])))
    assert_array_equal(table.values[0, :3], [76, 18, 0])
    assert_array_equal(table.y, [7])
    assert table.image_shape == (32, 32)


def test_compressed_records_are_the_same(put):
    one, two = read_table(put(binary())), read_table(put(gzip.compress(binary(), mtime=0), "test_batch.bin.gz"))
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
    assert_array_equal(read_table(put(binary()), limit=2).y, [3, 0])


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
        read_table(put(data))


class TestPickles:
    @pytest.mark.parametrize("name", ["data_batch_1", "data_batch_5", "test_batch", "data_batch_1.gz"])
    def test_the_message_says_what_it_is_and_what_to_use(self, put, name):
        data = batch()
        with pytest.raises(FileFormatError) as caught:
            read_table(put(gzip.compress(data, mtime=0) if name.endswith(".gz") else data, name))
        for word in (name, "CIFAR-10 for Python", "a pickle", "cifar-10-binary.tar.gz", "download=True", "OpenML"):
            assert word in str(caught.value)

    def test_a_folder_of_them_is_no_data_set(self, put, monkeypatch):
        for i in range(1, 6):
            path = put(batch(), f"data_batch_{i}")
        with pytest.raises(InputError, match=r"data_batch_1\.bin.*files without \.bin, consists of pickles"):
            load("cifar10", path.parent)
        assert "cifar10" not in available(path.parent)

    def test_binary_files_beside_them_are_read(self, put):
        put(batch(), "data_batch_1")
        path = put(binary())
        assert [file.name for file in load("cifar10", path.parent).files] == ["data_batch_1.bin"]

    @pytest.mark.parametrize(
        "name",
        [
            "data_batch_1",
            "test_batch",
            "data_batch_1.bin",
            "x.npy",
            "x.npz",
            "x.csv",
            "x.tsv",
            "x.parquet",
            "x-images-idx3-ubyte",
            "x.bin",
            "x.txt",
            "x.vec",
            "x.svm",
            "x.gz",
        ],
    )
    @pytest.mark.parametrize("protocol", [0, 2, 5])
    def test_a_pickle_never_runs_whatever_its_name(self, put, tmp_path, monkeypatch, name, protocol):
        monkeypatch.chdir(tmp_path)
        data = pickle.dumps([WritesAFile()], protocol)
        path = put(gzip.compress(data, mtime=0) if name.endswith(".gz") else data, name)
        with pytest.raises(FileFormatError):
            read_table(path)
        assert [file.name for file in tmp_path.iterdir()] == [name]

    def test_the_pickle_of_these_tests_would_run(self, tmp_path, monkeypatch):
        monkeypatch.chdir(tmp_path)
        pickle.loads(pickle.dumps(WritesAFile()))
        assert (tmp_path / "harm").read_text() == "done"

    @pytest.mark.parametrize("name", ["X", "y", "labels"])
    def test_nor_does_one_inside_an_archive(self, tmp_path, monkeypatch, name):
        monkeypatch.chdir(tmp_path)
        arrays = {"X": np.ones((1, 2)), "y": np.zeros(1, int)}
        np.savez(tmp_path / "x.npz", **{**arrays, name: np.array([WritesAFile()], dtype=object)})
        try:
            read_table(tmp_path / "x.npz")
        except FileFormatError as error:
            assert name == "X"
            assert "Python objects" in str(error)
        assert [file.name for file in tmp_path.iterdir()] == ["x.npz"]
