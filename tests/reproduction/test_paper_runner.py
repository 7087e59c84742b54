"""The runner: every outcome is a row, killed runs resume, cells over their limit are stopped."""

import gzip
import json
import os
import time

import pytest
from typer.testing import CliRunner

from simcomplete._cli.app import app
from simcomplete._reproduction import cell, protocol, runner, workers
from simcomplete._reproduction.trials import expand
from simcomplete.errors import FileFormatError, InputError

AT = {"dataset": "digits", "candidates": 60, "queries": 10, "missing": 0.5, "seed": 0}
SMALL = {**AT, "method": "smcnn", "params": {"rank": 5}}


def die(line, trial, limit):
    os._exit(7)


def sleep(line, trial, limit):
    line.send_bytes(b'"solving"')
    time.sleep(600)


def test_a_row_has_everything():
    stages = []
    row = cell.run(SMALL, 60.0, stages.append)
    assert stages == ["solving", "solved"]
    assert row["outcome"] == "done"
    for name in ("error", "error_off_candidates", "recall_fifth", "recall_all_rows", "ndcg", "ndcg_graded"):
        assert 0 <= row[name] < 2
    assert row["rank"] == 5 <= row["rank_absolute"]
    assert row["peak_mib"] >= row["start_mib"] > 0
    assert {"mask", "seconds", "cpu_seconds", "numpy", "machine", "cores", "commit", "load", "limit"} <= set(row)
    assert (row["candidates_used"], row["features"]) == (60, 64)


def test_the_same_trial_hides_the_same_values():
    rows = [
        cell.run(trial, 60.0)
        for trial in (SMALL, SMALL, {**SMALL, "seed": 1}, {**SMALL, "method": "mean", "params": {}})
    ]
    masks = [row["mask"] for row in rows]
    assert masks[0] == masks[1] == masks[3] != masks[2]
    assert rows[0]["error"] == rows[1]["error"]


def test_the_block_reading_is_that_of_putting_it_back():
    # With the candidate block put back, it has no error: the whole error is that of the rest.
    kept = cell.run({**SMALL, "params": {"rank": 5, "keep_candidates": True}}, 60.0)
    free = cell.run(SMALL, 60.0)
    assert kept["error"] == pytest.approx(free["error_off_candidates"], rel=1e-10)
    assert kept["error"] < free["error"]


def test_a_set_with_too_few_rows_gives_all_it_has():
    row = cell.run({**AT, "candidates": 5000, "method": "overlap", "params": {}}, 60.0)
    assert row["candidates_used"] == 1797 - 10


def test_tuning_shares_its_time():
    row = cell.run({**AT, "method": "nnfn", "params": {"tune": True}}, 60.0)
    assert row["choice"] in [{"penalty": p} for p in (1e-4, 3e-4, 1e-3, 3e-3, 1e-2)]
    assert cell._shared("nnfn", {"tune": True}, 60.0) == {"tune": True, "time_limit": 10.0}
    assert cell._shared("nnfn", {}, 60.0) == {}
    assert cell._shared("smcnn", {"tune": True}, 60.0) == {"tune": True}  # exact: nothing to stop


def test_absent_data_is_a_row(monkeypatch):
    monkeypatch.delenv("SIMCOMPLETE_DATA", raising=False)
    row = cell.run({**SMALL, "dataset": "mnist"}, 60.0)
    assert row["outcome"] == "failed"
    assert "needs these files" in row["reason"]


def test_a_failure_is_a_row():
    (row,) = workers.outcomes([{**SMALL, "params": {"rank": 999}}], limit=60.0)
    assert row["outcome"] == "failed"
    assert "rank=999" in row["reason"]


def test_a_solve_that_does_not_stop_is_killed(monkeypatch):
    monkeypatch.setattr(workers, "_work", sleep)
    monkeypatch.setattr(workers, "GRACE", 0.0)
    began = time.monotonic()
    (row,) = workers.outcomes([SMALL], limit=0.2)
    assert time.monotonic() - began < 60
    assert (row["outcome"], row["seconds"], row["limit"]) == ("over budget", None, 0.2)
    assert row["reason"] == "stopped: solving took more than 0.2 s"
    assert row["numpy"]


def test_a_process_that_dies_is_a_row(monkeypatch):
    monkeypatch.setattr(workers, "_work", die)
    (row,) = workers.outcomes([SMALL], limit=60.0)
    assert row["outcome"] == "failed"
    assert "code 7 while loading" in row["reason"]


def test_several_at_a_time_give_the_same():
    trials = [{**SMALL, "seed": seed} for seed in range(3)]
    rows = {row["seed"]: row for row in workers.outcomes(trials, limit=60.0, jobs=2)}
    for trial in trials:
        assert rows[trial["seed"]]["error"] == pytest.approx(cell.run(trial, 60.0)["error"], rel=1e-12)


@pytest.fixture
def fake(monkeypatch):
    """Cells that cost nothing; the list of trials that were run."""
    ran = []

    def outcomes(trials, limit, jobs=1):
        for trial in trials:
            ran.append(trial)
            if len(ran) == 3:
                raise KeyboardInterrupt
            late = trial["method"] == "smcnmf" and limit < 10
            yield {**trial, "outcome": "over budget" if late else "done", "limit": limit, "reason": None}

    monkeypatch.setattr(runner, "outcomes", outcomes)
    return ran


def test_a_killed_run_resumes(tmp_path, fake):
    one = protocol.load("smcnn-smcnmf").quick()
    with pytest.raises(KeyboardInterrupt):
        runner.run([one], tmp_path / "rows.jsonl", progress=False)
    assert len(runner.read(tmp_path / "rows.jsonl")) == 2
    assert runner.run([one], tmp_path / "rows.jsonl", limit=20, progress=False) == 2
    assert runner.run([one], tmp_path / "rows.jsonl", limit=20, progress=False) == 0
    assert len(fake) == 5


def test_over_the_limit_is_run_again_with_more_time_only(tmp_path, fake):
    one = protocol.load("smcnn-smcnmf").quick()
    fake.extend([None] * 3)
    assert runner.run([one], tmp_path / "rows.jsonl", limit=5, progress=False) == 4
    assert runner.run([one], tmp_path / "rows.jsonl", limit=5, progress=False) == 0
    assert runner.run([one], tmp_path / "rows.jsonl", limit=60, progress=False) == 2
    rows = runner.index(runner.read(tmp_path / "rows.jsonl"))
    assert [row["outcome"] for _, row in runner.gather(one, rows)] == ["done"] * 4


def test_what_never_began_is_run_again(tmp_path, fake):
    fake.extend([None] * 3)
    one = protocol.load("smcnn-smcnmf").quick()
    trials = [c.trial for c in expand(one)]
    book = runner.Ledger(tmp_path / "rows.jsonl", runner.KEY)
    book.add({**trials[0], "outcome": "failed", "reason": "no such file"})
    book.add({**trials[1], "outcome": "failed", "reason": "singular", "mask": "0"})
    assert runner.run([one], book.path, progress=False) == 3
    assert trials[1] not in fake


def test_common_trials_run_once(tmp_path, fake):
    fake.extend([None] * 3)
    both = [protocol.load("ablation").quick(), protocol.load("readings").quick()]
    assert runner.run(both, tmp_path / "rows.jsonl", progress=False) == len(expand(both[0]))


def test_jobs_are_counted(tmp_path):
    with pytest.raises(InputError, match="jobs=0"):
        runner.run([], tmp_path / "rows.jsonl", jobs=0)


def test_packed_rows_are_the_same_rows(tmp_path):
    rows = [{**SMALL, "outcome": "over budget"}, {**SMALL, "seed": 1}, {**SMALL, "outcome": "done"}]
    runner.pack(rows, tmp_path / "a.jsonl.gz")
    runner.pack([*rows[::-2], rows[1], rows[2]], tmp_path / "b.jsonl.gz")
    assert runner.index(runner.read(tmp_path / "a.jsonl.gz")) == runner.index(rows)
    assert (tmp_path / "a.jsonl.gz").read_bytes() == (tmp_path / "b.jsonl.gz").read_bytes()


@pytest.mark.parametrize("raw", [b"[1]\n", b"{", b"\xff\xfe", b"1\n"])
def test_other_files_are_refused(tmp_path, raw):
    (tmp_path / "rows.jsonl").write_bytes(raw)
    (tmp_path / "rows.jsonl.gz").write_bytes(gzip.compress(raw)[:-9])
    for name in ("rows.jsonl", "rows.jsonl.gz"):
        with pytest.raises(FileFormatError, match="not a file of rows"):
            runner.read(tmp_path / name)
    with pytest.raises(InputError, match="paper run"):
        runner.read(tmp_path / "none.jsonl")


def test_the_commands(tmp_path):
    def call(*words, code=0):
        told = CliRunner().invoke(app, ["paper", *words])
        assert told.exit_code == code, told.output
        return told

    listed = json.loads(call("list", "--json").stdout)
    assert [one["name"] for one in listed] == [one.name for one in protocol.load_all()]
    assert "ablation" in call("list").stdout
    run = ["run", "smcnn-smcnmf", "--quick", "-o", str(tmp_path), "--only", "column=original", "--only", "method=smcnn"]
    assert json.loads(call(*run, "--json").stdout)["made"] == 1
    told = call(*run, "--verbose")
    assert "0 new rows" in told.stdout
    report = call("report", "smcnn-smcnmf", "--quick", "-o", str(tmp_path), "--pack", str(tmp_path / "r.jsonl.gz"))
    assert str(tmp_path / "index.html") in report.stdout
    assert len(runner.read(tmp_path / "r.jsonl.gz")) == 1
    assert "SMCNN | original | 0." in (tmp_path / "smcnn-smcnmf.md").read_text(encoding="utf-8")
    assert "exclude each other" in call("run", "rank", "--quick", "--full", code=2).stderr
    assert "there is no protocol" in call("run", "best", code=2).stderr
