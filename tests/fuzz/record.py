"""Findings: what went wrong, made small, written down once, and run again."""

from __future__ import annotations

import json
import os
import re
import signal
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from time import monotonic
from typing import Any

import numpy as np

from simcomplete.errors import InputWarning, NotConvergedWarning

from .calls import run
from .case import Case
from .checks import ViolatedError

FOLDER = Path(__file__).parent
FAILURES = FOLDER / "failures"
COUNT = FOLDER / "count.json"
PACKAGE = f"{os.sep}simcomplete{os.sep}"
PATIENCE = 30  # seconds that a case may take; a tenth of one is usual


class TooLongError(BaseException):
    """A case that does not end; not an Exception, so that nothing on the way catches it."""


@dataclass(frozen=True)
class Finding:
    """What went wrong. Two findings with the same key have the same cause, as far as can be told."""

    key: str
    message: str
    case: Case

    def __str__(self) -> str:
        return f"{self.key}\n    {self.message}\n    {self.case}"


def tried(case: Case) -> Finding | str:
    """Run a case: what went wrong, or why it was refused; nothing where it was answered."""
    try:
        with _bounded(PATIENCE), warnings.catch_warnings():
            warnings.simplefilter("error")
            warnings.simplefilter("ignore", NotConvergedWarning)
            warnings.simplefilter("ignore", InputWarning)  # rows drawn may be all alike, empty, or a matrix
            return run(case)
    except ViolatedError as error:
        return Finding(f"{error.args[0]} [{case.method}, {case.form}]", f"violated: {error.args[1]}", case)
    except (Exception, TooLongError) as error:
        return Finding(f"{type(error).__name__} in {_place(error)}", f"{error} [{case.method}, {case.form}]", case)


def smaller(finding: Finding, seconds: float = 4.0) -> Finding:
    """The same finding with less of everything, as far as a few seconds take it."""
    end = monotonic() + seconds
    progress = True
    while progress and monotonic() < end:
        progress = False
        for case in _simpler(finding.case):
            if monotonic() > end:
                break
            found = tried(case)
            if isinstance(found, Finding) and found.key == finding.key:
                finding, progress = found, True
                break
    return finding


def save(finding: Finding, folder: Path) -> Path:
    """Write a finding down under a name made of its key; another case with that key gets a number after its name."""
    folder.mkdir(parents=True, exist_ok=True)
    name = re.sub(r"[^a-z0-9]+", "-", finding.key.lower()).strip("-")[:120]
    facts = {"key": finding.key, "message": finding.message[:2000], "case": finding.case.as_json()}
    paths = (folder / f"{name}{'' if number == 1 else f'-{number}'}.json" for number in count(1))
    path = next(path for path in paths if not path.exists() or str(load(path)) == str(finding.case))
    path.write_text(json.dumps(facts, indent=1) + "\n", encoding="utf-8")
    return path


def load(path: Path) -> Case:
    """The case of a finding that was written down."""
    return Case.from_json(json.loads(path.read_text(encoding="utf-8"))["case"])


def counted(run_facts: dict[str, Any], path: Path = COUNT) -> dict[str, Any]:
    """Add a run to the count of all runs, and return the count."""
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"] if path.exists() else []
    runs.append(run_facts)
    # The examples since a finding: what was found and mended before does not count against what is there now.
    clean = 0
    for entry in runs:
        clean = 0 if entry["findings"] else clean + entry["examples"]
    totals = {"examples": sum(entry["examples"] for entry in runs), "since_a_finding": clean, "runs": runs}
    path.write_text(json.dumps(totals, indent=1) + "\n", encoding="utf-8")
    return totals


def _simpler(case: Case) -> Iterator[Case]:
    """Cases with less: fewer looks, settings, rows, columns, and rounder numbers."""
    for look in case.looks:
        yield replace(case, looks=tuple(other for other in case.looks if other != look))
    for key in case.settings:
        yield replace(case, settings={name: value for name, value in case.settings.items() if name != key})
    if case.dtype != "float64":
        yield replace(case, dtype="float64")
    if case.form in ("matrix", "repair"):
        for i in range(len(case.rows)):
            yield replace(case, rows=np.delete(np.delete(case.rows, i, 0), i, 1))
        return
    for part in (16, 4, 1):
        for i in range(0, len(case.rows) - part, part):
            yield replace(case, rows=np.delete(case.rows, slice(i, i + part), 0))
    if case.queries is not None:
        for i in range(len(case.queries) if len(case.queries) > 1 else 0):
            yield replace(case, queries=np.delete(case.queries, i, 0))
    for j in range(case.rows.shape[1] if case.rows.shape[1] > 1 else 0):
        queries = None if case.queries is None else np.delete(case.queries, j, 1)
        yield replace(case, rows=np.delete(case.rows, j, 1), queries=queries)
    for change in (np.sign, np.round, lambda x: np.round(x, 2), _one_digit):
        yield from _rounded(case, change)


def _rounded(case: Case, change: Callable[[Any], Any]) -> Iterator[Case]:
    rows, queries = change(case.rows), None if case.queries is None else change(case.queries)
    if not np.array_equal(rows, case.rows, equal_nan=True):
        yield replace(case, rows=rows)
    if queries is not None and not np.array_equal(queries, case.queries, equal_nan=True):
        yield replace(case, queries=queries)


def _one_digit(rows: np.ndarray) -> np.ndarray:
    return np.array([[float(f"{value:.0e}") for value in row] for row in rows])


def _place(error: BaseException) -> str:
    """The innermost function of the package on the way to an error, or of these tests where there is none."""
    frames = traceback.extract_tb(error.__traceback__)
    inside = [frame for frame in frames if PACKAGE in frame.filename] or frames
    path = inside[-1].filename
    where = path.rsplit(PACKAGE, 1)[-1] if PACKAGE in path else Path(path).name
    return f"{where}:{inside[-1].name}"


@contextmanager
def _bounded(seconds: int) -> Iterator[None]:
    def end(*_: object) -> None:
        raise TooLongError(f"not done after {seconds} seconds")

    before = signal.signal(signal.SIGALRM, end)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
