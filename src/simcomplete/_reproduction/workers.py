"""Cells in processes of their own: a fresh one each, killed when its solve takes too long."""

from __future__ import annotations

import contextlib
import json
import multiprocessing as mp
import signal
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any

from simcomplete._compare.trial import machine
from simcomplete._reproduction import cell
from simcomplete._result.plain import plain

# Loading and measuring are not the solve; they have this many seconds each before something must be wrong.
PATIENCE = 900.0
# A method that stops by itself does so at the limit, give or take an iteration and these seconds.
GRACE = 3.0


@dataclass
class Worker:
    """A process at work on one trial, until when it may take, and what it does."""

    process: Any
    trial: dict[str, Any]
    until: float
    stage: str = "loading"


def outcomes(trials: Sequence[dict[str, Any]], limit: float, jobs: int = 1) -> Iterator[dict[str, Any]]:
    """Run trials and yield a row for each as it ends, in any order.

    Parameters
    ----------
    trials : sequence of dict
        From `expand`.
    limit : float
        Seconds for each solve. A method that can stop is asked to; one that does not is killed.
    jobs : int
        How many at a time.
    """
    kind = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
    context: Any = mp.get_context(kind)
    if kind == "forkserver":  # imports once, not once a cell
        context.set_forkserver_preload([cell.__name__, "sklearn.datasets"])
    left = deque(trials)
    running: dict[Connection, Worker] = {}
    try:
        while left or running:
            while left and len(running) < jobs:
                mine, theirs = context.Pipe(duplex=False)
                trial = left.popleft()
                process = context.Process(target=_work, args=(theirs, trial, limit), daemon=True)
                process.start()
                theirs.close()
                running[mine] = Worker(process, trial, time.monotonic() + PATIENCE)
            soonest = min(worker.until for worker in running.values())
            ready = wait(list(running), max(0.0, soonest - time.monotonic()))
            for line in [line for line in running if line in ready]:
                row = _heard(line, running[line], limit)
                if row is not None:
                    _end(line, running.pop(line))
                    yield row
            for line in [line for line, worker in running.items() if time.monotonic() > worker.until]:
                worker = running.pop(line)
                _end(line, worker)
                yield _stopped(worker, limit)
    finally:
        for line, worker in running.items():
            _end(line, worker)


def _heard(line: Connection, worker: Worker, limit: float) -> dict[str, Any] | None:
    """Note how far a worker is, or return its row."""
    try:
        told = json.loads(line.recv_bytes())
    except (EOFError, OSError):
        worker.process.join()
        reason = f"its process ended with code {worker.process.exitcode} while {worker.stage}; out of memory?"
        return {**_facts(worker, limit), "outcome": "failed", "reason": reason, "seconds": None}
    if isinstance(told, str):
        worker.stage = told
        worker.until = time.monotonic() + (1.25 * limit + GRACE if told == "solving" else PATIENCE)
        return None
    return dict(told)


def _stopped(worker: Worker, limit: float) -> dict[str, Any]:
    reason = f"stopped: {worker.stage} took more than {limit if worker.stage == 'solving' else PATIENCE:g} s"
    return {**_facts(worker, limit), "outcome": "over budget", "reason": reason, "seconds": None}


def _facts(worker: Worker, limit: float) -> dict[str, Any]:
    return {**worker.trial, "limit": limit, **machine(), **cell.facts()}


def _end(line: Connection, worker: Worker) -> None:
    worker.process.kill()
    worker.process.join()
    line.close()


def _work(line: Connection, trial: Mapping[str, Any], limit: float) -> None:
    """Run in the new process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent decides

    def send(told: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            line.send_bytes(json.dumps(plain(told), allow_nan=False).encode())

    send(cell.run(trial, limit, send))
