"""How time grows with n and r, beside the orders the paper claims."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.data import imagelike
from benchmarks.descent import descend
from benchmarks.measure import Settings, slope, timed

TITLE = "growth exponents in n and r"
NOTE = "fitted slope of log seconds over log size; the paper claims O(n^2 r) per iteration of SMCNN"
FEATURES, QUERIES = 256, 100  # so many features that even rank 200 asks for no eigenvalue 0
STEPS = 10  # of descent, per repeat

Times = tuple[float, float]  # wall and processor seconds
Timer = Callable[[int, int, int, Settings], Times]


def exact(route: str) -> Timer:
    """Seconds of an exact completion by one route."""

    def seconds(n: int, rank: int, repeats: int, settings: Settings) -> Times:
        P, Q = imagelike(n - QUERIES, QUERIES, FEATURES, settings.seed)
        shared: dict[str, Any] = {"method": "smcnn", "rank": rank, "route": route, "verify": False, "progress": False}
        if route == "structured":
            return timed(lambda: sc.complete(P, Q, **shared), repeats, settings.threads)[:2]
        S0 = sc.overlap_similarity(np.vstack([P, Q]), progress=False)
        return timed(lambda: sc.complete_similarity(S0, **shared), repeats, settings.threads)[:2]

    return seconds


def iteration(n: int, rank: int, repeats: int, settings: Settings) -> Times:
    """Seconds of one step of descent, the median between two callbacks: start and certificate do not count."""
    P, Q = imagelike(n - QUERIES, QUERIES, FEATURES, settings.seed)
    S0 = sc.overlap_similarity(np.vstack([P, Q]), progress=False)
    clock: list[Times] = []

    def tick(iteration: int, facts: dict[str, float]) -> None:
        clock.append((time.perf_counter(), time.process_time()))

    timed(lambda: descend(S0, rank, STEPS * repeats, callback=tick), 1, settings.threads)
    wall, cpu = np.median(np.diff(clock, axis=0), axis=0)
    return float(wall), float(cpu)


# name, what to time, orders in n and r that are expected, and where they come from
SIDES: tuple[tuple[str, Timer, float, float, str], ...] = (
    ("one descent iteration", iteration, 2, 1, "the paper: n^2 r"),
    ("exact, partial", exact("partial"), 3, 0, "reduction to tridiagonal: n^3"),
    ("exact, iterative", exact("iterative"), 2, 1, "Lanczos: n^2 r"),
    ("exact, structured", exact("structured"), 1, 0, "two passes: n (d + n_q)^2"),
)


def run(settings: Settings) -> list[dict[str, Any]]:
    ranks, n, r, repeats = [25, 50, 100, 200], 2000, 50, 3
    if settings.quick:
        ranks, n, r, repeats = [10, 20], 400, 10, 2
    rows = []
    for name, timer, order_n, order_r, source in SIDES:
        # The structured form has no n x n matrix, and below this only its small problem would be timed.
        sizes = [10_000, 20_000, 40_000] if name.endswith("structured") else [1000, 2000, 4000]
        if settings.quick:
            sizes = [size // 5 for size in sizes[:2]]
        in_n = [timer(size, r, repeats, settings) for size in sizes]
        in_r = [timer(n, rank, repeats, settings) for rank in ranks]
        for variable, values, times, order in (("n", sizes, in_n, order_n), ("r", ranks, in_r, order_r)):
            rows.append(
                {
                    "side": name,
                    "in": variable,
                    "sizes": values,
                    "held": f"r={r}" if variable == "n" else f"n={n}",
                    "seconds": times[-1][0],
                    "exponent": slope(values, [wall for wall, _ in times]),
                    "cpu_exponent": slope(values, [cpu for _, cpu in times]),
                    "order": order,
                    "from": source,
                    "repeats": repeats,
                    "times": times,
                }
            )
    return rows
