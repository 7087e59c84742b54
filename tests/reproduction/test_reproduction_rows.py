"""Stored rows: compressed and read again, and other files refused."""

import gzip

import pytest

from simcomplete._reproduction.rows import pack_rows, read_rows, rows_by_trial
from simcomplete.errors import FileFormatError, InputError, InputWarning

AT = {"dataset": "digits", "candidates": 60, "queries": 10, "missing": 0.5, "seed": 0}
SMALL = {**AT, "method": "smcnn", "params": {"rank": 5}}


def test_packed_rows_are_the_same_rows(tmp_path):
    rows = [{**SMALL, "outcome": "over budget"}, {**SMALL, "seed": 1}, {**SMALL, "outcome": "done"}]
    pack_rows(rows, tmp_path / "a.jsonl.gz")
    pack_rows([*rows[::-2], rows[1], rows[2]], tmp_path / "b.jsonl.gz")
    assert rows_by_trial(read_rows(tmp_path / "a.jsonl.gz")) == rows_by_trial(rows)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize("raw", [b"[1]\n", b"{", b"\xff\xfe", b"1\n"])
def test_other_files_are_refused(tmp_path, raw):
    (tmp_path / "rows.jsonl").write_bytes(raw)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(raw)[:-9])
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        with pytest.raises(FileFormatError, match="not a file of rows"):
            read_rows(tmp_path / name)
    with pytest.raises(InputError, match="paper run"):
        read_rows(tmp_path / "none.jsonl")


def test_a_last_row_that_is_cut_off_is_left_out(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"seed": 0}\n{"seed": 1}\n{"se')
    with pytest.warns(InputWarning, match="line 3, is cut off"):
        assert read_rows(path) == [{"seed": 0}, {"seed": 1}]
    path.write_text('{"seed": 0}\n{"se\n{"seed": 1}')
    with pytest.raises(FileFormatError, match="not a file of rows: line 2"):
        read_rows(path)
