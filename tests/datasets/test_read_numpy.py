"""Every kind of table is read, and every kind of bad file is refused in words."""

from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.datasets._formats import arrays
from simcomplete.errors import FileFormatError, InputError, MemoryLimitError, SimcompleteError

X = np.array([[1.0, np.nan, 3.0], [4.0, 5.0, 6.0]])


def refuses(path, *words, error=FileFormatError, **options):
    with pytest.raises(error) as caught:
        read_table(path, **options)
    message = str(caught.value)
    assert path.name in message
    assert "\n" not in message
    for word in words:
        assert word in message
    return message


class TestNpy:
    def test_values_and_missing(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        table = read_table(tmp_path / "x.npy")
        assert_array_equal(table.values, X)
        assert table.labels is None
        assert table.columns is None

    @pytest.mark.parametrize(
        ("given", "read"),
        [
            ("f4", "f4"),
            ("f2", "f4"),
            ("f8", "f8"),
            (">f8", "f8"),
            (">f4", "f4"),
            ("i4", "f8"),
            ("?", "f8"),
            ("g", "f8"),
        ],
    )
    def test_dtypes(self, tmp_path, given, read):
        np.save(tmp_path / "x.npy", np.ones((2, 3), dtype=given))
        values = read_table(str(tmp_path / "x.npy")).values
        assert values.dtype == np.dtype(read)
        assert values.dtype.isnative
        assert_array_equal(values, 1)

    def test_large_files_are_mapped(self, tmp_path, monkeypatch):
        monkeypatch.setattr(arrays, "MAP_ABOVE_BYTES", 10)
        np.save(tmp_path / "x.npy", X)
        values = read_table(tmp_path / "x.npy").values
        assert isinstance(values, np.memmap)
        assert_array_equal(values, X)

    @pytest.mark.parametrize("mapped", [False, True])
    @pytest.mark.parametrize("keep", [1, 5, 20, 100, -1])
    def test_truncated(self, tmp_path, monkeypatch, mapped, keep):
        if mapped:
            monkeypatch.setattr(arrays, "MAP_ABOVE_BYTES", 0)
        path = tmp_path / "x.npy"
        np.save(path, X)
        path.write_bytes(path.read_bytes()[:keep])
        refuses(path, "write the .npy file again")

    def test_foreign_bytes(self, tmp_path):
        path = tmp_path / "x.npy"
        path.write_bytes(b"\x89PNG\r\n\x1a\n" * 20)
        refuses(path, "not a NumPy file")

    def test_archive_under_the_wrong_name(self, tmp_path):
        with (tmp_path / "x.npy").open("wb") as file:
            np.savez(file, X=X)
        refuses(tmp_path / "x.npy", "ends in .npz")

    def test_pickled_objects_are_never_loaded(self, tmp_path):
        np.save(tmp_path / "x.npy", np.array([[1, None]], dtype=object), allow_pickle=True)
        refuses(tmp_path / "x.npy", "Python objects, which are never loaded")

    @pytest.mark.parametrize(
        ("array", "word"),
        [
            (np.ones(3), "shape (3,)"),
            (np.ones((2, 2, 2)), "reshape"),
            (np.ones((0, 3)), "0 rows"),
            (np.ones((3, 0)), "0 features"),
            (np.ones((2, 2), dtype=complex), "complex128"),
            (np.array([["a", "b"]]), "<U1"),
        ],
    )
    def test_no_table_of_numbers(self, tmp_path, array, word):
        np.save(tmp_path / "x.npy", array)
        refuses(tmp_path / "x.npy", word)


class TestNpz:
    def test_the_array_named_x_or_the_only_one_or_the_one_asked_for(self, tmp_path):
        np.savez(tmp_path / "a.npz", X=X, other=X + 1)
        np.savez_compressed(tmp_path / "b.npz", other=X + 1)
        assert_array_equal(read_table(tmp_path / "a.npz").values, X)
        assert_array_equal(read_table(tmp_path / "a.npz", key="other").values, X + 1)
        assert_array_equal(read_table(tmp_path / "b.npz").values, X + 1)

    def test_an_unclear_or_unknown_key_lists_the_arrays(self, tmp_path):
        np.savez(tmp_path / "x.npz", a=X, b=X)
        refuses(tmp_path / "x.npz", "a, b", "key=", error=InputError)
        refuses(tmp_path / "x.npz", "'c'", "a, b", error=InputError, key="c")

    @pytest.mark.parametrize("keep", [3, 60, -1, -30])
    def test_truncated(self, tmp_path, keep):
        path = tmp_path / "x.npz"
        np.savez(path, X=X)
        path.write_bytes(path.read_bytes()[:keep])
        refuses(path, "again")

    def test_damaged_inside(self, tmp_path):
        path = tmp_path / "x.npz"
        np.savez(path, X=np.zeros((50, 50)))
        raw = bytearray(path.read_bytes())
        raw[1000] ^= 255
        path.write_bytes(raw)
        refuses(path, "damaged")

    def test_foreign_and_pickled(self, tmp_path):
        np.save(tmp_path / "x.npy", X)
        (tmp_path / "x.npy").rename(tmp_path / "x.npz")
        refuses(tmp_path / "x.npz", "not an .npz archive")
        np.savez(tmp_path / "y.npz", X=np.array([[None]], dtype=object))
        refuses(tmp_path / "y.npz", "never loaded")


class TestHeaders:
    """A header may promise anything; it is held against the bytes before there is room made for it."""

    def lying(self, shape):
        file = io.BytesIO()
        np.lib.format.write_array_header_1_0(file, {"descr": "<f8", "fortran_order": False, "shape": shape})
        return file.getvalue() + bytes(80)

    @pytest.mark.parametrize(
        ("shape", "words"),
        [
            ((10**12, 10**3), "80 are there"),
            ((5, 3), "80 are there"),
            ((-1, -5), "(-1, -5)"),
            ((True, 5), "(True, 5)"),
        ],
    )
    @pytest.mark.parametrize("mapped", [0, 10**6])
    def test_npy(self, tmp_path, monkeypatch, shape, words, mapped):
        monkeypatch.setattr(arrays, "MAP_ABOVE_BYTES", mapped)
        (tmp_path / "x.npy").write_bytes(self.lying(shape))
        refuses(tmp_path / "x.npy", words)

    def test_npz(self, tmp_path):
        with zipfile.ZipFile(tmp_path / "x.npz", "w") as archive:
            archive.writestr("X.npy", self.lying((10**12, 10**3)))
        refuses(tmp_path / "x.npz", "80 are there")

    def test_a_bomb_in_an_archive(self, tmp_path, monkeypatch):
        np.savez_compressed(tmp_path / "x.npz", X=np.zeros((1000, 1000)))
        monkeypatch.setenv("SIMCOMPLETE_MEMORY", "1e6")
        refuses(tmp_path / "x.npz", "free", error=MemoryLimitError)


class TestBeside:
    """Classes and names that lie beside the samples."""

    def test_classes_and_names(self, tmp_path):
        np.savez(tmp_path / "x.npz", X=X, y=np.array([3, 200], np.uint8), words=np.array(["u", "v"]))
        table = read_table(tmp_path / "x.npz")
        assert table.labels == ["u", "v"]
        assert_array_equal(table.y - 201, [-198, -1])
        few = read_table(tmp_path / "x.npz", limit=1)
        assert (few.labels, few.y.tolist(), few.values.shape) == (["u"], [3], (1, 3))

    def test_what_does_not_fit_is_left(self, tmp_path):
        objects = np.array([None, None])
        np.savez(tmp_path / "x.npz", X=X, y=np.arange(3), words=np.array(["u"]), other=objects)
        table = read_table(tmp_path / "x.npz")
        assert table.labels is None
        assert table.y is None
        np.savez(tmp_path / "z.npz", X=X, y=objects)
        assert read_table(tmp_path / "z.npz").y is None

    def test_only_beside_the_samples(self, tmp_path):
        np.savez(tmp_path / "x.npz", X=X, S=np.eye(2), y=np.arange(2))
        assert read_table(tmp_path / "x.npz", key="S").y is None


def test_missing_path_folder_ending_and_empty_file(tmp_path):
    refuses(tmp_path / "nowhere.csv", "no such file", error=InputError)
    (tmp_path / "folder.csv").mkdir()
    refuses(tmp_path / "folder.csv", "folder", ".npy, .npz, .csv, .tsv, .parquet")
    (tmp_path / "x.xlsx").write_text("1")
    refuses(tmp_path / "x.xlsx", "'.xlsx'", ".parquet")
    (tmp_path / "x").write_text("1")
    refuses(tmp_path / "x", "its name has no ending; use .npy", "or give format=")
    for ending in ("npy", "npz", "csv", "parquet"):
        (tmp_path / f"x.{ending}").touch()
        refuses(tmp_path / f"x.{ending}", "empty")


def test_options_that_do_not_go_with_the_file(tmp_path):
    np.save(tmp_path / "x.npy", X)
    refuses(tmp_path / "x.npy", "key='X'", error=InputError, key="X")
    refuses(tmp_path / "x.npy", "header=True", error=InputError, header=True)


def test_endings_in_capitals(tmp_path):
    np.save(tmp_path / "x.npy", X)
    (tmp_path / "x.npy").rename(tmp_path / "X.NPY")
    assert_array_equal(read_table(tmp_path / "X.NPY").values, X)


def test_a_missing_pyarrow_says_how_to_install_it(tmp_path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pyarrow", None)
    for name in ("x.csv", "x.parquet"):
        (tmp_path / name).write_text("1,2\n")
        with pytest.raises(SimcompleteError, match=r"simcomplete\[cli\]"):
            read_table(tmp_path / name)
