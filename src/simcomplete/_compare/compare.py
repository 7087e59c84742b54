"""Compare methods on data with values hidden: run every method several times, and summarise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._caller import warn_caller
from simcomplete._compare.gaps import SHARE, GappedRows, hide_known
from simcomplete._compare.ledger import Ledger
from simcomplete._compare.trial import Split, attempt, machine, split
from simcomplete._method.given import notice_of_alike_rows, question_rows
from simcomplete._method.problem import AllRows
from simcomplete._registry import find, methods
from simcomplete._rows.progress import track
from simcomplete._rows.scaling import check_scaling
from simcomplete._rows.validate import as_rows, check_measure
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.measure import Measure
from simcomplete.errors import InputError, InputWarning

SUMMARISED = ("error", "error_queries_candidates", "recall_fifth", "recall_ten", "ndcg", "rank", "seconds")
# Settings of `complete` that change what a similarity is: the truth to compare with changes with them.
OF_SIMILARITIES = ("metric", "epsilon", "positive")
COMPARISON_KEY = ("data", "method", "seed", "missing", "pattern", "shape", "candidates", "queries", "params", "budget")


def compare_methods(
    X: Any,
    *,
    missing: float | None = None,
    pattern: str = "random",
    shape: tuple[int, int] | None = None,
    names: Sequence[str] | None = None,
    repeats: int = 5,
    budget: float | None = None,
    candidates: int | None = None,
    queries: int | None = None,
    seed: int = 0,
    params: dict[str, Any] | None = None,
    path: Path | None = None,
    progress: bool | None = None,
) -> list[dict[str, Any]]:
    """Run methods on data with values hidden.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Complete data: some rows are candidates, others queries with values hidden (`split`). Or data with missing
        values: some of what is known is hidden in every row (`hide_known`).
    missing : float, optional
        Share of the values to hide; by default 0.8 of complete data, and 0.2 of what is known of others.
    pattern, shape, candidates, queries : str, tuple, int, int
        What to hide and how many rows to take; data with missing values take only `candidates`, the number of rows.
    names : sequence of str, optional
        Methods to run; by default all.
    repeats : int
        How many runs of each method, with seeds seed, seed + 1, ...
    budget : float, optional
        Seconds for each run.
    seed : int
        The first seed.
    params : dict, optional
        Parameters of every method, and settings of `complete`. With `center` or `scale`, features are scaled before
        anything else, and similarities of scaled rows are what methods are measured by; `metric` likewise.
    path : Path, optional
        File to append rows to; trials that have a row in it are not run again.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    list of dict
        One row per method and seed, also for runs that failed.

    Examples
    --------
    >>> X = np.random.default_rng(0).random((60, 8))
    >>> rows = compare_methods(X, names=["overlap", "smcnn"], repeats=2, missing=0.5)
    >>> [(row["method"], row["outcome"]) for row in rows[:2]]
    [('overlap', 'done'), ('smcnn', 'done')]
    """
    chosen = [find(name).name for name in (names or [method.name for method in methods()])]
    given = dict(params or {})
    scaling = {name: given.pop(name, None) for name in ("center", "scale")}
    check_scaling(**scaling)
    measure = {name: given[name] for name in OF_SIMILARITIES if name in given}
    samples = _samples(X, measure, scaled=any(scaling.values()))
    gaps = bool(np.isnan(samples).any())
    if gaps:
        _refuse_for_gaps(pattern, shape, queries)
    missing = missing if missing is not None else SHARE if gaps else 0.8
    settings = {
        "data": hashlib.sha256(np.ascontiguousarray(samples).tobytes()).hexdigest()[:16],
        "missing": missing,
        "pattern": pattern,
        "shape": shape,
        "params": params or {},
        "budget": budget,
    }
    ledger = Ledger(path, COMPARISON_KEY) if path is not None else None
    rows: list[dict[str, Any]] = []
    settings |= {"gaps": True} if gaps else {}
    splits: dict[int, Split | GappedRows] = {}
    for s in range(seed, seed + repeats):
        drawn = replace(_trial_data(samples, gaps, settings, candidates, queries, s), measure=measure)
        splits[s] = drawn.scaled(**scaling) if any(scaling.values()) else drawn
    trials = [(s, name) for s in splits for name in chosen]
    for s, name in track(trials, "comparing", progress):
        data = splits[s]
        trial = {**settings, **data.sizes, "method": name, "seed": s}
        row = None if ledger is None else ledger.find(trial)
        if row is None:
            row = {**trial, **attempt(name, data, given, budget), **machine()}
            row = row if ledger is None else ledger.add(row)
        rows.append(row)
    return rows


def _samples(X: Any, measure: dict[str, Any], *, scaled: bool) -> NDArray[np.float64]:
    """The values of a table, with the questions that `complete` asks: a matrix? ids? rows all alike?"""
    rows = as_rows(X, "data").in_memory()
    question_rows(rows, None, alone=True)
    compared = Measure(**measure)
    check_measure(compared.metric, compared.min_overlap, compared.epsilon, rows.d)
    notice = None if scaled else notice_of_alike_rows(AllRows(rows, compared))
    if notice is not None:
        warn_caller(notice, InputWarning)
    return to_numpy(rows[:, :]).astype(np.float64)


def _refuse_for_gaps(pattern: str, shape: Any, queries: int | None) -> None:
    """Refuse what only complete data allow."""
    given = {"pattern": pattern if pattern != "random" else None, "shape": shape, "queries": queries}
    for name, value in given.items():
        if value is not None:
            raise InputError(
                f"{name}={value!r} is for complete data, and these have missing values: some of what is known is "
                f"hidden at random, and every row is a query; leave {name} out, or give complete rows",
                about=(name,),
            )


def _trial_data(
    X: NDArray[np.float64],
    gaps: bool,
    settings: dict[str, Any],
    candidates: int | None,
    queries: int | None,
    seed: int,
) -> Split | GappedRows:
    if gaps:
        return hide_known(X, missing=settings["missing"], rows=candidates, seed=seed)
    hide = {name: settings[name] for name in ("missing", "pattern", "shape")}
    return split(X, **hide, candidates=candidates, queries=queries, seed=seed)


def winner(summary: Sequence[dict[str, Any]]) -> str:
    """Say in words which method of a summary has the smallest error.

    Examples
    --------
    >>> rows = [{"method": "a", "error": 0.25, "error_spread": 0.01}, {"method": "b", "error": 0.5}]
    >>> winner(rows)
    'a has the smallest error, 0.250 ±0.010; next is b with 0.500'
    >>> winner([{"method": "a", "error": None}])
    'no method gave a result'
    """
    best = [row for row in summary if row["error"] is not None]
    if not best:
        return "no method gave a result"
    spread = best[0].get("error_spread")
    words = f"{best[0]['method']} has the smallest error, {best[0]['error']:.3f}"
    words += "" if spread is None else f" ±{spread:.3f}"
    return words + (f"; next is {best[1]['method']} with {best[1]['error']:.3f}" if len(best) > 1 else "")


def summarise(rows: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return mean and standard deviation of every measure by method, best error first, methods without a result last.

    Examples
    --------
    >>> rows = [{"method": "a", "outcome": "done", "error": e, "valid": True} for e in (0.2, 0.4)]
    >>> summary = summarise(rows)[0]
    >>> summary["method"], round(summary["error"], 3), round(summary["error_spread"], 3)
    ('a', 0.3, 0.141)
    """
    groups: dict[str, list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["method"], []).append(row)
    summaries = [_method_summary(method, group) for method, group in groups.items()]
    return sorted(summaries, key=lambda row: (row["error"] is None, row["error"] or 0.0))


def _method_summary(method: str, group: list[dict[str, Any]]) -> dict[str, Any]:
    good = [row for row in group if row.get("error") is not None]
    summary: dict[str, Any] = {"method": method, "runs": len(group), "failed": len(group) - len(good)}
    for name in SUMMARISED:
        values = [float(row[name]) for row in good if row.get(name) is not None]
        summary[name] = float(np.mean(values)) if values else None
        summary[f"{name}_spread"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    summary["valid"] = bool(good) and all(row["valid"] for row in good)
    summary["fails"] = sorted({name for row in good for name in row.get("fails", [])})
    reasons = [row["reason"] for row in group if row.get("reason")]
    summary["over_budget"] = sum(row["outcome"] == "over budget" for row in group)
    summary["reason"] = reasons[0] if reasons else None
    return summary
