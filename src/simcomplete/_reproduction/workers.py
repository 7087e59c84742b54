"""Trials in processes: a new one for each, killed when its solve takes too long."""

from __future__ import annotations

import contextlib
import json
import multiprocessing as mp
import os
import select
import signal
import threading
import time
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from multiprocessing import resource_tracker
from multiprocessing.connection import Connection, wait
from typing import Any

from simcomplete._compare.trial import machine
from simcomplete._reproduction.cpu_limit import ended_by_the_system, was_ended_by_the_system
from simcomplete._reproduction.run_trial import program_facts, run_trial
from simcomplete._result.plain import plain

# Seconds for loading the data and for measuring, which are not part of the time limit.
SETUP_SECONDS = 900.0
# Limits are processor time. A busy machine gives a process a small part of its time, so wall-clock time only ends
# what does not compute at all.
WALL_CLOCK_SHARE = 40.0


@dataclass
class Worker:
    """A process that runs one trial, its deadline, and the stage it is in."""

    process: Any
    trial: dict[str, Any]
    deadline: float
    stage: str = "loading"


def run_in_processes(trials: Sequence[dict[str, Any]], limit: float, jobs: int = 1) -> Iterator[dict[str, Any]]:
    """Run trials and yield a row for each as it finishes, in any order.

    Parameters
    ----------
    trials : sequence of dict
        From `expand`.
    limit : float
        Seconds of processor time for each solve. Iterative methods stop there; a process that takes longer is ended.
    jobs : int
        How many processes at a time.
    """
    kind = "forkserver" if "forkserver" in mp.get_all_start_methods() else "spawn"
    context: Any = mp.get_context(kind)
    if kind == "forkserver":  # imports once, not once a trial
        context.set_forkserver_preload([run_trial.__module__, "sklearn.datasets"])
    waiting = deque(trials)
    running: dict[Connection, Worker] = {}
    try:
        while waiting or running:
            while waiting and len(running) < jobs:
                ours, theirs = context.Pipe(duplex=False)
                trial = waiting.popleft()
                process = context.Process(target=_work, args=(theirs, trial, limit), daemon=True)
                with _interruptions_later():
                    process.start()
                theirs.close()
                running[ours] = Worker(process, trial, time.monotonic() + SETUP_SECONDS)
            next_deadline = min(worker.deadline for worker in running.values())
            ready = wait(list(running), max(0.0, next_deadline - time.monotonic()))
            for pipe in [pipe for pipe in running if pipe in ready]:
                row = _receive(pipe, running[pipe], limit)
                if row is not None:
                    _end(pipe, running.pop(pipe))
                    yield row
            for pipe in [pipe for pipe, worker in running.items() if time.monotonic() > worker.deadline]:
                worker = running.pop(pipe)
                _end(pipe, worker)
                yield _stopped(worker, limit)
    finally:
        for pipe, worker in running.items():
            _end(pipe, worker)


@contextlib.contextmanager
def _interruptions_later() -> Iterator[None]:
    """Hold Ctrl-C back while processes are started, so that they are started with it held back, and stay so.

    A terminal sends it to all processes: one that is still loading modules would end with a traceback of its own.
    """
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    # Python starts this one with the first process, and lets Ctrl-C through again when it has: so before.
    resource_tracker.ensure_running()
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _receive(pipe: Connection, worker: Worker, limit: float) -> dict[str, Any] | None:
    """Read a message of a worker: the stage that it is in, or its row, which is returned."""
    try:
        message = json.loads(pipe.recv_bytes())
    except (EOFError, OSError):
        worker.process.join()
        if was_ended_by_the_system(worker.process.exitcode):
            return _stopped(worker, limit)
        reason = f"its process ended with code {worker.process.exitcode} while {worker.stage}; out of memory?"
        return {**_row_start(worker, limit), "outcome": "failed", "reason": reason, "seconds": None}
    if isinstance(message, str):
        worker.stage = message
        worker.deadline = time.monotonic() + (WALL_CLOCK_SHARE * limit if message == "solving" else SETUP_SECONDS)
        return None
    return dict(message)


def _stopped(worker: Worker, limit: float) -> dict[str, Any]:
    reason = f"stopped: {worker.stage} took more than {limit if worker.stage == 'solving' else SETUP_SECONDS:g} s"
    return {**_row_start(worker, limit), "outcome": "over budget", "reason": reason, "seconds": None}


def _row_start(worker: Worker, limit: float) -> dict[str, Any]:
    return {**worker.trial, "limit": limit, **machine(), **program_facts()}


def _end(pipe: Connection, worker: Worker) -> None:
    worker.process.kill()
    worker.process.join()
    pipe.close()


def _end_without_reader(pipe: Connection) -> None:
    """End this process when nothing reads its pipe any more: the parent was killed, and would leave it computing."""
    if not hasattr(select, "poll"):  # Windows
        return
    watched = select.poll()
    watched.register(pipe.fileno(), 0)  # errors are reported always

    def wait() -> None:
        watched.poll()
        os._exit(1)

    threading.Thread(target=wait, daemon=True).start()


def _work(pipe: Connection, trial: Mapping[str, Any], limit: float) -> None:
    """Run a trial in the new process, and send its stages and its row."""
    _end_without_reader(pipe)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends its workers

    def send(message: Any) -> None:
        with contextlib.suppress(BrokenPipeError):
            pipe.send_bytes(json.dumps(plain(message), allow_nan=False).encode())

    guard = contextlib.ExitStack()

    def stage(message: str) -> None:
        guard.close()
        if message == "solving":
            guard.enter_context(ended_by_the_system(limit))
        send(message)

    with guard:
        row = run_trial(trial, limit, stage)
    send(row)
