"""Text as programs and people write it: other separators, decimal commas, packed files, other encodings."""

from __future__ import annotations

import bz2
import gzip
import io
import lzma

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from simcomplete.datasets import read_table
from simcomplete.errors import FileFormatError, InputError, MemoryLimitError

NAN = np.nan


@pytest.fixture
def read(tmp_path):
    def reader(text, name="t.csv", **options):
        (tmp_path / name).write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_table(tmp_path / name, **options)

    return reader


@pytest.mark.parametrize("separator", [",", ";", "\t", "|"])
@pytest.mark.parametrize("name", ["t.csv", "t.tsv"])
def test_the_separator_is_found(read, separator, name):
    table = read("name,a,b\ncat,1,2.5\ndog,,4\n".replace(",", separator), name)
    assert_array_equal(table.values, [[1, 2.5], [NAN, 4]])
    assert (table.labels, table.columns) == (["cat", "dog"], ["a", "b"])


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ('"a;b",c\n1,2\n', ["a;b", "c"]),
        ('"a\nb",c\r\n1,2\r\n', ["a\nb", "c"]),
        ("a|x;b|y;c|z\n1;2;3\n", ["a|x", "b|y", "c|z"]),
        ("sep=;\na;b\n1;2\n", ["a", "b"]),
        ("\n \na;b\n1;2\n", ["a", "b"]),
    ],
)
def test_quotes_and_other_signs_do_not_mislead(read, text, columns):
    table = read(text)
    assert table.columns == columns
    assert_array_equal(table.values[0], np.arange(1, len(columns) + 1))


def test_line_ends_in_quotes(read):
    table = read('name,a\n"two\nlines",1\nplain,2\n"say ""hi""",3\n')
    assert table.labels == ["two\nlines", "plain", 'say "hi"']
    assert_array_equal(table.values[:, 0], [1, 2, 3])


@pytest.mark.parametrize("text", ["1,5;2,25\n3;4\n", "1,5\t2,25\n3\t4\n", '"1,5","2,25"\n"3","4"\n'])
def test_decimal_commas_are_found(read, text):
    assert_array_equal(read(text).values, [[1.5, 2.25], [3, 4]])


def test_decimal_commas_below_a_header_far_down(read):
    lines = ["x;y"] + ["1;2"] * 5000 + ["-1,5e1;NA"]
    assert_array_equal(read("\n".join(lines)).values[-1], [-15, NAN])


def test_thousands_or_fractions_are_asked_about(read):
    text = "a;b\n1,234;2\n12,500;3\n"
    with pytest.raises(InputError, match=r"'1,234' \(row 1, column 'a'\).*decimal=','.*decimal='\.'"):
        read(text)
    assert_array_equal(read(text, decimal=",").values, [[1.234, 2], [12.5, 3]])
    assert_array_equal(read(text, decimal=".").values, [[1234, 2], [12500, 3]])
    assert_array_equal(read("a;b\n1,234;2\n0,5;3\n").values, [[1.234, 2], [0.5, 3]])  # no longer in doubt


def test_two_decimal_signs_are_refused(read):
    with pytest.raises(InputError, match=r"'1,5' \(row 1, column 'a'\) and '2.5' \(row 2, column 'b'\)"):
        read("a;b\n1,5;2\n3;2.5\n")


def test_points_for_thousands_where_the_comma_was_named(read):
    assert_array_equal(read("a;b\n1.234,5;1.000\n2;3\n", decimal=",").values, [[1234.5, 1000], [2, 3]])
    with pytest.raises(FileFormatError, match=r"row 1, column 'b': '1\.5'"):
        read("a;b\n1,5;1.5\n", decimal=",")


@pytest.mark.parametrize("cell", ["1,5x", "1,2,3", "1.2.3", "--1"])
def test_what_is_no_number_in_any_notation(read, cell):
    with pytest.raises(FileFormatError, match="column 'b'"):
        read(f"a;b\n1,5;{cell}\n")


@pytest.mark.parametrize("options", [{"decimal": "x"}, {"separator": ";;"}, {"separator": "\n"}, {"format": "xls"}])
def test_options_that_cannot_be(read, options):
    with pytest.raises(InputError, match=next(iter(options))):
        read("1,2\n", **options)


def test_an_explicit_separator(read):
    assert_array_equal(read("1:2\n3:4\n", separator=":").values, [[1, 2], [3, 4]])


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "utf-32"])
def test_encodings(read, encoding):
    table = read("name;größe\nzoë;1\n東京;2,5\n".encode(encoding))
    assert (table.labels, table.columns) == (["zoë", "東京"], ["größe"])
    assert_array_equal(table.values[:, 0], [1, 2.5])


def test_utf_16_across_blocks(read):
    labels = [f"名前{i}" for i in range(40_000)]
    table = read(("n;a\n" + "".join(f"{label};{i}\n" for i, label in enumerate(labels))).encode("utf-16"))
    assert table.labels == labels
    assert_array_equal(table.values[:, 0], np.arange(40_000))


@pytest.mark.parametrize(("ending", "pack"), [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)])
def test_packed_text(read, ending, pack):
    assert_array_equal(read(pack(b"a;b\n1;2\n"), f"t.csv{ending}").values, [[1, 2]])
    assert_array_equal(read(pack(b"a\tb\n1\t2\n"), f"t.tsv{ending}").values, [[1, 2]])
    with pytest.raises(FileFormatError, match=rf"t\.csv{ending}"):
        read(pack(b"a;b\n1;2\n" * 1000)[:-9], f"t.csv{ending}")


def test_a_label_that_reads_na_stays_a_label(read):
    table = read("country,a\nDE,1\nNA,2\nFR,NA\n")
    assert table.labels == ["DE", "NA", "FR"]
    assert_array_equal(table.values[:, 0], [1, 2, NAN])


def test_a_column_of_gaps_with_a_typing_error_is_no_label(read):
    with pytest.raises(FileFormatError, match="row 3, column 'a': 'x'"):
        read("a,b\nNA,1\nNA,2\nx,3\n")


def test_open_files(tmp_path):
    values = np.array([[1.0, 2], [3, NAN]])
    stream = io.BytesIO()
    np.save(stream, values)
    np.savez(tmp_path / "x.npz", X=values)
    for raw in (b"1;2\n3;?\n", gzip.compress(b"1,2\n3,\n"), stream.getvalue(), (tmp_path / "x.npz").read_bytes()):
        assert_array_equal(read_table(io.BytesIO(raw)).values, values)
    with pytest.raises(FileFormatError, match=r"^the open file: row 2 has 1 cells"):
        read_table(io.BytesIO(b"1,2\n3\n"))
    with pytest.raises(InputError, match="binary mode"):
        read_table(io.StringIO("1,2"))
    with pytest.raises(InputError, match="neither a path nor an open file"):
        read_table(3)


def test_an_endless_stream_is_refused(monkeypatch):
    class Endless:
        name = "endless"

        def read(self, size):
            return b"1,2\n" * (size // 4)

    monkeypatch.setenv("SIMCOMPLETE_MEMORY", "5 MB")
    with pytest.raises(MemoryLimitError, match="endless has more than"):
        read_table(Endless())


def test_a_named_format_goes_before_the_name(tmp_path):
    (tmp_path / "x.txt").write_text("a;b\n1;2\n")
    assert_array_equal(read_table(tmp_path / "x.txt", format="csv").values, [[1, 2]])


@settings(max_examples=60, deadline=None)
@given(
    values=st.lists(st.lists(st.floats(-1e6, 1e6) | st.just(NAN), min_size=3, max_size=3), min_size=1, max_size=6),
    separator=st.sampled_from(",;\t|"),
    comma=st.booleans(),
)
def test_what_was_written_is_read(tmp_path_factory, values, separator, comma):
    comma = comma and separator != ","
    sign = "," if comma else "."
    lines = (separator.join("" if v != v else repr(v).replace(".", sign) for v in row) for row in values)
    text = "".join(line + "\n" for line in lines)
    path = tmp_path_factory.mktemp("t") / "t.csv"
    path.write_text("x" + separator + "y" + separator + "z\n" + text)
    try:
        found = read_table(path).values
    except InputError as error:
        assert "decimal" in str(error)  # a question, never a wrong answer
        found = read_table(path, decimal=sign).values
    assert_array_equal(found, values)
