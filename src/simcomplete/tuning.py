"""Choosing a method's parameters on the user's own data: hide what is known, see which setting finds it again.

Some candidates play queries: they lose the features that real queries lack, each setting completes them against the
other candidates, and the one nearest to the known truth wins. No ground truth about the real queries is needed.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete.arrays import like, to_numpy
from simcomplete.completion import Completion
from simcomplete.errors import InputError, NotConvergedWarning
from simcomplete.inputs import Samples
from simcomplete.method import Method
from simcomplete.progress import track
from simcomplete.task import Task

MOST = 100  # simulated queries


def run_tuned(method: Method, task: Task, params: dict[str, Any]) -> Completion:
    """Run a method with the best of its usual settings; what was tried is in `choice` of the result."""
    if not method.grid:
        raise InputError(f"method {method.name!r} has no settings to tune; leave tune out")
    rehearsal, truth = simulate(task)
    tried = []
    for setting in track(method.grid, f"tuning {method.name}", task.progress):
        error = score(method, rehearsal, {**params, **setting}, truth)
        tried.append({**setting, "error": error})
    best = min(range(len(tried)), key=lambda i: tried[i]["error"])
    if not np.isfinite(tried[best]["error"]):
        raise InputError(f"no setting of {method.name!r} gave a finite answer on these data; choose another method")
    done = method.run(task_with(task, method.grid[best]), {**params, **_own(method, method.grid[best])})
    return replace(done, choice={"tuned": dict(method.grid[best]), "tried": tried})


def simulate(task: Task) -> tuple[Task, np.ndarray[Any, np.dtype[np.float64]]]:
    """Let some candidates play queries; return that task and the true similarities of those to the rest."""
    if task.samples is None or task.queries is None:
        raise InputError("tune=True hides values of complete candidates; give candidates and queries to complete()")
    P, Q = task.samples.values, task.queries.values
    n_p = task.samples.n
    if n_p < 8:
        raise InputError(f"tune=True needs at least 8 candidates to hide values of; {n_p} were given")
    rng = np.random.default_rng(task.seed())
    held = min(MOST, n_p // 4)
    order = rng.permutation(n_p)
    rows = to_numpy(P)
    hidden = np.isnan(to_numpy(Q))[rng.integers(task.queries.n, size=held)]
    truth_rows, rest = rows[order[:held]], rows[order[held:]]
    queries = np.where(hidden, np.nan, truth_rows)
    rehearsal = replace_task(task, Samples(like(rest, P), None), Samples(like(queries, P), None))
    whole = replace_task(task, Samples(like(rest, P), None), Samples(like(truth_rows, P), None))
    return rehearsal, to_numpy(whole.operator.dense())


def score(method: Method, task: Task, params: dict[str, Any], truth: np.ndarray[Any, Any]) -> float:
    """Relative squared error off the candidate block, or infinity where the method fails."""
    n_p = task.n_candidates
    start = to_numpy(task.operator.dense())
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)
            setting = {name: value for name, value in params.items() if name in ("rank", "penalty")}
            own = {name: value for name, value in params.items() if name not in setting}
            S = to_numpy(method.run(task_with(task, setting), own).similarity())
    except (InputError, ArithmeticError, np.linalg.LinAlgError):
        return float("inf")
    # Queries only: all that a method is asked for, and no method is rewarded for the candidate block it was given.
    error = float(np.sum((S[n_p:] - truth[n_p:]) ** 2) / np.sum((start[n_p:] - truth[n_p:]) ** 2))
    return error if np.isfinite(error) else float("inf")


def replace_task(task: Task, samples: Samples, queries: Samples) -> Task:
    """The same settings for other rows."""
    n = samples.n + queries.n
    return Task(
        rank=min(task.rank, n),
        penalty=task.penalty,
        rank_asked=task.rank_asked,
        rng=np.random.default_rng(0),
        progress=False,
        measure=task.measure,
        samples=samples,
        queries=queries,
    )


def task_with(task: Task, setting: Any) -> Task:
    """The task with another rank or penalty, where a setting has one; what was computed for it stays."""
    for name in ("rank", "penalty"):
        if name in setting:
            value = setting[name]
            setattr(task, name, min(int(value), task.n) if name == "rank" else float(value))
            task.rank_asked = task.rank_asked or name == "rank"
    return task


def _own(method: Method, setting: Any) -> dict[str, Any]:
    return {name: value for name, value in setting.items() if name in method.parameters}
