"""The exact solver against the paper's 10,000 gradient steps, on the same matrix."""

from __future__ import annotations

import statistics
import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray

import simcomplete as sc
from benchmarks.data import digits
from benchmarks.measure import Settings, timed

TITLE = "exact against gradient descent"
NOTE = "target: exact at least 150 times faster than 10,000 steps, at an objective no higher"
WEIGHT = 1e-3


def descend(S0: NDArray[np.float64], rank: int, steps: int, **more: Any) -> sc.Completion:
    """Make so many steps, all of them, as the paper does: no stop test, and no warning that none was met."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", sc.errors.NotConvergedWarning)
        return sc.complete_similarity(
            S0,
            method="smcnn",
            rank=rank,
            penalty=WEIGHT,
            solver="descent",
            max_iter=steps,
            tol=0,
            progress=False,
            **more,
        )


def run(settings: Settings) -> list[dict[str, Any]]:
    n_p, n_q, rank, steps, repeats = (1000, 200, 100, 10_000, 7)
    if settings.quick:
        n_p, n_q, rank, steps, repeats = (150, 50, 20, 200, 3)
    P, Q = digits(n_p, n_q, settings.seed)
    S0 = sc.overlap_similarity(np.vstack([P, Q]))
    size = {"n": n_p + n_q, "r": rank}

    def exact() -> sc.Completion:
        return sc.complete_similarity(S0, method="smcnn", rank=rank, penalty=WEIGHT)

    # Exact before and after, so that a machine that slows down in between does so for both.
    first = timed(exact, repeats, settings.threads)
    slow = timed(lambda: descend(S0, rank, steps), 1, settings.threads)
    second = timed(exact, repeats, settings.threads)
    times = first.times + second.times
    # Of descent only the steps count: its certificate needs the eigenvalues, which the exact solver brings along.
    history = slow.result.history
    seconds = history[-1]["seconds"] - history[0]["seconds"]
    rows: list[dict[str, Any]] = [
        {**size, "side": "exact", "steps": 0, "seconds": statistics.median(times), "call_s": statistics.median(times)},
        {**size, "side": "descent", "steps": steps, "seconds": seconds, "call_s": slow.seconds},
    ]
    rows[0] |= {"cpu_s": (first.cpu_s + second.cpu_s) / 2, "repeats": len(times), "times": times}
    rows[1] |= {"cpu_s": slow.cpu_s, "repeats": 1, "times": slow.times}
    for row, done in zip(rows, (second.result, slow.result), strict=True):
        row["objective"] = done.certificate.objective
        row["above_bound"] = done.certificate.objective - done.certificate.lower_bound
        row["status"] = done.status.code
        row["ratio"] = seconds / row["seconds"]
        row["cpu_ratio"] = slow.cpu_s / row["cpu_s"]
    # Rounding of the objective is a fraction of |S0|^2, not of the objective.
    lower = rows[0]["objective"] <= rows[1]["objective"] + 1e-12 * second.result.certificate.scale
    rows[0]["no_higher"] = rows[1]["no_higher"] = bool(lower)
    return rows
