"""Files of changes that were damaged, or put together by someone else, and disks that are full."""

import random
import sqlite3

import numpy as np
import pytest

from simcomplete._serve.journal import Journal
from simcomplete.errors import DiskFullError, FileFormatError, SimcompleteError

ROWS = np.random.default_rng(0).random((40, 5))
IDS = [f"a{i}" for i in range(40)]


@pytest.fixture
def path(tmp_path):
    path = tmp_path / "changes.sqlite"
    journal = Journal(path, "m", 5)
    journal.record(ROWS, IDS, [{"x": i} for i in range(40)], ["gone"])
    journal.close()
    return path


def recorded(path):
    journal = Journal(path, "m", 5)
    try:
        return journal.recorded()
    finally:
        journal.close()


def test_what_was_recorded_is_there(path):
    found = recorded(path)
    np.testing.assert_array_equal(found.rows, ROWS)
    assert found.ids == IDS and set(found.gone) == {"gone", *IDS}


@pytest.mark.parametrize(
    ("statement", "words"),
    [
        ("UPDATE put SET row = zeroblob(80)", "5 values"),
        ("UPDATE put SET row = 'text'", "damaged"),
        ("UPDATE put SET payload = '['", "damaged"),
        ("INSERT INTO gone VALUES ('[[')", "damaged"),
        ("UPDATE about SET value = 'other'", "another model"),
        ("CREATE TRIGGER t AFTER INSERT ON put BEGIN DELETE FROM put; END", "trigger"),
        ("CREATE VIEW v AS SELECT * FROM put", "view"),
    ],
)
def test_what_another_program_put_there_is_refused(path, statement, words):
    with sqlite3.connect(path) as base:
        base.execute(statement)
    base.close()
    with pytest.raises(FileFormatError, match=words):
        recorded(path)


def test_rows_that_are_not_finite_are_refused(path):
    with sqlite3.connect(path) as base:
        base.execute("UPDATE put SET row = ?", (np.full(5, np.inf).tobytes(),))
    base.close()
    with pytest.raises(FileFormatError, match="finite"):
        recorded(path)


def test_a_damaged_file_is_read_or_refused(path):
    raw = path.read_bytes()
    refused = 0
    for seed in range(150):
        rng = random.Random(seed)
        damaged = bytearray(raw)
        if seed % 2:
            del damaged[rng.randrange(len(damaged)) :]
        else:
            at = rng.randrange(len(damaged))
            damaged[at : at + 64] = rng.randbytes(64)
        for old in path.parent.glob("changes.sqlite*"):
            old.unlink()
        path.write_bytes(damaged)
        try:
            recorded(path)
        except SimcompleteError:
            refused += 1
    assert refused > 20


def test_a_change_that_finds_no_room_is_not_made(path):
    journal = Journal(path, "m", 5)
    pages = journal.base.execute("PRAGMA page_count").fetchone()[0]
    journal.base.execute(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(DiskFullError, match="full"):
        journal.record(np.ones((5000, 5)), [f"b{i}" for i in range(5000)], [None] * 5000, ["a0"])
    assert journal.recorded().ids == IDS
    journal.close()


def test_the_service_says_that_there_is_no_room(ask, service):
    base = service.journal.base
    base.execute(f"PRAGMA max_page_count = {base.execute('PRAGMA page_count').fetchone()[0]}")
    rows = np.random.default_rng(1).random((3000, 5)).tolist()
    answer = ask("PUT", "/v1/candidates", {"rows": rows, "ids": [f"n{i}" for i in range(3000)]})
    assert answer.status == 507 and "not made" in answer.json["error"]
    assert len(service.served.candidates().candidates_) == 60
