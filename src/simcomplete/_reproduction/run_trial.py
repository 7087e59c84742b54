"""One trial of the paper's experiments: load the data, hide values, complete, measure, and return one row."""

from __future__ import annotations

import hashlib
import math
import os
import subprocess
import time
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from simcomplete import datasets, metrics
from simcomplete._compare.trial import Split, attempt, machine, split
from simcomplete._method.spec import SHARED
from simcomplete._registry import find
from simcomplete._reproduction.cpu_limit import CpuLimit
from simcomplete._reproduction.labels.others import OTHERS
from simcomplete._reproduction.labels.trial import TASK_PARAMETERS, run_labels
from simcomplete._result.completion import Completion
from simcomplete.errors import SimcompleteError

# The rank by the paper's absolute tolerance takes all eigenvalues, which is too slow for matrices above this size.
MAX_ROWS_FOR_EIGENVALUES = 1500
ABSOLUTE_TOLERANCE = 1e-15


def run_trial(
    trial: Mapping[str, Any], limit: float, report_stage: Callable[[str], None] = lambda stage: None
) -> dict[str, Any]:
    """Run one trial in this process.

    Parameters
    ----------
    trial : mapping
        From `expand`.
    limit : float
        Seconds of processor time for the solve.
    report_stage : callable
        Is called with "solving" before the solve and with "solved" after it.

    Returns
    -------
    dict
        The trial, its outcome, every measure, seconds and CPU seconds of the solve alone, memory, versions, machine.

    Examples
    --------
    >>> at = {"dataset": "digits", "candidates": 60, "queries": 10, "missing": 0.5, "seed": 0}
    >>> row = run_trial({**at, "method": "smcnn", "params": {"rank": 5}}, limit=60)
    >>> row["outcome"], row["rank"]
    ('done', 5)
    """
    load = round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None
    facts = {**trial, "limit": limit, "load": load, **machine(), **program_facts()}
    if trial["params"].get("task") == "labels":
        known = {name: value for name, value in trial["params"].items() if name in TASK_PARAMETERS}
        own = {} if trial["method"] in OTHERS else _used(trial["method"], trial["params"])
        return run_labels({**trial, "params": {**own, **known}}, facts, report_stage)
    try:
        data = _data(trial)
    except SimcompleteError as error:
        return {**facts, "outcome": "failed", "reason": " ".join(str(error).split()), "seconds": None}
    hidden = np.packbits(np.isnan(data.Q)).tobytes()
    facts |= {
        "candidates_used": len(data.P),
        "features": data.P.shape[1],
        "mask": hashlib.sha256(hidden).hexdigest()[:16],
    }
    params = _used(trial["method"], trial["params"])
    before = peak_mib()
    report_stage("solving")
    start = time.process_time()
    stop = CpuLimit(share_of_limit(trial["method"], params, limit))
    if can_be_stopped(trial["method"], params):
        params["callback"] = stop

    def after(done: Completion) -> dict[str, Any]:
        measured = {"cpu_seconds": time.process_time() - start, "peak_mib": peak_mib(), "start_mib": before}
        report_stage("solved")
        measured |= {
            "iterations": done.history[-1].get("iteration") if done.history else None,
            "gap": None if done.certificate is None else done.certificate.gap,
        }
        choice = done.choice or {}
        tried = [one["error"] if math.isfinite(one["error"]) else None for one in choice.get("tried", [])]
        return {**measured, "choice": choice.get("tuned"), "tried": tried or None, **_other_measures(done, data)}

    row = attempt(trial["method"], data, params, None, after)
    used = row.get("cpu_seconds") or 0.0
    if row["outcome"] == "done" and (stop.exceeded or used > limit):
        row["outcome"] = "over budget"
        row["reason"] = f"took {used:.1f} s of processor time, more than the limit of {limit:g} s allows"
    return {**facts, **row}


def peak_mib() -> float | None:
    """Return the peak memory of this process in MiB, or None where the system does not report it."""
    try:
        import resource
    except ImportError:  # Windows
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return round(peak / (2**20 if os.uname().sysname == "Darwin" else 2**10), 1)


@cache
def program_facts() -> dict[str, Any]:
    """Return cores, threads, processor and the commit of the program; None where unknown."""
    threads = next((os.environ[n] for n in ("OPENBLAS_NUM_THREADS", "OMP_NUM_THREADS") if n in os.environ), None)
    return {"cores": os.cpu_count(), "threads": threads, "processor": _processor(), "commit": _commit()}


def _data(trial: Mapping[str, Any]) -> Split:
    X = np.asarray(datasets.load(trial["dataset"]).X, dtype=np.float64)
    rows = int(np.any(X, axis=1).sum())
    candidates = min(trial["candidates"], rows - trial["queries"])  # as many as the data set has
    settings = {name: trial[name] for name in ("missing", "queries", "seed")}
    return split(X, candidates=candidates, **settings)


def _used(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    """Without the rank and the weight, which are those of the whole protocol, where the method has none."""
    return {name: value for name, value in params.items() if name not in SHARED or name in find(method).shared}


def can_be_stopped(method: str, params: Mapping[str, Any]) -> bool:
    """Whether a method can be stopped between its steps: an exact solver is one decomposition."""
    known = find(method).parameters
    return "callback" in known and params.get("solver", known.defaults.get("solver")) != "exact"


def share_of_limit(method: str, params: Mapping[str, Any], limit: float) -> float:
    """Divide the limit among the settings that `tune` tries and the final run.

    Examples
    --------
    >>> share_of_limit("nnfn", {}, 60.0), share_of_limit("nnfn", {"tune": True}, 52.5)
    (60.0, 7.5)
    """
    return limit / (len(find(method).grid) + 1) if params.get("tune") else limit


def _other_measures(done: Completion, data: Split) -> dict[str, Any]:
    """Measures by other readings of the paper; see docs/deviations.md."""
    S, n_p = done.similarity(), len(data.P)
    off = metrics.relative_squared_error(S, data.S0, data.truth, n_candidates=n_p, block="off_candidates")
    measures: dict[str, Any] = {
        "error_off_candidates": off,  # also the error after the exact candidate block is restored
        "recall_all_rows": metrics.recall_at(S, data.truth, k=0.2),
        "ndcg_graded": metrics.ndcg_at(S[n_p:, :n_p], data.truth[n_p:, :n_p], k=0.2, relevance="graded"),
    }
    if len(S) <= MAX_ROWS_FOR_EIGENVALUES:
        measures["rank_absolute"] = int(np.sum(np.linalg.eigvalsh((S + S.T) / 2) > ABSOLUTE_TOLERANCE))
    return measures


def _processor() -> str | None:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith("model name")), None)


def _commit() -> str | None:
    here = Path(__file__).parent
    ask = ["git", "-C", str(here), "log", "-1", "--format=%H", "--", str(here.parents[1])]
    try:
        commit = subprocess.run(ask, capture_output=True, text=True, timeout=10, check=True).stdout.strip()
    except (OSError, subprocess.SubprocessError):
        return None  # installed without its history
    return commit or None
