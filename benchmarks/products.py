"""The whole completion over the bare matrix products it cannot avoid, both in float64."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.data import imagelike
from benchmarks.measure import Settings, timed

TITLE = "the whole completion over its unavoidable matrix products"
NOTE = "products: H^T H, the two of B in each of two passes, H times the small vectors, on arrays made beforehand"


def run(settings: Settings) -> list[dict[str, Any]]:
    plan = [(20_000, 256, 200, 100), (50_000, 784, 200, 100)]
    repeats = 5
    if settings.quick:
        plan, repeats = [(2_000, 64, 50, 20)], 3
    return [_row(*sizes, repeats, settings) for sizes in plan]


def _row(n_p: int, d: int, n_q: int, rank: int, repeats: int, settings: Settings) -> dict[str, Any]:
    P, Q = imagelike(n_p, n_q, d, settings.seed)
    seen = ~np.isnan(Q)
    Z, M = np.where(seen, Q, 0.0), seen.astype(float)
    unit = P / np.linalg.norm(P, axis=1, keepdims=True)
    squares = unit * unit
    H = np.concatenate([unit, unit @ Z.T], axis=1)
    small = np.random.default_rng(settings.seed).standard_normal((d + n_q, rank))

    def products() -> None:
        H.T @ H
        for _ in range(2):  # B is made anew in the second pass: keeping it would take n_p * n_q of memory
            unit @ Z.T
            squares @ M.T
        H @ small

    def complete() -> sc.Completion:
        return sc.complete(
            P, Q, method="smcnn", rank=rank, route="structured", verify=False, progress=False, random_state=0
        )

    # By turns, so that a busy machine is busy for both.
    pairs = [(timed(products, 1, settings.threads), timed(complete, 1, settings.threads)) for _ in range(repeats)]
    bare, whole = (statistics.median(side.seconds for side in sides) for sides in zip(*pairs, strict=True))
    bare_cpu, whole_cpu = (statistics.median(side.cpu_s for side in sides) for sides in zip(*pairs, strict=True))
    flops = 2 * n_p * (d + n_q) ** 2 + 8 * n_p * d * n_q + 2 * n_p * (d + n_q) * rank
    return {
        "n_p": n_p,
        "d": d,
        "n_q": n_q,
        "r": rank,
        "products_s": bare,
        "complete_s": whole,
        "ratio": whole / bare,
        "cpu_ratio": whole_cpu / bare_cpu,
        "products_gflop_s": flops / bare / 1e9,
        "repeats": repeats,
        "times": [(first.seconds, second.seconds) for first, second in pairs],
    }
