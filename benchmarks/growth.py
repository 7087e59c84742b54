"""How time grows with n and r, beside the orders the paper claims."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.data import imagelike
from benchmarks.measure import Settings, slope, timed

TITLE = "growth exponents in n and r"
NOTE = "fitted slope of log seconds over log size; the paper claims O(n^2 r) per iteration of SMCNN"
FEATURES, QUERIES = 64, 100
STEPS = 20

Timer = Callable[[int, int, int, Settings], float]


def exact(route: str) -> Timer:
    """Seconds of an exact completion by one route."""

    def seconds(n: int, rank: int, repeats: int, settings: Settings) -> float:
        P, Q = imagelike(n - QUERIES, QUERIES, FEATURES, settings.seed)
        shared: dict[str, Any] = {"method": "smcnn", "rank": rank, "route": route, "verify": False, "progress": False}
        if route == "structured":
            return timed(lambda: sc.complete(P, Q, **shared), repeats, settings.threads)[0]
        S0 = sc.overlap_similarity(np.vstack([P, Q]), progress=False)
        return timed(lambda: sc.complete_similarity(S0, **shared), repeats, settings.threads)[0]

    return seconds


def iteration(n: int, rank: int, repeats: int, settings: Settings) -> float:
    """Seconds of one step of descent: what more steps cost, so that start and certificate do not count."""
    P, Q = imagelike(n - QUERIES, QUERIES, FEATURES, settings.seed)
    S0 = sc.overlap_similarity(np.vstack([P, Q]), progress=False)

    def descend(steps: int) -> Callable[[], sc.Completion]:
        return lambda: sc.complete_similarity(
            S0, method="smcnn", rank=rank, solver="descent", max_iter=steps, tol=0, verify=False, progress=False
        )

    few = timed(descend(1), repeats, settings.threads)[0]
    many = timed(descend(1 + STEPS), repeats, settings.threads)[0]
    return max(many - few, 1e-9) / STEPS


# name, what to time, orders in n and r that are expected, and where they come from
SIDES: tuple[tuple[str, Timer, float, float, str], ...] = (
    ("one descent iteration", iteration, 2, 1, "the paper: n^2 r"),
    ("exact, partial", exact("partial"), 3, 0, "reduction to tridiagonal: n^3"),
    ("exact, iterative", exact("iterative"), 2, 1, "Lanczos: n^2 r"),
    ("exact, structured", exact("structured"), 1, 0, "two passes: n (d + n_q)^2"),
)


def run(settings: Settings) -> list[dict[str, Any]]:
    sizes, ranks, n, r, repeats = [1000, 2000, 4000], [25, 50, 100, 200], 2000, 50, 3
    if settings.quick:
        sizes, ranks, n, r, repeats = [200, 400], [10, 20], 300, 10, 2
    rows = []
    for name, timer, order_n, order_r, source in SIDES:
        in_n = [timer(size, r, repeats, settings) for size in sizes]
        in_r = [timer(n, rank, repeats, settings) for rank in ranks]
        for variable, values, times, order in (("n", sizes, in_n, order_n), ("r", ranks, in_r, order_r)):
            rows.append(
                {
                    "side": name,
                    "in": variable,
                    "sizes": values,
                    "held": f"r={r}" if variable == "n" else f"n={n}",
                    "seconds": times[-1],
                    "exponent": slope(values, times),
                    "order": order,
                    "from": source,
                    "repeats": repeats,
                    "times": times,
                }
            )
    return rows
