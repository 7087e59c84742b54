"""Every method at the paper's size, over the exact SMCNN; FMC against DMC; DMC by Newton against Dykstra."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.data import imagelike
from benchmarks.measure import Settings, timed

TITLE = "every method over the exact smcnn"
NOTE = (
    "targets: at most 100 times, but for bpmf, kfmc, gr, cmc and nnfn; fmc 5 times faster than dmc, Newton than Dykstra"
)
SLOW = ("bpmf", "kfmc", "gr", "cmc", "nnfn")  # no target: Gibbs sampling, passes over rows, an SVD per step


def run(settings: Settings) -> list[dict[str, Any]]:
    n_p, n_q, d = (1000, 200, 784) if not settings.quick else (150, 30, 60)
    P, Q = imagelike(n_p, n_q, d, settings.seed)
    base = _one("smcnn", {}, P, Q, settings, repeats=5)
    rows = []
    for method in sc.methods():
        quick = {"max_iter": 5} if settings.quick and method.name in SLOW else {}
        if "burn_in" in method.parameters and quick:
            quick["burn_in"] = 1
        row = _one(method.name, quick, P, Q, settings, repeats=1)
        target = "none" if method.name in SLOW else "100"
        rows.append({**row, "ratio": row["cpu_s"] / base["cpu_s"], "at_most": target})
    dykstra = _one("dmc", {"variant": "dykstra"}, P, Q, settings, repeats=1)
    rows.append({**dykstra, "ratio": dykstra["cpu_s"] / base["cpu_s"], "at_most": "none"})
    named = {row["side"]: row for row in rows}
    newton = named["dmc"]["cpu_s"]
    for row in rows:
        beaten = {"fmc": ("dmc", newton), "dmc": ("dmc dykstra", dykstra["cpu_s"])}.get(row["side"])
        row["faster_than"] = "" if beaten is None else f"{beaten[0]}, {beaten[1] / row['cpu_s']:.1f} times"
    return rows


def _one(
    name: str, params: dict[str, Any], P: np.ndarray, Q: np.ndarray, settings: Settings, repeats: int
) -> dict[str, Any]:
    def solve() -> sc.Completion:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", sc.errors.NotConvergedWarning)
            return sc.complete(P, Q, method=name, progress=False, **params)

    took = timed(solve, repeats, settings.threads)
    variant = f" {params['variant']}" if "variant" in params else ""
    return {
        "side": name + variant,
        "seconds": took.seconds,
        "cpu_s": took.cpu_s,
        "status": took.result.status.code,
        "repeats": repeats,
    }
