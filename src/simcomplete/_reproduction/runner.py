"""Run protocols: rows are appended as they are made; a run that was interrupted continues where it stopped."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from simcomplete._compare.ledger import Ledger, trial_key
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.summary import QUIET_LOAD, is_quiet, is_timed
from simcomplete._reproduction.trials import TRIAL_KEY, check_only, expand, tried_original
from simcomplete._reproduction.workers import run_in_processes
from simcomplete._rows.progress import track
from simcomplete.errors import InputError


def run_protocols(
    protocols: Sequence[Protocol],
    path: Path,
    *,
    jobs: int = 1,
    limit: float | None = None,
    only: Sequence[str] = (),
    progress: bool | None = None,
    on_row: Callable[[dict[str, Any]], None] = lambda row: None,
) -> int:
    """Run the trials that have no row yet, and return how many those were.

    Parameters
    ----------
    protocols : sequence of Protocol
        Run in this order; a trial that several have in common is run once.
    path : Path
        The file of rows.
    jobs : int
        How many processes at a time.
    limit : float, optional
        Seconds of processor time for each solve, instead of the protocol's own.
    only : sequence of str
        See `expand`.
    progress : bool, optional
        None shows progress on a terminal, False never.
    on_row : callable
        Is called with every new row.
    """
    if jobs < 1:
        raise InputError(f"jobs={jobs} must be at least 1")
    check_only(protocols, only)
    ledger = Ledger(path, TRIAL_KEY)
    made = 0
    for protocol in protocols:
        seconds = protocol.time_limit if limit is None else limit
        trials = {trial_key(cell.trial, TRIAL_KEY): cell.trial for cell in expand(protocol, only)}
        time_again = is_timed(protocol) and _is_quiet_now()
        left = [trial for trial in trials.values() if not _is_final(ledger.find(trial), seconds, time_again)]
        for row in track(run_in_processes(left, seconds, jobs), protocol.name, progress, total=len(left)):
            on_row(ledger.add(row))
            made += 1
    return made


def _is_quiet_now() -> bool:
    """Whether timings of this moment would count."""
    return hasattr(os, "getloadavg") and os.getloadavg()[0] <= QUIET_LOAD


def _is_final(row: dict[str, Any] | None, limit: float, time_again: bool = False) -> bool:
    """Whether another run would not change the row: it finished, failed, or had as much time.

    Tuned without the authors' parameters among the settings is not finished.

    With `time_again` a row that was made beside other work is not final: its timings do not count.
    """
    if row is None or (time_again and not is_quiet(row)):
        return False
    if row["outcome"] == "over budget":
        return (row.get("limit") or 0.0) >= limit
    if row["outcome"] == "done":
        return tried_original(row)
    return "mask" in row  # without a mask it never started: its data were not there
