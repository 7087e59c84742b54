"""The candidate-query form against the dense matrix: the same optimum, time and peak memory."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.data import imagelike
from benchmarks.measure import Settings, fresh

TITLE = "candidate-query form against the dense matrix"
NOTE = "samples in, completion out, certificate without its extra products; peak of a process of its own"
QUERIES, FEATURES, RANK = 200, 256, 100


def prepare(n: int, n_q: int, d: int, rank: int, route: str, seed: int) -> Callable[[], dict[str, Any]]:
    """Make the data, return the completion by one route."""
    P, Q = imagelike(n - n_q, n_q, d, seed)

    def solve() -> dict[str, Any]:
        shared: dict[str, Any] = {"method": "smcnn", "rank": rank, "route": route, "verify": False, "progress": False}
        if route == "structured":
            done = sc.complete(P, Q, **shared)
        else:
            S0 = sc.overlap_similarity(np.vstack([P, Q]), progress=False)
            done = sc.complete_similarity(S0, candidates=len(P), **shared)
        assert done.certificate is not None  # spectral methods always have one
        sample = done.similarity(slice(n - n_q, n - n_q + 20), slice(0, 20))
        return {"objective": done.certificate.objective, "sample": sample.tolist()}

    return solve


def run(settings: Settings) -> list[dict[str, Any]]:
    # A dense decomposition grows like n^3, 64 times from one size to the next: there the iterative route stands in.
    plan = [(5_000, ("structured", "partial", "iterative"), 3), (20_000, ("structured", "iterative"), 1)]
    n_q, d, rank = QUERIES, FEATURES, RANK
    if settings.quick:
        plan, n_q, d, rank = [(600, ("structured", "partial", "iterative"), 2)], 20, 64, 20
    rows = []
    for n, routes, repeats in plan:
        answers = {}
        for route in routes:
            arguments = {"n": n, "n_q": n_q, "d": d, "rank": rank, "route": route, "seed": settings.seed}
            answers[route] = fresh("benchmarks.structured:prepare", arguments, repeats, settings.threads)
        base = answers["structured"]
        for route, answer in answers.items():
            apart = np.array(answer["result"]["sample"]) - np.array(base["result"]["sample"])
            rows.append(
                {
                    "n": n,
                    "d": d,
                    "n_q": n_q,
                    "r": rank,
                    "side": route if route == "structured" else f"dense, {route}",
                    "seconds": answer["seconds"],
                    "cpu_s": answer["cpu_s"],
                    "ratio": answer["seconds"] / base["seconds"],
                    "peak_mib": answer["peak_mib"],
                    "before_mib": answer["before_mib"],
                    "objective": answer["result"]["objective"],
                    "apart": float(np.max(np.abs(apart))),
                    "repeats": repeats,
                    "times": answer["times"],
                }
            )
    return rows
