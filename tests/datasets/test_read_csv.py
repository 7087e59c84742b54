"""Comma-separated text as people write it."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.errors import FileFormatError, InputError

NAN = np.nan


@pytest.fixture
def read(tmp_path):
    def reader(text, **options):
        path = tmp_path / "t.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(path, **options)

    return reader


@pytest.mark.parametrize(
    "missing", ["", "NaN", "nan", "NA", "na", "N/A", "n/a", "null", "NULL", "None", "none", "  ", "?", "-"]
)
def test_spellings_of_missing(read, missing):
    assert_array_equal(read(f"1,{missing},3\n4,5,{missing}\n").values, [[1, NAN, 3], [4, 5, NAN]])


def test_plain_numbers(read):
    table = read("1,2.5e3,-3\n.5,+4,6")
    assert_array_equal(table.values, [[1, 2500, -3], [0.5, 4, 6]])
    assert table.values.dtype == np.float64
    assert table.labels is None
    assert table.columns is None


def test_header_and_labels(read):
    table = read('name,a,b\n"Smith, J.",1,2\nLee,,4\n')
    assert_array_equal(table.values, [[1, 2], [NAN, 4]])
    assert table.labels == ["Smith, J.", "Lee"]
    assert table.columns == ["a", "b"]


def test_blanks_bom_carriage_returns_and_blank_lines(read):
    table = read("\ufeff\r\n a , b \r\n 1 , NA \r\n\r\n 3 , 4 \r\n\r\n")
    assert_array_equal(table.values, [[1, NAN], [3, 4]])
    assert table.columns == ["a", "b"]


def test_an_all_missing_column_stays(read):
    assert_array_equal(read("a,b\n1,\n2,\n").values, [[1, NAN], [2, NAN]])


def test_a_single_column(read):
    assert_array_equal(read("a\n1\nNA\n").values, [[1], [NAN]])
    assert_array_equal(read("1\n2\n").values, [[1], [2]])


@pytest.mark.parametrize("index", [True, False])
@pytest.mark.parametrize("columns", [["a", "b", "c"], None])
def test_what_pandas_writes(read, index, columns):
    X = np.array([[1.5, NAN, 3], [4, 5, 6]])
    text = pd.DataFrame(X, columns=columns).to_csv(index=index)
    if not index and columns is None:  # 0,1,2 alone may be numbers as well
        with pytest.raises(FileFormatError, match="header=True or header=False"):
            read(text)
        table = read(text, header=True)
    else:
        table = read(text)
    assert_array_equal(table.values, X)
    assert table.labels == (["0", "1"] if index else None)
    assert table.columns == (columns or ["0", "1", "2"])


def test_a_first_line_that_could_be_either_is_asked_about(read):
    text = "cat,1,2\ndog,3,4\n"
    with pytest.raises(FileFormatError, match="could name the columns or be a row"):
        read(text)
    assert read(text, header=False).labels == ["cat", "dog"]
    assert read(text, header=True).columns == ["1", "2"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("1,2\n3\n", ["row 2 has 1 cells", "first line has 2"]),
        ("a,b\n1,2\n3,4,5\n", ["row 2 has 3 cells"]),
        ("a,b\n1,2,3\n4,5,6\n", ["row 1 has 3 cells"]),
        ("a,b\n1,2\n3,four\n", ["row 2", "column 'b'", "'four'"]),
        ("1,2\n3,4\nx,5\n", ["row 3", "column '1'", "'x'"]),
        ("1,2\n3,1_000\n", ["row 2", "'1_000'"]),
        ("a,b\n", ["no row below"]),
        ("a,b", ["no row below"]),
        ("\n\n", ["empty"]),
        ("name\ncat\ndog\n", ["only column holds text"]),
        ("a;b\n1;2\n3;4;5\n", ["row 2 has 3 cells", "semicolons", "separator="]),
        (b"a,b\n1,\xff\n", ["UTF"]),
        (b"\x89PNG\r\n\x1a\n\x00\x00", ["not text"]),
        ("a,b\n1,2\n".encode("utf-16-le"), ["not text"]),  # without its byte order mark
        ("a,b\n1,2\n".encode("utf-16") + b"\x00\xd8", ["not the text"]),
        (b"PAR1\x00\x15\x04", ["not text"]),
    ],
)
def test_refused(read, text, words):
    with pytest.raises(FileFormatError) as caught:
        read(text)
    for word in ["t.csv", *words]:
        assert word in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_wide_line_fits(read):
    width = 60_000  # 1.4 MB, above Arrow's own block of a megabyte
    assert read(",".join(["1.25" + "0" * 18] * width) + "\n").values.shape == (1, width)


@pytest.mark.parametrize("missing", ["x", ["x"], ("x", "unknown")])
def test_further_spellings_of_missing(read, missing):
    text = "a,b\n1,x\nX,4\n"
    assert_array_equal(read(text, missing=missing).values, [[1, NAN], [NAN, 4]])
    with pytest.raises(FileFormatError, match=r"row 2, column 'a': 'X'.*missing="):
        read(text)


def test_a_first_line_with_a_further_spelling_is_a_row(read):
    assert_array_equal(read("1,?,3\n4,5,6\n", missing="?").values, [[1, NAN, 3], [4, 5, 6]])
    assert_array_equal(read("Unknown,2\n3,4\n", missing="unknown").values, [[NAN, 2], [3, 4]])


@pytest.mark.parametrize("missing", [99, "99", 99.0, [99]])
def test_numbers_that_stand_for_missing(read, missing):
    assert_array_equal(read("99.00,1\n9.9e1,99\n-99,990\n", missing=missing).values, [[NAN, 1], [NAN, NAN], [-99, 990]])


def test_a_number_stands_for_missing_in_other_formats_too(tmp_path):
    np.save(tmp_path / "x.npy", np.array([[0.1, 1]], np.float32))
    table = read_table(tmp_path / "x.npy", missing=0.1)
    assert_array_equal(table.values, [[NAN, 1]])
    assert table.values.dtype == np.float32
    with pytest.raises(InputError, match=r"missing='\?' is text"):
        read_table(tmp_path / "x.npy", missing="?")


def test_tabs(tmp_path):
    (tmp_path / "x.tsv").write_text("name\ta, b\tc\nu\t1\tNA\nv\t\t2\n")
    table = read_table(tmp_path / "x.tsv")
    assert_array_equal(table.values, [[1, NAN], [NAN, 2]])
    assert table.labels == ["u", "v"]
    assert table.columns == ["a, b", "c"]


def test_limit(read):
    table = read("id,a\nu,1\nv,2\nw,3\n", limit=2)
    assert_array_equal(table.values, [[1], [2]])
    assert table.labels == ["u", "v"]
    for wrong in (0, -1, 1.5, "2", True):
        with pytest.raises(InputError, match="limit="):
            read("1,2\n", limit=wrong)


@pytest.mark.parametrize("cell", ["5%", "$5", "(3.5)", "#DIV/0!"])
def test_numbers_written_for_people_are_no_labels(read, cell):
    text = f'price,a\n"{cell}",1\n"{cell}",2\n'
    with pytest.raises(InputError, match=r"first column, 'price', holds .* leave the name of the column empty"):
        read(text)
    table = read(text.replace("price", ""))
    assert table.labels == [cell, cell]


@pytest.mark.parametrize("labels", [["A-12", "B-7"], ["2020-01-02", "2020-01-03"], ["1st", "2nd"], ["5%", "control"]])
def test_labels_with_digits_are_labels(read, labels):
    table = read("group,a\n" + "".join(f"{label},{i}\n" for i, label in enumerate(labels)))
    assert table.labels == labels


def test_bytes_that_are_not_text_are_refused_in_words(read, tmp_path, capfd):
    (tmp_path / "t.csv").write_bytes(b"a,b\n1,2\n3,\xf94,5\n")
    with pytest.raises(FileFormatError, match="not text in UTF-8"):
        read_table(tmp_path / "t.csv")
    assert capfd.readouterr().err == ""  # Arrow's own reader prints a traceback there
