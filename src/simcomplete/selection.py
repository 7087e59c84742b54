"""`auto`: which method for these data? Hide what is known, let methods stand for election, keep the best.

The answer names its choice and shows the table it was chosen from.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete.completion import Completion
from simcomplete.errors import InputError, NotConvergedWarning, SimcompleteError
from simcomplete.inputs import check_number
from simcomplete.method import Method
from simcomplete.progress import track
from simcomplete.registry import find, parameters
from simcomplete.task import Task
from simcomplete.tuning import FEWEST, Rehearsal, rehearse

# Good and cheap, cheapest first; every other method can be named in `elect`.
ELECTORATE = ("overlap", "mean", "smcnn", "lr", "fmc", "posterior")
OWN = {"budget": 30.0, "elect": None, "objective": "error"}


def complete_auto(task: Task, params: dict[str, Any]) -> Completion:
    """Complete with the method that finds hidden values of these data best.

    Parameters
    ----------
    task : Task
        What to complete.
    params : dict
        `budget` (seconds, 30), `elect` (names of methods), `objective` ("error" or "recall"), and parameters that go to
        every method in the election that has them.
    """
    settings = {name: params.pop(name, default) for name, default in OWN.items()}
    budget = check_number(settings["budget"], "budget")
    if settings["objective"] not in ("error", "recall"):
        raise InputError(f"objective={settings['objective']!r} is unknown; use 'error' or 'recall'")
    names = tuple(settings["elect"] or ELECTORATE)
    rows = [find(name) for name in names]
    _check_names(rows, params)
    without = _without_election(task)
    if without is not None:
        method = find(without)
        done = method.run(task, parameters(method, _fitting(method, params, settings["objective"])))
        return replace(done, election=[], params={**done.params, "chosen_by": "auto"})
    rehearsal = rehearse(task)
    table = _campaign(rows, rehearsal, params, settings, budget, task.progress)
    return _elected(task, table, params, settings["objective"])


def _campaign(
    rows: Sequence[Method],
    rehearsal: Rehearsal,
    params: dict[str, Any],
    settings: dict[str, Any],
    budget: float,
    progress: bool | None,
) -> list[dict[str, Any]]:
    """Run every method on the simulated queries, each within its share of what is left of the budget."""
    table: list[dict[str, Any]] = []
    left = budget
    for position, method in enumerate(track(rows, "election", progress)):
        share = max(left, 0.0) / (len(rows) - position)
        table.append(_stand(method, rehearsal, _fitting(method, params, settings["objective"]), share))
        left -= table[-1]["seconds"]
    return table


def _stand(method: Method, rehearsal: Rehearsal, given: dict[str, Any], share: float) -> dict[str, Any]:
    """One method's row in the election."""
    row: dict[str, Any] = {"method": method.name, "error": None, "recall": None, "seconds": 0.0, "note": ""}
    start = time.perf_counter()
    if share <= 0:
        return {**row, "note": "not run: the budget was spent"}
    own = parameters(method, given)
    if own.get("solver") != "exact" and "time_limit" in own and own["time_limit"] is None:
        own["time_limit"] = share
    try:
        error, recall, done = rehearsal.score(method, own)
    except (SimcompleteError, ArithmeticError, ValueError, np.linalg.LinAlgError) as problem:
        return {**row, "seconds": time.perf_counter() - start, "note": f"failed: {' '.join(str(problem).split())}"}
    seconds = time.perf_counter() - start
    note = ""
    if done.status.code == "time_limit":
        note = f"stopped after its share of {share:.1f} s"
    elif not np.isfinite(error):
        return {**row, "seconds": seconds, "note": "failed: its answer is not finite"}
    return {**row, "error": error, "recall": recall, "seconds": seconds, "note": note}


def _elected(task: Task, table: list[dict[str, Any]], params: dict[str, Any], objective: str) -> Completion:
    """Run the winner; should it fail on the real data, the next, and say so."""
    ranked = sorted(
        (row for row in table if row["error"] is not None),
        key=lambda row: (row["error"],) if objective == "error" else (-row["recall"], row["error"]),
    )
    for row in ranked:
        method = find(row["method"])
        try:
            done = method.run(task, parameters(method, _fitting(method, params, objective)))
        except (SimcompleteError, ArithmeticError, np.linalg.LinAlgError) as problem:
            row["note"] = f"elected, but failed: {' '.join(str(problem).split())}"
            warnings.warn(
                f"auto: {row['method']} {row['note']}; taking the next best", NotConvergedWarning, stacklevel=2
            )
            continue
        row["note"] = "elected" + (f", {row['note']}" if row["note"] else "")
        return replace(done, election=table, params={**done.params, "chosen_by": "auto"})
    reasons = "; ".join(f"{row['method']}: {row['note']}" for row in table)
    warnings.warn(f"auto: no method could be elected ({reasons}); this is S0", NotConvergedWarning, stacklevel=2)
    return replace(find("overlap").run(task, {}), election=table)


def _without_election(task: Task) -> str | None:
    """The method to take where no known values can be hidden, or None where they can."""
    if task.queries is not None and task.n_candidates >= FEWEST:
        return None
    if task.given is None:
        return "posterior"
    # Only similarities: with an exact block the posterior filter, else the nearest valid matrix while it is affordable.
    if task.given_candidates is not None and task.given_candidates < task.n:
        return "posterior"
    return "dmc" if task.n <= 2000 else "smcnn"


def _fitting(method: Method, params: dict[str, Any], objective: str) -> dict[str, Any]:
    """Those parameters that a method has; objective goes to methods that know it."""
    given = {**params, "objective": objective}
    return {name: value for name, value in given.items() if name in method.parameters}


def _check_names(rows: Sequence[Method], params: dict[str, Any]) -> None:
    """Refuse a parameter that no method in the election has."""
    for name in params:
        if not any(name in method.parameters for method in rows):
            known = ", ".join(OWN)
            raise InputError(f"method 'auto' has no parameter {name!r}; it takes {known} and those of its methods")
