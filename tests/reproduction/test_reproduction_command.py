"""`simcomplete paper`: list, run and report."""

import json

import pytest
from typer.testing import CliRunner

from simcomplete._cli.app import app
from simcomplete._reproduction import runner
from simcomplete._reproduction.protocol import load_protocols
from simcomplete._reproduction.rows import read_rows


def test_the_commands(tmp_path):
    def call(*words, code=0):
        result = CliRunner().invoke(app, ["paper", *words])
        assert result.exit_code == code, result.output
        return result

    listed = json.loads(call("list", "--json").stdout)
    assert [one["name"] for one in listed] == [one.name for one in load_protocols()]
    assert "ablation" in call("list").stdout
    run = ["run", "smcnn-smcnmf", "--quick", "-o", str(tmp_path), "--only", "column=original", "--only", "method=smcnn"]
    assert json.loads(call(*run, "--json").stdout)["made"] == 1
    assert "0 new rows" in call(*run, "--verbose").stdout
    report = call("report", "smcnn-smcnmf", "--quick", "-o", str(tmp_path), "--pack", str(tmp_path / "r.jsonl.gz"))
    assert str(tmp_path / "index.html") in report.stdout
    assert len(read_rows(tmp_path / "r.jsonl.gz")) == 1
    assert "[SMCNN](../methods/smcnn.md) | original | 0." in (tmp_path / "smcnn-smcnmf.md").read_text(encoding="utf-8")
    assert "exclude each other" in call("run", "rank", "--quick", "--full", code=2).stderr
    assert "there is no protocol" in call("run", "best", code=2).stderr


def refused(*words):
    result = CliRunner().invoke(app, ["paper", *map(str, words)])
    assert result.exit_code == 2, result.output
    return result.stderr


@pytest.mark.parametrize(
    ("only", "said"),
    [
        (["method=smcn"], "no run of smcnn-smcnmf has method 'smcn'; --only method= takes smcnn, smcnmf"),
        (["method=smcnn", "dataset=mnist"], "has dataset 'mnist'; --only dataset= takes digits"),
        (["seed=3"], "has seed '3'; --only seed= takes 0; --full has more seeds"),
        (["step=1"], "has step '1'; it has no step"),
        (["queries=24", "missing"], "is not NAME=VALUE"),
    ],
)
def test_runs_that_are_not_there_are_not_chosen_in_silence(tmp_path, only, said):
    options = [word for one in only for word in ("--only", one)]
    assert said in refused("run", "smcnn-smcnmf", "--quick", "-o", tmp_path, *options)
    assert not list(tmp_path.iterdir())


def test_places_that_do_not_fit_are_refused_before_the_work(tmp_path):
    taken, folder = tmp_path / "taken", tmp_path / "folder"
    taken.touch()
    folder.mkdir()
    (folder / "mine.txt").write_text("keep")
    for words in (["run", "rank", "--quick"], ["report", "rank"]):
        assert f"{str(taken)!r} is a file; give the name of a folder" in refused(*words, "-o", taken)
        assert f"{str(taken)!r} is a file; give the name of a folder" in refused(*words, "-o", taken / "in")
    for option in ("--findings", "--pack"):
        assert f"{str(folder)!r} is a folder" in refused("report", "rank", "-o", tmp_path, option, folder)
    (tmp_path / "rows.jsonl").mkdir()
    assert "rows.jsonl' is a folder" in refused("run", "rank", "--quick", "-o", tmp_path)
    assert (folder / "mine.txt").read_text() == "keep"


def test_the_name_is_looked_at_before_the_rows(tmp_path):
    assert "there is no protocol 'best'" in refused("report", "best", "-o", tmp_path)


def test_rows_of_something_else_are_refused(tmp_path):
    (tmp_path / "rows.jsonl").write_text('{"method": "smcnn", "error": 0.5}\n')
    assert "row 1 has no 'dataset'" in refused("report", "all", "-o", tmp_path)


NO_DATA = {"outcome": "failed", "reason": "none is not a folder"}
KILLED = {"outcome": "failed", "reason": "its process ended with code -9", "mask": "a"}
TOO_LONG = {"outcome": "over budget", "reason": "stopped", "mask": "a"}
DONE = {"outcome": "done", "reason": None, "mask": "a"}


def run_three(folder, monkeypatch, *ends, options=()):
    """Run three trials that end as given, without processes."""

    def without_processes(trials, limit, jobs=1):
        for trial, end in zip(trials, ends, strict=True):
            yield {**trial, "limit": limit, **end}

    monkeypatch.setattr(runner, "run_in_processes", without_processes)
    only = ["--only", "dataset=mnist", "--only", "missing=0.8", *options]
    return CliRunner().invoke(app, ["paper", "run", "threshold", "-o", str(folder), *only])


def test_runs_that_failed_are_an_error_that_says_why(tmp_path, monkeypatch):
    result = run_three(tmp_path, monkeypatch, NO_DATA, KILLED, NO_DATA)
    assert result.exit_code == 2
    first, second, last = result.stderr.splitlines()
    assert first == "simcomplete: 2 runs failed: none is not a folder"
    assert second == "simcomplete: 1 run failed: its process ended with code -9"
    assert last.startswith("simcomplete: error: 3 of 3 runs failed")
    assert "3 new rows" in result.stdout  # what was done is said, too


def test_a_failure_that_is_stored_remains_an_error(tmp_path, monkeypatch):
    assert run_three(tmp_path, monkeypatch, DONE, KILLED, DONE).exit_code == 2
    again = run_three(tmp_path, monkeypatch, options=["--json"])  # nothing is left to run
    assert (again.exit_code, json.loads(again.stdout)["made"]) == (2, 0)
    assert "error: 1 of 3 runs failed" in again.stderr
    (failed,) = (row for row in read_rows(tmp_path / "rows.jsonl") if row["outcome"] == "failed")
    for penalty in (1e-4, 1e-3, 1e-2):
        result = run_three(tmp_path, monkeypatch, options=["--only", f"penalty={penalty}"])
        assert result.exit_code == (2 if penalty == failed["params"]["penalty"] else 0)  # only of what was asked for


def test_a_run_over_its_time_limit_is_a_result(tmp_path, monkeypatch):
    result = run_three(tmp_path, monkeypatch, DONE, TOO_LONG, TOO_LONG)
    assert (result.exit_code, result.stderr) == (0, "")
