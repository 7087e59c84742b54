"""Data sets by name: bundled, from a folder, from a file, and from the net only when that is asked for."""

from __future__ import annotations

import bz2
import urllib.error
from pathlib import Path

import numpy as np
import pytest
import sklearn.datasets
from numpy.testing import assert_array_equal
from sklearn.utils import Bunch

from simcomplete import datasets
from simcomplete.datasets import Table
from simcomplete.datasets._catalogue import CATALOGUE
from simcomplete.datasets._files import format_of
from simcomplete.errors import FileFormatError, InputError, MissingExtraError


@pytest.fixture(autouse=True)
def nowhere(monkeypatch):
    """No folder and no net, unless a test says so."""
    monkeypatch.delenv("SIMCOMPLETE_DATA", raising=False)

    def refuse(**_):
        raise AssertionError("a download that nobody asked for")

    monkeypatch.setattr(sklearn.datasets, "fetch_openml", refuse)


class TestBundled:
    def test_digits(self):
        data = datasets.load("digits")
        assert data.X.shape == (1797, 64)
        assert data.X.dtype == np.float64
        assert data.y.shape == (1797,)
        assert data.image_shape == (8, 8)
        assert data.name == "digits"
        assert_array_equal(datasets.load("digits", limit=3).X, data.X[:3])

    def test_patches_tile_the_photographs(self):
        data = datasets.load("patches")
        assert data.X.shape == (2 * 26 * 40, 256)
        assert data.image_shape == (16, 16)
        assert_array_equal(np.bincount(data.y), [1040, 1040])
        # The second row of tiles of the first photograph begins at pixel (16, 0).
        red, green, blue = sklearn.datasets.load_sample_images().images[0][16, 3].astype(float)
        assert data.X[40, 3] == round(0.299 * red + 0.587 * green + 0.114 * blue)

    def test_patches_without_pillow(self, monkeypatch):
        monkeypatch.setitem(__import__("sys").modules, "PIL", None)
        with pytest.raises(MissingExtraError, match=r"simcomplete\[cli\]"):
            datasets.load("patches")


class TestFolder:
    def test_known_names_of_files(self, tmp_path, monkeypatch):
        for i, entry in enumerate(CATALOGUE.values()):
            np.savez(tmp_path / entry.choices[-2][0], X=np.full((2, 4), i))
        monkeypatch.setenv("SIMCOMPLETE_DATA", str(tmp_path))
        files = datasets.available()
        assert set(files) == set(datasets.names())
        for name in CATALOGUE:
            data = datasets.load(name)
            assert data.files == files[name]
            assert len(data.files) == 1

    def test_each_file_of_the_catalogue_has_a_reader(self):
        for entry in CATALOGUE.values():
            for parts in entry.choices:
                for part in parts:
                    assert format_of(Path(part)) or entry.default_format

    def test_the_originals_come_before_samples(self, tmp_path):
        np.savez(tmp_path / "protein.npz", X=np.ones((1, 357)))
        (tmp_path / "protein").write_bytes(b"0  1: .5\n")
        (tmp_path / "protein.t.bz2").write_bytes(bz2.compress(b"2 357:1\n1 3:1\n"))
        data = datasets.load("protein", tmp_path)
        assert data.X.shape == (3, 357)
        assert_array_equal(data.y, [0, 2, 1])
        assert [file.name for file in data.files] == ["protein", "protein.t.bz2"]

    def test_folders_below(self, tmp_path):
        folder = tmp_path / "MNIST" / "raw"
        folder.mkdir(parents=True)
        header = bytes([0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 28, 0, 0, 0, 28])
        (folder / "t10k-images-idx3-ubyte").write_bytes(header + bytes([9]) * 784)
        data = datasets.load("mnist", tmp_path)
        assert_array_equal(data.X, np.full((1, 784), 9))
        assert data.image_shape == (28, 28)

    def test_a_name_of_ones_own(self, tmp_path, monkeypatch):
        np.savez(tmp_path / "jester.npz", X=np.array([[1.0, np.nan]]))
        monkeypatch.setenv("SIMCOMPLETE_DATA", str(tmp_path))
        assert_array_equal(datasets.load("jester").X, [[1, np.nan]])
        assert "jester" not in datasets.available()

    def test_parts_that_do_not_fit_together(self, tmp_path):
        for name, d in (("train", 3), ("t10k", 2)):
            header = bytes([0, 0, 8, 2, 0, 0, 0, 1, 0, 0, 0, d])
            (tmp_path / f"{name}-images-idx3-ubyte").write_bytes(header + bytes(d))
        with pytest.raises(FileFormatError, match=r"different numbers of features: train.* 3, t10k.* 2"):
            datasets.load("mnist", tmp_path)

    def test_pictures_of_another_size_have_no_shape(self, tmp_path):
        np.savez(tmp_path / "mnist.npz", X=np.ones((2, 5)))
        assert datasets.load("mnist", tmp_path).image_shape is None

    def test_colours_become_grey(self, tmp_path):
        np.save(tmp_path / "cifar10.npy", np.repeat([[200, 100, 50]], 1024, axis=1).reshape(1, 3072))
        data = datasets.load("cifar10", tmp_path)
        assert_array_equal(data.X, np.full((1, 1024), 124))
        assert data.image_shape == (32, 32)


class TestFile:
    def test_under_a_name_of_ones_own(self, tmp_path):
        (tmp_path / "x.csv").write_text("id,a\nu,1\nv,\nw,?\n")
        data = datasets.load("mine", path=tmp_path / "x.csv", missing="?")
        assert data.name == "mine"
        assert_array_equal(data.X, [[1], [np.nan], [np.nan]])
        assert data.labels == ["u", "v", "w"]
        assert data.y is None
        assert data.files == (tmp_path / "x.csv",)

    def test_one_that_is_not_there(self, tmp_path):
        with pytest.raises(InputError, match="no such file"):
            datasets.load("mnist", tmp_path / "nowhere")


class TestAbsent:
    def test_unknown_names_are_answered_with_the_known(self, tmp_path):
        with pytest.raises(InputError, match=r"'mnits'; known are agnews, cifar10, digits.*usps; give path="):
            datasets.load("mnits")
        with pytest.raises(InputError, match=r"has no mnits.npz"):
            datasets.load("mnits", tmp_path)

    @pytest.mark.parametrize("name", CATALOGUE)
    def test_the_message_says_what_where_and_how(self, name, tmp_path):
        with pytest.raises(InputError) as caught:
            datasets.load(name, tmp_path)
        message = str(caught.value)
        entry = CATALOGUE[name]
        for word in (*entry.choices[0], str(tmp_path), entry.source):
            assert word in message
        assert ("download=True" in message) == (entry.openml is not None)

    def test_no_folder_at_all(self):
        with pytest.raises(InputError, match="neither path= nor SIMCOMPLETE_DATA"):
            datasets.load("mnist")
        assert set(datasets.available()) == {"digits", "patches"}

    def test_a_folder_that_is_none(self, monkeypatch, tmp_path):
        monkeypatch.setenv("SIMCOMPLETE_DATA", str(tmp_path / "gone"))
        with pytest.raises(InputError, match=r"SIMCOMPLETE_DATA=.*gone' is not a folder"):
            datasets.load("mnist")


class TestDownload:
    def test_only_when_asked_for_and_only_without_files(self, tmp_path, monkeypatch):
        asked = []

        def fetch(data_id, as_frame, parser):
            asked.append(data_id)
            return Bunch(data=np.arange(2 * 784.0).reshape(2, 784), target=np.array(["5", "0"], dtype=object))

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        with pytest.raises(InputError):
            datasets.load("mnist")
        assert asked == []
        data = datasets.load("mnist", download=True, limit=1)
        assert asked == [554]
        assert data.image_shape == (28, 28)
        assert_array_equal(data.y, [5])
        np.savez(tmp_path / "mnist.npz", X=np.ones((2, 5)))
        assert datasets.load("mnist", tmp_path, download=True).X.shape == (2, 5)
        assert asked == [554]

    def test_no_net(self, monkeypatch):
        def fetch(**_):
            raise urllib.error.URLError("no route to host")

        monkeypatch.setattr(sklearn.datasets, "fetch_openml", fetch)
        with pytest.raises(InputError, match=r"number 41082 at OpenML.*no route to host.*usps.bz2"):
            datasets.load("usps", download=True)

    def test_what_is_not_at_openml(self):
        with pytest.raises(InputError, match="nothing to download"):
            datasets.load("protein", download=True)


def test_a_table_answers_like_a_frame():
    table = Table(np.ones((2, 1)), ["u", "v"])
    assert table.index == ["u", "v"]
    assert table.to_numpy() is table.values
