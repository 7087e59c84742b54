"""Text as other programs and people write it: what is read, and what is asked."""

from __future__ import annotations

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from simcomplete._cli.arguments import reading_in_options
from simcomplete.datasets import read_table
from simcomplete.errors import FileFormatError, InputError

NAN = np.nan


@pytest.fixture
def read(tmp_path):
    def reader(text, name="t.csv", **options):
        (tmp_path / name).write_text(text, encoding="utf-8")
        return read_table(tmp_path / name, **options)

    return reader


@pytest.mark.parametrize(
    "cell",
    ["NA", "Na", "n/a", "#N/A", "#NA", "<NA>", "n.a.", "NULL", "none", "NaN", "-nan", "?", "-", "--", ".", "..", ""],
)
def test_signs_for_missing(read, cell):
    assert_array_equal(read(f"n,x,y\na,{cell},1\nb,2,{cell}\nc,3,4\n").values, [[NAN, 1], [2, NAN], [3, 4]])


@pytest.mark.parametrize(
    ("cells", "numbers"),
    [
        (["1,234.5", "1,100", "3"], [1234.5, 1100, 3]),  # a point behind thousands leaves no doubt
        (["1,234,567", "12,500", "2.5"], [1234567, 12500, 2.5]),
        (["1.234,5", "2", "0,5"], [1234.5, 2, 0.5]),
        (["1.234.567", "1.100", "3"], [1234567, 1100, 3]),
        (["1'234", "12\u2019500", "3"], [1234, 12500, 3]),
        (["1 234,5", "1\u00a0100,25", "0,5"], [1234.5, 1100.25, 0.5]),
        (["\u22122", "\u22121.5e3", "+4"], [-2, -1500, 4]),
        (["True", "FALSE", "NA"], [1, 0, NAN]),
    ],
)
@pytest.mark.parametrize("first", [True, False])
def test_numbers_for_people(read, cells, numbers, first):
    lines = [f'"{cell}";{i}' if first else f'{i};"{cell}"' for i, cell in enumerate(cells)]
    table = read("\n".join(["a;b" if first else "b;a", *lines]))
    assert_array_equal(table.values[:, table.columns.index("a")], numbers)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        (
            ["1,234.5", "1.234,5"],
            "'1,234.5' is not a number in the notation of the others",
        ),  # both signs mean both things
        (["1,234.5", "12,34"], "'1,234.5' is not a number"),
        (["true", "yes"], "column 'a' holds text such as 'true'"),
        (["1 23", "4"], "'1 23' is not a number"),
        (["5%", "7%"], "'5%' is a formatted number.*drop='a'"),
        (["$5", "7"], "is a formatted number"),
        (["5", "#DIV/0!"], "'#DIV/0!' is not a number; if it means missing, use missing='#DIV/0!'"),
        (["1", "unknown", "3"], "row 2, column 'a': 'unknown' is not a number.*missing='unknown'"),
    ],
)
def test_what_has_no_one_reading_is_asked(read, cells, words):
    with pytest.raises(FileFormatError, match=words):
        read("n;a;b\n" + "".join(f"r{i};{cell};{i}\n" for i, cell in enumerate(cells)))


def test_all_columns_of_text_are_named_at_once(read):
    with pytest.raises(FileFormatError) as told:
        read('n,"x, y",kind,v\na,p,q,1\nb,p,r,2\n')
    assert "columns 'x, y', 'kind' hold text such as 'p'" in str(told.value)
    assert "drop=['x, y', 'kind']" in str(told.value)
    assert """--drop '"x, y",kind', or use --id of one""" in reading_in_options(str(told.value))


@pytest.mark.parametrize(
    ("text", "labels", "columns"),
    [
        ("a,b,\n1,2,\n3,,\n", None, ["a", "b"]),  # a separator ends every line,
        ("a,b\n1,2,\n3,,\n", None, ["a", "b"]),  # or every line but the first
        ('"a","b"\n"1",1,2\n"2",3,NA\n', ["1", "2"], ["a", "b"]),  # R numbers rows,
        ('"a"\t"b"\n"x"\t1\t2\n"y"\t3\tNA\n', ["x", "y"], ["a", "b"]),  # or names them, under no name
        ("# by a tool, with commas, four, in all\n#\na,b\n1,2\n3,\n", None, ["a", "b"]),
        ("# a,b\n1,2\n3,\n", None, ["a", "b"]),  # of numpy.savetxt
        ("#a,b\n1,2\n3,\n", None, ["#a", "b"]),
        ('a , "the b"\n1, 2\n3, \n', None, ["a", "the b"]),
        ("name,2001,2002,2003\nx,1,2,3\ny,3,NA,4\n", ["x", "y"], ["2001", "2002", "2003"]),
        (",2001,2002,2003\nx,1,2,3\ny,3,NA,4\n", ["x", "y"], ["2001", "2002", "2003"]),
    ],
)
def test_first_lines(read, text, labels, columns):
    table = read(text)
    assert (table.labels, table.columns) == (labels, columns)
    assert_array_equal(table.values[:, :2], [[1, 2], [3, NAN]])


def test_rows_that_begin_with_a_comment_sign_are_rows(read):
    assert read("#1,2,3\n#2,3,4\nx,1,2\n", header=False).labels == ["#1", "#2", "x"]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("2001,2002,2003\n1,2,3\n", r"\(2001, 2002, 2003, ...\) could name the columns"),
        ("My table\n\na,b\n1,2\n", "'My table', does not belong to the table below, whose lines have 2 cells"),
        ("a,b\n1,2,3\n4,5,6\n", "row 1 has 3 cells, the first line has 2"),  # no names of rows, so not from R
        ("a b\n1 2\n3 4\n", "separated by blanks: use separator=' '"),
        ('"a,b\n1,2\n', "quote"),
    ],
)
def test_first_lines_that_are_asked_about(read, text, words):
    with pytest.raises(FileFormatError, match=words):
        read(text)


def test_blanks_between_cells(read):
    assert_array_equal(read("a b\n1 2\n3 4\n", separator=" ").values, [[1, 2], [3, 4]])


def test_codes_are_asked_about(read):
    text = "zip,a,b\n01234,1,2\n10001,3,4\n"
    with pytest.raises(InputError, match=r"'01234'.*id='zip'.*drop='zip'.*columns="):
        read(text)
    assert read(text, id="zip").labels == ["01234", "10001"]
    assert read(text, drop="zip").values.shape == (2, 2)
    assert_array_equal(read(text, columns=["zip", "a", "b"]).values[0], [1234, 1, 2])
    assert_array_equal(read("a,b\n001,010\n2,3\n").values, [[1, 10], [2, 3]])  # all columns are written so


@pytest.mark.parametrize("text", ["a\tb\n1\t2\n3\t\n", "a,b\n1,2\n3,\n", "a;b\n1,0;2\n3;\n"])
def test_tables_in_txt_files(read, text):
    table = read(text, "t.txt")
    assert table.columns == ["a", "b"]
    assert_array_equal(table.values, [[1, 2], [3, NAN]])


def test_word_vectors_in_txt_files(read):
    table = read("the 1 2\n, 3 4\n. 5 6\n", "glove.txt")
    assert table.labels == ["the", ",", "."]
    with pytest.raises(FileFormatError, match=r"is it a table\? use format='csv'"):
        read("a b c\n1 2 3\n", "t.txt")
