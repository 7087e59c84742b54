"""Compare methods on complete data: hide values, run every method several times, and summarise."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from simcomplete._compare.ledger import Ledger
from simcomplete._compare.trial import attempt, machine, split
from simcomplete._registry import find, methods
from simcomplete._rows.progress import track
from simcomplete._rows.validate import as_array

SUMMARISED = ("error", "error_queries_candidates", "recall_fifth", "recall_ten", "ndcg", "rank", "seconds")
COMPARISON_KEY = ("data", "method", "seed", "missing", "pattern", "shape", "candidates", "queries", "params", "budget")


def compare_methods(
    X: Any,
    *,
    missing: float = 0.8,
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
    """Run methods on complete data with values hidden.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Complete data.
    missing, pattern, shape, candidates, queries : float, str, tuple, int, int
        What to hide; see `split`.
    names : sequence of str, optional
        Methods to run; by default all.
    repeats : int
        How many runs of each method, with seeds seed, seed + 1, ...
    budget : float, optional
        Seconds for each run.
    seed : int
        The first seed.
    params : dict, optional
        Parameters of every method.
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
    samples = as_array(X, "data", complete=True).astype(np.float64)
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
    splits = {
        s: split(
            samples,
            missing=missing,
            pattern=pattern,
            shape=shape,
            candidates=candidates,
            queries=queries,
            seed=s,
        )
        for s in range(seed, seed + repeats)
    }
    trials = [(s, name) for s in splits for name in chosen]
    for s, name in track(trials, "comparing", progress):
        data = splits[s]
        trial = {**settings, "candidates": len(data.P), "queries": len(data.Q), "method": name, "seed": s}
        row = None if ledger is None else ledger.find(trial)
        if row is None:
            row = {**trial, **attempt(name, data, params, budget), **machine()}
            row = row if ledger is None else ledger.add(row)
        rows.append(row)
    return rows


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
