"""`auto`: choose a method by hiding known values and comparing how well each method recovers the similarities.

The result names the chosen method; its `election` is the table of scores that decided.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from simcomplete._auto.all_rows import ROW_METHODS, posterior_with_holdout, rows_to_score
from simcomplete._auto.holdout import (
    FAILURES,
    MIN_CANDIDATES,
    NUMBERS_FAILED,
    SHARED_FROM,
    SharedRun,
    TrialRow,
    failed,
    hold_out,
    plan,
    row,
    run_shared,
    score_all,
    sizes_of_holdout,
)
from simcomplete._method.params import Number, Words, parameter
from simcomplete._method.problem import AllRows, CandidatesQueries, Problem, Similarities
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes, on_device, with_rows_in_memory
from simcomplete._posterior.all_rows.split import enough_complete
from simcomplete._registry import find
from simcomplete._result.completion import Completion
from simcomplete._result.html import Election
from simcomplete._rows.budget import available_bytes, readable
from simcomplete._rows.progress import track
from simcomplete._rows.source import BY_BLOCK_ROWS
from simcomplete._rows.table import HeldRows
from simcomplete._similarity.measure import PLAIN
from simcomplete.errors import DiskFullError, InputError

# Accurate and fast methods; others can be named in `elect`. Of methods with equal scores the last one is taken.
DEFAULT_METHODS = ("overlap", "mean", "smcnn", "lr", "fmc", "posterior")
EQUAL = 1e-12  # errors below this are rounding
BUDGET = parameter("budget", 30.0, Number(), meaning="seconds that comparing may take, planned from sizes")
OBJECTIVE = parameter("objective", "error", Words("error", "recall"), meaning="what the best method is best at")
MANY_ROWS = "not tried: it would hold similarities of all {0} x {0} pairs; name it in elect= if there is room for them"
OWN = ("budget", "elect", "objective")
DENSE_LIMIT = 2000  # rows up to which the nearest valid matrix is affordable


class Elected(NamedTuple):
    """The completion by the chosen method, and what its user should be warned of."""

    completion: Completion
    warnings: list[str]


def complete_auto(
    problem: Problem, settings: Settings, params: Mapping[str, Any], shared: Mapping[str, Any]
) -> Elected:
    """Complete with the method that recovers the similarities of hidden values best.

    Parameters
    ----------
    problem, settings : Problem, Settings
        What to complete, and how.
    params : mapping
        `budget` (seconds, 30), `elect` (names), `objective` ("error" or "recall"), and parameters of methods: only
        methods that have all of them are compared.
    shared : mapping
        The shared parameters as given: methods that cannot use how rows are to be compared are left out.
    """
    given = {name: value for name, value in params.items() if name not in OWN}
    budget = float(BUDGET.checked(params.get("budget", BUDGET.default)))
    objective = OBJECTIVE.checked(params.get("objective", OBJECTIVE.default))
    methods = _with_parameters([find(name) for name in _names(params.get("elect"))], given)
    if isinstance(problem, AllRows) and problem.measure == PLAIN and not (given and len(methods) == 1):
        methods = [method for method in methods if params.get("elect") or method.name in ROW_METHODS]
        return _elect_for_rows(problem, settings, methods, given, objective, budget, bool(params.get("elect")))
    named = _without_comparison(problem)
    if named is not None or (given and len(methods) == 1):
        usual = find(named) if named else methods[0]
        method = usual if all(name in usual.parameters for name in given) else methods[-1]
        own = _fitting(method, given, objective)
        if problem.known is not None and method.name == "dmc":
            own = {"variant": "fixed", **own}  # the one that holds entries
        checked = method.own(own)
        method.check_memory(problem, settings, checked)
        return _run_usual(problem, settings, method, checked)
    assert isinstance(problem, CandidatesQueries)  # of others nothing can be hidden
    return _elect(problem, settings, methods, given, objective, budget, shared)


def _names(elect: Any) -> Sequence[Any]:
    """Return the methods to compare: the default ones, or those named by the user."""
    if elect is not None and not isinstance(elect, (list, tuple)):
        raise InputError(
            f"elect={elect!r} is not a list of methods; give names, such as ['smcnn', 'posterior']", about=("elect",)
        )
    return elect or DEFAULT_METHODS


def _elect_for_rows(
    problem: AllRows,
    settings: Settings,
    methods: Sequence[Method],
    given: Mapping[str, Any],
    objective: str,
    budget: float,
    named: bool,
) -> Elected:
    """Complete rows that may all be incomplete with the method that recovers hidden similarities best.

    If the complete rows serve as candidates for the incomplete ones, values of candidates are hidden, and `posterior`
    is scored with effort "fast": with the default effort the comparison would take as long as the completion.
    """
    own = {method.name: method.own(_fitting(method, given, objective)) for method in methods}
    short = _too_large(methods, problem, settings, given, objective)
    if problem.n >= BY_BLOCK_ROWS and not named:  # those hold all pairs at once
        short |= {method.name: MANY_ROWS.format(problem.n) for method in methods if not method.by_block}
    whole = enough_complete(problem.rows.known_counts(), problem.rows.d)
    if whole is not None:
        rows = replace(problem, rows=problem.rows.in_memory()).table
        P, Q = HeldRows(rows[whole]), HeldRows(rows[~whole])
        own_draws = replace(settings, rng=copy.deepcopy(settings.rng))  # the answer is the same without comparing
        holdout = hold_out(CandidatesQueries(P, Q, problem.measure), own_draws)
        quick = {
            method.name: method.own(_fitting(method, {"effort": "fast", **given}, objective)) for method in methods
        }
        known, weights = plan(methods, sizes_of_holdout(holdout.problem, settings), quick, budget, {}, short)
        scores = score_all(methods, holdout, quick, known, weights, settings.progress)
        return _run_best(problem, settings, scores, given, objective)
    done, scored, seconds = None, None, 0.0
    if any(method.name == "posterior" for method in methods):
        usual = find("posterior")
        usual.check_memory(problem, settings, own["posterior"])
        try:
            done, scored, seconds = posterior_with_holdout(problem, settings, own["posterior"])
        except NUMBERS_FAILED:
            return _run_usual(problem, settings, usual, own["posterior"])
        if scored is None or not done.status.ok or budget == 0:
            return Elected(replace(done, election=Election(), params={**done.params, "chosen_by": "auto"}), [])
    else:
        scored = rows_to_score(problem, settings)
        if scored is None:
            methods[-1].check_memory(problem, settings, own[methods[-1].name])
            return _run_usual(problem, settings, methods[-1], own[methods[-1].name])
    table: list[TrialRow] = []
    for method in methods:
        try:
            if method.name in short:
                table.append(row(method, short[method.name]))
            elif method.name == "posterior":
                table.append(row(method) | scored.of_posterior(seconds)._asdict())
            else:
                table.append(row(method) | scored.try_method(method, settings, own[method.name])._asdict())
        except FAILURES as problem_found:
            table.append(row(method, failed(problem_found)))
    return _run_best(problem, settings, table, given, objective, done)


def _elect(
    problem: CandidatesQueries,
    settings: Settings,
    methods: Sequence[Method],
    given: Mapping[str, Any],
    objective: str,
    budget: float,
    shared: Mapping[str, Any],
) -> Elected:
    """Compare methods on simulated queries.

    `posterior` simulates queries itself, and is usually the best method. So, if the budget allows it, `posterior`
    completes the data first, and the other methods complete some of its simulated queries. If `posterior` is the best,
    it has then run only once.
    """
    own = {method.name: method.own(_fitting(method, given, objective)) for method in methods}
    short = _too_large(methods, problem, settings, given, objective)
    known, weights = plan(methods, sizes_of_holdout(problem, settings), own, budget, shared, short)
    final = plan(methods, Sizes.of(problem, settings), own, float("inf"))[1]
    run: SharedRun | None = None
    if (
        problem.measure == PLAIN
        and problem.n_candidates >= SHARED_FROM
        and "posterior" in {*own} - {*known}
        and final["posterior"] <= budget
    ):
        usual = find("posterior")
        share = final["posterior"] / sum([1.0, final["posterior"], *weights.values()])
        try:
            for _ in track([usual], "posterior", settings.progress, share=share):
                run = run_shared(problem, settings, own["posterior"])
        except FAILURES as problem_found:
            known["posterior"] = row(usual, failed(problem_found))
    if run is not None and run.holdout is not None:
        known["posterior"] = {**row(usual, "", run.seconds), "error": run.error, "recall": run.recall}
    holdout = hold_out(problem, settings) if run is None or run.holdout is None else run.holdout
    longest = 0.0 if run else max(final.values())
    table = score_all(methods, holdout, own, known, weights, settings.progress, longest)
    return _run_best(problem, settings, table, given, objective, run and run.completion)


def _too_large(
    methods: Sequence[Method], problem: Problem, settings: Settings, given: Mapping[str, Any], objective: str
) -> dict[str, str]:
    """Return a note for every method that needs more memory than is available."""
    if on_device(problem):
        return {}
    sizes, free = Sizes.of(problem, settings), available_bytes()
    needed = {m.name: m.peak_bytes(sizes, m.own(_fitting(m, given, objective))) for m in methods}
    return {
        name: f"not tried: needs {readable(size)}, {readable(free)} are free"
        for name, size in needed.items()
        if size > free
    }


def _run_usual(problem: Problem, settings: Settings, method: Method, own: dict[str, Any]) -> Elected:
    """Run the one method there is; if it has no finite answer, return S0 with a notice."""
    try:
        done, warnings = method.run(method.takes(problem), settings, own), []
    except NUMBERS_FAILED as failure:
        done = _overlap(problem, settings)
        warnings = [f"auto: {method.name} failed: {' '.join(str(failure).split())}; this is S0"]
    return Elected(replace(done, election=Election(), params={**done.params, "chosen_by": "auto"}), warnings)


def _run_best(
    problem: Problem,
    settings: Settings,
    table: list[TrialRow],
    given: Mapping[str, Any],
    objective: str,
    by_posterior: Completion | None = None,
) -> Elected:
    """Return the completion by the best method; if that fails on the real data, by the next best, with a notice."""
    warnings: list[str] = []
    ranked = sorted(
        (row for row in reversed(table) if row["error"] is not None),
        key=lambda row: (0.0 if objective == "error" else -row["recall"], max(row["error"], EQUAL)),
    )
    for best in ranked:
        method = find(best["method"])
        try:
            done = by_posterior if method.name == "posterior" else None
            done = done or method.run(method.takes(problem), settings, method.own(_fitting(method, given, objective)))
        except DiskFullError:  # nor would there be room for what another method writes
            raise
        except FAILURES as failure:
            best["note"] = f"chosen, but failed: {' '.join(str(failure).split())}"
            warnings.append(f"auto: {best['method']} {best['note']}; taking the next best")
            continue
        best["note"] = "chosen" + (f", {best['note']}" if best["note"] else "")
        return Elected(replace(done, election=Election(table), params={**done.params, "chosen_by": "auto"}), warnings)
    reasons = "; ".join(f"{row['method']}: {row['note']}" for row in table)
    warnings.append(f"auto: no method could be chosen ({reasons}); this is S0")
    return Elected(replace(_overlap(problem, settings), election=Election(table)), warnings)


def _overlap(problem: Problem, settings: Settings) -> Completion:
    return find("overlap").run(with_rows_in_memory(problem), settings, {})


def _without_comparison(problem: Problem) -> str | None:
    """Return the method to use if no known values can be hidden, or None if some can."""
    if isinstance(problem, CandidatesQueries) and problem.n_candidates >= MIN_CANDIDATES:
        return None
    if not isinstance(problem, Similarities):
        return "smcnn" if problem.measure.positive else "posterior"
    # Only similarities: with an exact block the posterior filter, else the nearest valid matrix while it is affordable.
    if problem.n_exact is not None and problem.n_exact < problem.n:
        return "posterior"
    return "dmc" if problem.n <= DENSE_LIMIT else "smcnn"


def _fitting(method: Method, given: Mapping[str, Any], objective: str) -> dict[str, Any]:
    """Return the given parameters that a method has, and the objective if the method has that parameter."""
    every = {**given, "objective": objective}
    return {name: value for name, value in every.items() if name in method.parameters}


def _with_parameters(methods: Sequence[Method], given: Mapping[str, Any]) -> list[Method]:
    """Return the methods that have every parameter that was given: with ``solver=``, only methods with a solver."""
    fit = [method for method in methods if all(name in method.parameters for name in given)]
    if not fit:
        raise InputError(
            f"none of the methods compared ({', '.join(method.name for method in methods)}) has the parameter "
            f"{', '.join(map(repr, given))}; 'auto' itself takes {', '.join(OWN)}: name a method, or leave it out"
        )
    return fit
