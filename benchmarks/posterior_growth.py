"""How the time of `posterior` grows with candidates and with queries."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import simcomplete as sc
from benchmarks.data import imagelike
from benchmarks.measure import Settings, fresh, slope
from simcomplete.estimators import PosteriorCompleter

TITLE = "growth of posterior, effort fast, and of rows alone"
NOTE = (
    "complete: fit, calibration and queries; transform: queries of a fitted"
    " model; rows: complete(X), every row incomplete;\n  every query has a mask of its own; target:"
    " linear in candidates, queries and rows, exponents of about 1"
)
FEATURES, CANDIDATES, QUERIES = 784, 1000, 200

# By what, in which variable, and to each size so many repeats: those of a large one would take minutes.
PLAN: tuple[tuple[str, str, dict[int, int]], ...] = (
    ("complete", "candidates", {1_000: 5, 10_000: 3, 100_000: 1}),
    ("complete", "queries", {200: 5, 2_000: 3, 8_000: 1}),
    ("transform", "queries", {200: 5, 2_000: 3, 20_000: 1}),
    ("rows fast", "rows", {2_000: 2, 8_000: 1, 32_000: 1}),
    ("rows full", "rows", {2_000: 2, 8_000: 1, 32_000: 1}),
)
ROW_FEATURES = 100  # of rows that are all incomplete


def prepare(n_p: int, n_q: int, d: int, seed: int, way: str = "complete") -> Callable[[], dict[str, Any]]:
    """Make the data, return the completion."""
    P, Q = imagelike(n_p, n_q, d, seed)
    if way.startswith("rows"):
        effort = way.split()[1]
        return lambda: {"columns": sc.complete(Q, method="posterior", effort=effort, progress=False).factor.shape[1]}
    if way == "transform":
        model = PosteriorCompleter(effort="fast").fit(P)
        return lambda: {"columns": model.transform(Q).shape[1]}
    return lambda: {"columns": sc.complete(P, Q, method="posterior", effort="fast", progress=False).rank}


def run(settings: Settings) -> list[dict[str, Any]]:
    d, n_p, n_q = (FEATURES, CANDIDATES, QUERIES) if not settings.quick else (64, 200, 40)
    rows = []
    for way, variable, plan in PLAN:
        sizes = plan if not settings.quick else dict.fromkeys((n_q if variable == "queries" else n_p, 4 * n_p), 2)
        taken = []
        for size, repeats in sizes.items():
            shape = {"n_p": size, "n_q": n_q} if variable == "candidates" else {"n_p": n_p, "n_q": size}
            if variable == "rows":
                shape, d = {"n_p": 1, "n_q": size}, min(d, ROW_FEATURES)
            told = {**shape, "d": d, "seed": settings.seed, "way": way}
            answer = fresh("benchmarks.posterior_growth:prepare", told, repeats, settings.threads)
            facts = {name: answer[name] for name in ("seconds", "cpu_s", "peak_mib", "times")}
            taken.append({"side": way, "in": variable, **shape, "d": d, **facts})
        exponent = slope(list(sizes), [row["cpu_s"] for row in taken])
        last = slope(list(sizes)[-2:], [row["cpu_s"] for row in taken[-2:]])
        rows += [{**row, "exponent": exponent, "last_exponent": last} for row in taken]
    return rows
