"""Choosing a method's parameters on the user's own data: hide what is known, see which setting finds it again.

Some candidates play queries: they lose the features that real queries lack, each setting completes them against the
other candidates, and the one nearest to the known truth wins. No ground truth about the real queries is needed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._result.completion import Completion
from simcomplete._rows.progress import track
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError, NotConvergedWarning
from simcomplete.metrics import recall_at

SIMULATED = 100  # candidates that play queries
REST = 2000  # candidates they are completed against
FEWEST = 8  # candidates without which there is nothing to hide


@dataclass(frozen=True)
class Rehearsal:
    """Candidates that play queries, and their true similarities to the others."""

    task: Task
    truth: NDArray[np.float64]

    @cached_property
    def start(self) -> NDArray[np.float64]:
        """Similarities over common features of the simulated queries: an error of 1."""
        return np.asarray(to_numpy(self.task.operator.dense())[self.task.n_candidates :], dtype=np.float64)

    @cached_property
    def unit(self) -> float:
        """What an error is measured by: that of the start, or the truth itself where nothing is missing."""
        gap = float(np.sum((self.start - self.truth) ** 2))
        whole = float(np.sum(self.truth**2))
        return gap if gap > 1e-20 * whole else whole or 1.0

    def score(self, method: Method, params: Mapping[str, Any]) -> tuple[float, float, Completion]:
        """Relative squared error of the queries' similarities, recall at 10, and the result itself."""
        task, own = setting(self.task, method, params)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", NotConvergedWarning)  # the score tells
            done = method.run(task, own)
        n_p = task.n_candidates
        S = to_numpy(done.similarity("queries"))
        error = float(np.sum((S - self.truth) ** 2)) / self.unit
        return error, float(recall_at(S[:, :n_p], self.truth[:, :n_p], k=10)), done


def run_tuned(method: Method, task: Task, params: dict[str, Any]) -> Completion:
    """Run a method with the best of its usual settings; what was tried is in `choice` of the result."""
    if not method.grid:
        raise InputError(f"method {method.name!r} has no settings to tune; leave tune out")
    rehearsal = rehearse(task)
    tried = []
    for option in track(method.grid, f"tuning {method.name}", task.progress):
        try:
            error = rehearsal.score(method, {**params, **option})[0]
        except (InputError, ArithmeticError, np.linalg.LinAlgError):
            error = float("inf")  # a setting that cannot be used here loses
        tried.append({**option, "error": error if np.isfinite(error) else float("inf")})
    best = min(range(len(tried)), key=lambda i: tried[i]["error"])
    if not np.isfinite(tried[best]["error"]):
        raise InputError(f"no setting of {method.name!r} gave a finite answer on these data; choose another method")
    done = method.run(*setting(task, method, {**params, **method.grid[best]}))
    return replace(done, choice={"tuned": dict(method.grid[best]), "tried": tried})


def rehearse(task: Task) -> Rehearsal:
    """Let some candidates play queries with the real queries' own masks."""
    if task.samples is None or task.queries is None:
        raise InputError("values of complete candidates must be hidden; give candidates and queries to complete()")
    P, Q = task.samples, task.queries.whole()
    n_p = task.samples.n
    if n_p < FEWEST:
        raise InputError(f"at least {FEWEST} candidates are needed to hide values of; {n_p} were given")
    rng = np.random.default_rng(task.seed())
    held = min(SIMULATED, n_p // 4)
    order = rng.permutation(n_p)[: held + REST]
    hidden = np.isnan(to_numpy(Q))[rng.integers(task.queries.n, size=held)]
    true, rest = (to_numpy(P.take(np.sort(some))) for some in (order[:held], order[held:]))
    others = HeldRows(P.like(rest))
    shown = _another(task, others, HeldRows(P.like(np.where(hidden, np.nan, true))))
    whole = _another(task, others, HeldRows(P.like(true)))
    truth = np.asarray(to_numpy(whole.operator.dense())[len(rest) :], dtype=np.float64)
    return Rehearsal(shown, truth)


def setting(task: Task, method: Method, params: Mapping[str, Any]) -> tuple[Task, dict[str, Any]]:
    """The task with the rank and penalty of a setting, and the method's own parameters."""
    changed = replace(task)
    changed.__dict__.update({k: v for k, v in vars(task).items() if k in ("operator", "_evidence", "table", "exact")})
    if "rank" in params:
        changed.rank, changed.rank_asked = min(int(params["rank"]), task.n), True
    changed.penalty = float(params.get("penalty", task.penalty))
    return changed, {name: value for name, value in params.items() if name in method.parameters}


def _another(task: Task, samples: RowTable, queries: RowTable) -> Task:
    """The same settings for other rows."""
    return Task(
        rank=min(task.rank, samples.n + queries.n),
        penalty=task.penalty,
        rank_asked=task.rank_asked,
        rng=np.random.default_rng(0),
        progress=False,
        measure=task.measure,
        samples=samples,
        queries=queries,
    )
