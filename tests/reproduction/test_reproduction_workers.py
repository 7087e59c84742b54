"""Trials in processes: every outcome is a row, and a solve over its limit is stopped."""

import os
import signal
import time

import pytest

from simcomplete._reproduction import cpu_limit, workers
from simcomplete._reproduction.run_trial import run_trial

AT = {"dataset": "digits", "candidates": 60, "queries": 10, "missing": 0.5, "seed": 0}
SMALL = {**AT, "method": "smcnn", "params": {"rank": 5}}


def die(pipe, trial, limit):
    os._exit(7)


def sleep(pipe, trial, limit):
    pipe.send_bytes(b'"solving"')
    time.sleep(600)


def compute(pipe, trial, limit):
    with cpu_limit.ended_by_the_system(limit):
        pipe.send_bytes(b'"solving"')
        while True:
            pass


def test_a_failure_is_a_row():
    (row,) = workers.run_in_processes([{**SMALL, "params": {"rank": 999}}], limit=60.0)
    assert row["outcome"] == "failed"
    assert "rank=999" in row["reason"]


def test_a_solve_that_does_not_stop_is_killed(monkeypatch):
    monkeypatch.setattr(workers, "_work", sleep)
    monkeypatch.setattr(workers, "WALL_CLOCK_SHARE", 2.0)
    began = time.monotonic()
    (row,) = workers.run_in_processes([SMALL], limit=0.2)
    assert time.monotonic() - began < 60
    assert (row["outcome"], row["seconds"], row["limit"]) == ("over budget", None, 0.2)
    assert row["reason"] == "stopped: solving took more than 0.2 s"
    assert row["numpy"]


@pytest.mark.skipif(not hasattr(signal, "SIGXCPU"), reason="no limit of processor time here")
def test_a_solve_that_computes_too_long_is_ended(monkeypatch):
    monkeypatch.setattr(workers, "_work", compute)
    began = time.monotonic()
    (row,) = workers.run_in_processes([SMALL], limit=0.1)
    assert time.monotonic() - began < 120
    assert (row["outcome"], row["reason"]) == ("over budget", "stopped: solving took more than 0.1 s")


def test_the_limit_of_the_system_is_lifted_again():
    resource = pytest.importorskip("resource")
    before = resource.getrlimit(resource.RLIMIT_CPU)
    with cpu_limit.ended_by_the_system(1e6):
        assert resource.getrlimit(resource.RLIMIT_CPU)[0] > 1e6
    assert resource.getrlimit(resource.RLIMIT_CPU) == before


def test_a_process_that_dies_is_a_row(monkeypatch):
    monkeypatch.setattr(workers, "_work", die)
    (row,) = workers.run_in_processes([SMALL], limit=60.0)
    assert row["outcome"] == "failed"
    assert "code 7 while loading" in row["reason"]


def test_several_at_a_time_give_the_same():
    trials = [{**SMALL, "seed": seed} for seed in range(3)]
    rows = {row["seed"]: row for row in workers.run_in_processes(trials, limit=60.0, jobs=2)}
    for trial in trials:
        assert rows[trial["seed"]]["error"] == pytest.approx(run_trial(trial, 60.0)["error"], rel=1e-12)
