"""The runner: interrupted runs resume, and what is final is not run again."""

import pytest

from simcomplete._compare.ledger import Ledger
from simcomplete._reproduction import runner
from simcomplete._reproduction.protocol import load_protocol
from simcomplete._reproduction.rows import pair_cells, read_rows, rows_by_trial
from simcomplete._reproduction.trials import TRIAL_KEY, expand
from simcomplete.errors import InputError


@pytest.fixture
def fake(monkeypatch):
    """Cells that cost nothing; the list of trials that were run."""
    ran = []

    def run_in_processes(trials, limit, jobs=1):
        for trial in trials:
            ran.append(trial)
            if len(ran) == 3:
                raise KeyboardInterrupt
            over = trial["method"] == "smcnmf" and limit < 10
            yield {**trial, "outcome": "over budget" if over else "done", "limit": limit, "reason": None}

    monkeypatch.setattr(runner, "run_in_processes", run_in_processes)
    return ran


def test_a_killed_run_resumes(tmp_path, fake):
    one = load_protocol("smcnn-smcnmf").quick()
    with pytest.raises(KeyboardInterrupt):
        runner.run_protocols([one], tmp_path / "rows.jsonl", progress=False)
    assert len(read_rows(tmp_path / "rows.jsonl")) == 2
    assert runner.run_protocols([one], tmp_path / "rows.jsonl", limit=20, progress=False) == 2
    assert runner.run_protocols([one], tmp_path / "rows.jsonl", limit=20, progress=False) == 0
    assert len(fake) == 5


def test_over_the_limit_is_run_again_with_more_time_only(tmp_path, fake):
    one = load_protocol("smcnn-smcnmf").quick()
    fake.extend([None] * 3)
    assert runner.run_protocols([one], tmp_path / "rows.jsonl", limit=5, progress=False) == 4
    assert runner.run_protocols([one], tmp_path / "rows.jsonl", limit=5, progress=False) == 0
    assert runner.run_protocols([one], tmp_path / "rows.jsonl", limit=60, progress=False) == 2
    rows = rows_by_trial(read_rows(tmp_path / "rows.jsonl"))
    assert [row["outcome"] for _, row in pair_cells(one, rows)] == ["done"] * 4


def test_a_trial_without_data_is_run_again(tmp_path, fake):
    fake.extend([None] * 3)
    one = load_protocol("smcnn-smcnmf").quick()
    trials = [c.trial for c in expand(one)]
    ledger = Ledger(tmp_path / "rows.jsonl", TRIAL_KEY)
    ledger.add({**trials[0], "outcome": "failed", "reason": "no such file"})
    ledger.add({**trials[1], "outcome": "failed", "reason": "singular", "mask": "0"})
    assert runner.run_protocols([one], ledger.path, progress=False) == 3
    assert trials[1] not in fake


def test_common_trials_run_once(tmp_path, fake):
    fake.extend([None] * 3)
    both = [load_protocol("ablation").quick(), load_protocol("readings").quick()]
    assert runner.run_protocols(both, tmp_path / "rows.jsonl", progress=False) == len(expand(both[0]))


def test_jobs_are_counted(tmp_path):
    with pytest.raises(InputError, match="jobs=0"):
        runner.run_protocols([], tmp_path / "rows.jsonl", jobs=0)
