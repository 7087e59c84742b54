"""Trials in processes: every outcome is a row, and a solve over its limit is stopped."""

import contextlib
import os
import select
import signal
import subprocess
import sys
import time
from pathlib import Path

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


KILLED = """
from simcomplete._reproduction import workers

Worker = workers.Worker

def spy(process, *rest):
    print(process.pid, flush=True)
    return Worker(process, *rest)

workers.Worker = spy
at = {"dataset": "digits", "candidates": 1000, "queries": 200, "missing": 0.8, "seed": 0}
long = {"solver": "descent", "step": 1e-9, "tol": 0.0, "max_iter": 10**7, "rank": 50}
list(workers.run_in_processes([{**at, "method": "smcnn", "params": long}], limit=600.0))
"""


@pytest.mark.skipif(not hasattr(select, "poll") or not Path("/proc").is_dir(), reason="needs poll and /proc")
@pytest.mark.parametrize("seconds", [0.0, 5.0])
def test_a_trial_ends_with_the_process_that_started_it(seconds):
    parent = subprocess.Popen([sys.executable, "-c", KILLED], stdout=subprocess.PIPE, text=True)
    try:
        worker = int(parent.stdout.readline())
        time.sleep(seconds)  # it is loading, or solving
        assert _is_running(worker)
    finally:
        parent.kill()
        parent.wait()
        parent.stdout.close()
    deadline = time.monotonic() + 60
    while _is_running(worker) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _is_running(worker)


def _is_running(pid):
    with contextlib.suppress(OSError):
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] not in "ZX"
    return False


def test_several_at_a_time_give_the_same():
    trials = [{**SMALL, "seed": seed} for seed in range(3)]
    rows = {row["seed"]: row for row in workers.run_in_processes(trials, limit=60.0, jobs=2)}
    for trial in trials:
        assert rows[trial["seed"]]["error"] == pytest.approx(run_trial(trial, 60.0)["error"], rel=1e-12)
