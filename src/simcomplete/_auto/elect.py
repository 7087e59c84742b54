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

from simcomplete._auto.holdout import FEWEST, Rehearsal, rehearse
from simcomplete._method.problem import Task
from simcomplete._method.spec import Method
from simcomplete._registry import find, parameters
from simcomplete._result.completion import Completion
from simcomplete._rows.progress import track
from simcomplete._rows.validate import check_number
from simcomplete.errors import InputError, NotConvergedWarning, SimcompleteError

# Good and cheap, cheapest first; every other method can be named in `elect`.
ELECTORATE = ("overlap", "mean", "smcnn", "lr", "fmc", "posterior")
EQUAL = 1e-12  # errors below this are rounding
OWN = {"budget": 30.0, "elect": None, "objective": "error"}


def complete_auto(task: Task, params: dict[str, Any]) -> Completion:
    """Complete with the method that finds hidden values of these data best.

    Parameters
    ----------
    task : Task
        What to complete.
    params : dict
        `budget` (seconds, 30), `elect` (names), `objective` ("error" or "recall"), and parameters of methods:
        only those that have all of them stand for election.
    """
    settings = {name: params.pop(name, default) for name, default in OWN.items()}
    budget = check_number(settings["budget"], "budget")
    if settings["objective"] not in ("error", "recall"):
        raise InputError(f"objective={settings['objective']!r} is unknown; use 'error' or 'recall'")
    names = tuple(settings["elect"] or ELECTORATE)
    rows = _with_parameters([find(name) for name in names], params)
    without = _without_election(task)
    if without is not None or (params and len(rows) == 1):
        usual = find(without) if without else rows[0]
        method = usual if all(name in usual.parameters for name in params) else rows[-1]
        own = _fitting(method, params, settings["objective"])
        if task.known is not None and method.name == "dmc":
            own = {"variant": "fixed", **own}  # the one that holds entries
        done = method.run(task, parameters(method, own))
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
    # Of equals (nothing was missing, say) the last, which knows most.
    ranked = sorted(
        (row for row in reversed(table) if row["error"] is not None),
        key=lambda row: (0.0 if objective == "error" else -row["recall"], max(row["error"], EQUAL)),
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
        plain = task.measure.metric == "cosine" and not task.measure.positive
        return "posterior" if plain else "smcnn"
    # Only similarities: with an exact block the posterior filter, else the nearest valid matrix while it is affordable.
    if task.given_candidates is not None and task.given_candidates < task.n:
        return "posterior"
    return "dmc" if task.n <= 2000 else "smcnn"


def _fitting(method: Method, params: dict[str, Any], objective: str) -> dict[str, Any]:
    """Those parameters that a method has; objective goes to methods that know it."""
    given = {**params, "objective": objective}
    return {name: value for name, value in given.items() if name in method.parameters}


def _with_parameters(rows: Sequence[Method], params: dict[str, Any]) -> list[Method]:
    """Those methods that have every parameter given: who asks for a solver wants a method that has one."""
    fit = [method for method in rows if all(name in method.parameters for name in params)]
    if not fit:
        given = ", ".join(map(repr, params))
        raise InputError(
            f"no method in the election ({', '.join(method.name for method in rows)}) has the parameter {given}; "
            f"'auto' itself takes {', '.join(OWN)}: name a method, or leave it out"
        )
    return fit
