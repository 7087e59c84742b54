"""A history of ratios: what counts as worse, what is shown in red, and what is written."""

import json
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks import track  # noqa: E402


def run(ratio, machine="A, 2 cores", name="a / b", commit="abc"):
    return {"commit": commit, "machine": machine, "ratios": {name: ratio}}


def test_a_fifth_above_the_best_before_is_worse():
    runs = [run(1.0), run(1.19), run(1.21), run(0.9), run(1.1)]
    assert track.worsened(runs) == {(2, "a / b"): 1.21, (4, "a / b"): pytest.approx(1.1 / 0.9)}


def test_small_steps_add_up():
    """Each is less than a fifth above the one before it; the third is more than a fifth above the first."""
    assert list(track.worsened([run(1.0), run(1.1), run(1.21)])) == [(2, "a / b")]


def test_machines_and_names_are_told_apart():
    runs = [run(1.0), run(2.0, machine="B, 8 cores"), run(2.0, name="c / d"), run(2.1, machine="B, 8 cores")]
    assert track.worsened(runs) == {}


def test_what_is_worse_is_red():
    runs = [run(1.0), run(1.5)]
    assert track.RED in track.shown(runs, colour=True)
    plain = track.shown(runs, colour=False)
    assert track.RED not in plain
    assert "a fifth worse" in plain
    assert "best before 1.00" in plain
    assert "worse" not in track.shown(runs[:1], colour=True)


def test_runs_are_appended(tmp_path):
    path = tmp_path / "history.jsonl"
    assert track.read(path) == []
    track.append(path, run(1.0))
    track.append(path, run(2.0))
    assert [entry["ratios"]["a / b"] for entry in track.read(path)] == [1.0, 2.0]


def test_the_picture_has_red_only_where_something_worsened(tmp_path):
    pytest.importorskip("matplotlib")
    track.draw([run(1.0), run(1.1)], tmp_path / "good.svg")
    track.draw([run(1.0), run(1.5)], tmp_path / "bad.svg")
    assert "#ff0000" not in (tmp_path / "good.svg").read_text()
    assert "#ff0000" in (tmp_path / "bad.svg").read_text()
    track.draw([run(1.0), run(1.1)], tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text() == (tmp_path / "good.svg").read_text()


def test_ratios_are_those_of_processor_time():
    def work(times):
        return lambda: [sum(range(20_000)) for _ in range(times)]

    assert track.measured({"x": (work(40), work(10))})["x"] > 1.5


def test_every_line_of_the_history_can_be_read():
    runs = track.read(track.HISTORY)
    assert runs
    for entry in runs:
        assert {"commit", "date", "machine", "ratios"} <= set(entry)
        assert all(ratio > 0 for ratio in entry["ratios"].values())
        assert "cores" in entry["machine"]
        assert json.dumps(entry)


@pytest.mark.parametrize("check", [True, False])
def test_check_ends_with_a_status(tmp_path, monkeypatch, check):
    pytest.importorskip("matplotlib")
    path = tmp_path / "history.jsonl"
    track.append(path, run(1.0))
    track.append(path, run(3.0))
    picture = ["--picture", str(tmp_path / "p.svg")]
    monkeypatch.setattr(sys, "argv", ["track", "--no-run", "--history", str(path), *picture, *["--check"] * check])
    if check:
        with pytest.raises(SystemExit, match="1"):
            track.main()
    else:
        track.main()
    assert (tmp_path / "p.svg").exists()
