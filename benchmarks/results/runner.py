"""Run the trials that have no row yet; those that share a problem run one after the other."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import groupby
from multiprocessing import get_context
from typing import Any

from threadpoolctl import threadpool_limits

from benchmarks.results import data
from benchmarks.results.page import PARTS
from benchmarks.results.trial import Trial, run
from simcomplete._compare.ledger import Ledger
from simcomplete._rows.progress import track

Row = dict[str, Any]


def run_all(parts: Sequence[str], book: Ledger, *, quick: bool, jobs: int) -> None:
    """Add the row of every trial that is not in the book and whose data are here."""
    done = {tuple(row[name] for name in book.key) for row in book.rows}
    wanted = [trial for part in parts for trial in PARTS[part].trials(quick) if data.there(trial.dataset)]
    left = [trial for trial in wanted if tuple(getattr(trial, name) for name in book.key) not in done]
    together = [list(group) for _, group in groupby(left, key=lambda trial: trial.setting)]
    for rows in track(_results(together, jobs), "trials", total=len(together)):
        for row in rows:
            book.add(row)


def solve(trials: Sequence[Trial]) -> list[Row]:
    """Rows of trials that share a problem, with one thread, so that seconds compare."""
    with threadpool_limits(limits=1):
        problem = PARTS[trials[0].part].problem(trials[0].setting)
        return [run(trial, problem) for trial in trials]


def _results(groups: Iterable[Sequence[Trial]], jobs: int) -> Iterator[list[Row]]:
    if jobs == 1:
        yield from map(solve, groups)
        return
    with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
        for future in as_completed([pool.submit(solve, group) for group in groups]):
            yield future.result()
