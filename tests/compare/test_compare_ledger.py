"""The file of rows: resumed, refused where it is another file, and indexed once."""

from __future__ import annotations

import json

import numpy as np
import pytest

from simcomplete._compare import ledger as ledger_module
from simcomplete._compare.ledger import Ledger, trial_key
from simcomplete.errors import DiskFullError, FileFormatError

KEY = ("method", "seed")


def test_a_line_cut_short_is_run_again(tmp_path):
    ledger = Ledger(tmp_path / "rows.jsonl", KEY)
    ledger.add({"method": "a", "seed": 1})
    with ledger.path.open("a") as file:
        file.write('{"method": "b", "se')
    again = Ledger(ledger.path, KEY)
    assert [row["method"] for row in again.rows] == ["a"]
    again.add({"method": "c", "seed": 1})
    assert [row["method"] for row in Ledger(ledger.path, KEY).rows] == ["a", "c"]


def test_a_foreign_ledger_is_refused(tmp_path):
    (tmp_path / "rows.jsonl").write_text("name,value\n")
    with pytest.raises(FileFormatError, match="line 1"):
        Ledger(tmp_path / "rows.jsonl", KEY)


@pytest.mark.parametrize(
    ("line", "words"), [(b'\xff\xfe{"a": 1}', "line 2.*UTF-8"), (b"[" * 100_000, "line 2.*nested too deeply")]
)
def test_a_line_that_is_no_row_is_refused(tmp_path, line, words):
    (tmp_path / "rows.jsonl").write_bytes(b'{"method": "a"}\n' + line + b"\n")
    with pytest.raises(FileFormatError, match=words):
        Ledger(tmp_path / "rows.jsonl", KEY)


def test_a_full_disk_leaves_no_part_of_a_row(tmp_path):
    resource = pytest.importorskip("resource")
    ledger = Ledger(tmp_path / "rows.jsonl", KEY)
    ledger.add({"method": "a", "seed": 1})
    before = ledger.path.read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(before) + 20, limits[1]))
    try:
        with pytest.raises(DiskFullError, match=r"rows\.jsonl: .* needed"):
            ledger.add({"method": "b", "seed": 1, "note": "x" * 100})
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert ledger.path.read_bytes() == before


def test_of_several_rows_of_a_trial_the_newest_counts(tmp_path):
    ledger = Ledger(tmp_path / "rows.jsonl", KEY)
    ledger.add({"method": "a", "seed": 1, "outcome": "over budget"})
    ledger.add({"method": "a", "seed": 1, "outcome": "done"})
    for one in (ledger, Ledger(ledger.path, KEY)):
        assert one.find({"method": "a", "seed": 1})["outcome"] == "done"
        assert [row["outcome"] for row in one.rows] == ["over budget", "done"]
    assert ledger.find({"method": "a", "seed": 2}) is None


def test_numbers_of_numpy_identify_a_trial_as_pythons_do(tmp_path):
    ledger = Ledger(tmp_path / "rows.jsonl", KEY)
    ledger.add({"method": "a", "seed": np.int64(1)})
    assert ledger.find({"method": "a", "seed": 1}) == ledger.find({"method": "a", "seed": np.int32(1)})
    assert trial_key({"seed": (1, 2), "method": None}, KEY) == trial_key({"method": None, "seed": [1, 2]}, KEY)


def test_a_look_up_serialises_no_stored_row(tmp_path, monkeypatch):
    """Only the trial that is looked up is serialised, however many rows there are."""
    ledger = Ledger(tmp_path / "rows.jsonl", KEY)
    for seed in range(50):
        ledger.add({"method": "a", "seed": seed})
    again = Ledger(ledger.path, KEY)
    calls = []

    def counted(value, **options):
        calls.append(value)
        return json.dumps(value, **options)

    class Counting:
        dumps = staticmethod(counted)
        loads = staticmethod(json.loads)

    monkeypatch.setattr(ledger_module, "json", Counting)
    for one in (ledger, again):
        for seed in range(60):
            assert (one.find({"method": "a", "seed": seed}) is None) == (seed >= 50)
    assert calls == [["a", seed] for seed in range(60)] * 2
