"""What is written is there whole or not at all, whoever else writes, reads, or was killed while writing."""

import errno
import os
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import simcomplete as sc
from simcomplete._rows import atomic, swap
from simcomplete._rows.atomic import DRAFT_ENDING, replacing
from simcomplete.errors import DiskFullError, InputError

HOLD = """
import sys, time
from pathlib import Path
from simcomplete._rows.atomic import replacing
with replacing(Path(sys.argv[1])) as draft:
    draft.write_text("half")
    print("now", flush=True)
    time.sleep(60)
"""


def drafts(folder):
    return [path for path in folder.iterdir() if path.name.endswith(DRAFT_ENDING)]


@pytest.fixture
def writer(tmp_path):
    """A process that has begun to write, and goes on for a minute unless it is killed."""
    run = subprocess.Popen([sys.executable, "-c", HOLD, str(tmp_path / "x")], stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "now\n"
    yield run
    run.kill()
    run.wait()
    run.stdout.close()


@pytest.mark.skipif(atomic.fcntl is None, reason="there are no locks")
def test_what_a_killed_process_left_is_removed(writer, tmp_path):
    writer.kill()
    writer.wait()
    assert len(drafts(tmp_path)) == 1
    (tmp_path / ".x.notes").mkdir()  # not ours
    with replacing(tmp_path / "other") as draft:
        draft.write_text("elsewhere")
    assert len(drafts(tmp_path)) == 1  # not for the same place
    with replacing(tmp_path / "x") as draft:
        draft.write_text("whole")
    assert sorted(path.name for path in tmp_path.iterdir()) == [".x.notes", "other", "x"]


def test_what_a_living_process_writes_is_left_alone(writer, tmp_path):
    with replacing(tmp_path / "x") as draft:
        draft.write_text("whole")
    assert len(drafts(tmp_path)) == 1
    assert writer.poll() is None


@pytest.fixture(params=[True, False], ids=["exchange", "move aside"])
def exchanging(request, monkeypatch):
    """Where the system can exchange two names, and where it cannot."""
    if not request.param:
        monkeypatch.setattr(swap, "exchange", lambda one, other: False)
    return request.param


def saved(value):
    return sc.complete(np.eye(3) * value + 1, method="smcnn", rank=2)


def test_a_reader_finds_the_old_or_the_new(tmp_path, exchanging):
    first, second = saved(1.0), saved(2.0)
    first.save(tmp_path / "done")
    right = [one.similarity() for one in (first, second)]
    stop, errors, seen = threading.Event(), [], [0, 0]

    def read():
        while not stop.is_set():
            try:
                found = sc.load(tmp_path / "done").similarity()
                seen[next(i for i, S in enumerate(right) if np.array_equal(S, found))] += 1
            except Exception as error:
                errors.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    deadline = time.monotonic() + 2
    while time.monotonic() < deadline:
        for one in (second, first):
            one.save(tmp_path / "done", overwrite=True)
    stop.set()
    reader.join()
    assert not errors
    assert min(seen) > 0


def test_two_writers_at_once(tmp_path, exchanging):
    errors = []

    def write(value):
        one = saved(value)
        for _ in range(15):
            try:
                one.save(tmp_path / "done", overwrite=True)
            except Exception as error:
                errors.append(error)

    writers = [threading.Thread(target=write, args=(value,)) for value in (1.0, 2.0, 3.0)]
    for thread in writers:
        thread.start()
    for thread in writers:
        thread.join()
    assert [error for error in errors if not isinstance(error, InputError)] == []
    sc.load(tmp_path / "done").validity  # noqa: B018
    assert [path.name for path in tmp_path.iterdir()] == ["done"]


@pytest.mark.parametrize("kind", ["file", "folder"])
def test_what_another_has_just_written_is_not_replaced(tmp_path, kind):
    with (
        pytest.raises(InputError, match="another process has just written it"),
        replacing(tmp_path / "x", new=True) as draft,
    ):
        for place in (draft, tmp_path / "x"):
            if kind == "folder":
                place.mkdir()
                place = place / "inside"
            place.write_text(str(place))
    where = tmp_path / "x" if kind == "file" else tmp_path / "x" / "inside"
    assert where.read_text() == str(where)
    assert not drafts(tmp_path)


def test_an_old_folder_comes_back_where_the_new_cannot_be_moved(tmp_path, monkeypatch):
    monkeypatch.setattr(swap, "exchange", lambda one, other: False)
    (tmp_path / "x").mkdir()
    (tmp_path / "x" / "old").write_text("old")

    def refuse(self, target):
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"), replacing(tmp_path / "x") as draft:
        draft.mkdir()
        monkeypatch.setattr(Path, "replace", refuse)
    assert (tmp_path / "x" / "old").read_text() == "old"


def test_a_disk_without_room_is_known_before(tmp_path):
    said = r"x: No space left on device: 1024\.0 TiB needed and .* free in"
    with pytest.raises(DiskFullError, match=said), replacing(tmp_path / "x", needed=2**50):
        pytest.fail("began to write")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG])
def test_a_full_disk_says_how_much_is_needed(tmp_path, number):
    (tmp_path / "x").write_text("old")
    said = rf"x: {os.strerror(number)}: 5\.0 KiB needed and"
    with pytest.raises(DiskFullError, match=said), replacing(tmp_path / "x", needed=lambda: 5 * 2**10) as draft:
        draft.write_text("half")
        raise OSError(number, os.strerror(number))
    assert (tmp_path / "x").read_text() == "old"
    assert len(list(tmp_path.iterdir())) == 1


def test_other_errors_of_the_system_stay_what_they_are(tmp_path):
    with pytest.raises(PermissionError) as caught, replacing(tmp_path / "x"):
        raise PermissionError(errno.EACCES, "not yours")
    assert "nothing was written" in caught.value.__notes__[0]


def test_a_file_never_takes_the_place_of_a_folder(tmp_path):
    folder = tmp_path / "reports"
    folder.mkdir()
    (folder / "mine.txt").write_text("keep")
    with pytest.raises(InputError, match="is a folder"), replacing(folder) as draft:
        draft.write_text("new")
    assert (folder / "mine.txt").read_text() == "keep"
    assert [one.name for one in tmp_path.iterdir()] == ["reports"]
