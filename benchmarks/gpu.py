"""Millions of candidates on one GPU: ``python -m benchmarks.gpu [--candidates 12000000] [--features 1000]``.

Candidates with a strong common direction are made on the device. Times are from tensors on the device to factors (and
to the ten nearest), after a warm-up on a small part; the share of the peak counts only products that cannot be avoided.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import torch

import simcomplete as sc

PEAKS = {"H200": 67e12, "H100": 67e12, "A100": 19.5e12}  # float64 on tensor cores, as the maker says
METHODS: dict[str, dict[str, Any]] = {
    "smcnn": {"method": "smcnn", "rank": 100, "verify": False},
    "smcnmf": {"method": "smcnmf", "rank": 100, "verify": False},
    "posterior, fast": {"method": "posterior", "effort": "fast"},
}


def main() -> None:
    """Make the data, run the methods, print a table and on request a JSON file."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.gpu", description=__doc__)
    parser.add_argument("--candidates", type=int, default=12_000_000)
    parser.add_argument("--features", type=int, default=1000)
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--missing", type=float, default=0.8)
    parser.add_argument("--pairs", type=int, default=40_000, help="rows that are all incomplete; 0 leaves them out")
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--verify", action="store_true", help="also compute the eigen-residual: two more passes")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--json", type=Path, metavar="FILE")
    told = parser.parse_args()
    P, Q = data(told.candidates, told.queries, told.features, told.missing, told.device, told.seed)
    rows = [measured(name, P, Q, told) for name in METHODS]
    del P, Q
    if told.pairs:
        rows.append(all_pairs(told))
    name = torch.cuda.get_device_name() if told.device == "cuda" else "CPU"
    facts = {"device": name, "torch": torch.__version__, "simcomplete": sc.__version__, "seed": told.seed}
    print(f"{told.candidates:,} x {told.features} float32 candidates, {told.queries} queries, {facts}")
    for row in rows:
        print(
            "  ".join(
                f"{key} {value:.4g}" if isinstance(value, float) else f"{key} {value}" for key, value in row.items()
            )
        )
    if told.json:
        told.json.write_text(json.dumps([{**row, **facts} for row in rows], indent=1) + "\n", encoding="utf-8")


def data(n: int, n_q: int, d: int, missing: float, device: str, seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Non-negative rows: a common picture plus 50 directions of falling strength plus noise."""
    rng = torch.Generator(device=device).manual_seed(seed)
    strength = 0.3 / (1 + torch.arange(50, device=device)) ** 0.5
    directions = torch.randn(50, d, device=device, generator=rng) * strength[:, None]
    common = 1 + torch.rand(d, device=device, generator=rng)
    X = torch.empty(n + n_q, d, device=device)
    for start in range(0, n + n_q, 250_000):
        part = X[start : start + 250_000]
        part.normal_(std=0.1, generator=rng)
        part += torch.randn(len(part), 50, device=device, generator=rng) @ directions
        part += common
        part.clamp_(min=0.0)
    Q = X[n:].clone()
    Q[torch.rand(n_q, d, device=device, generator=rng) < missing] = float("nan")
    return X[:n], Q


def measured(name: str, P: torch.Tensor, Q: torch.Tensor, told: argparse.Namespace) -> dict[str, Any]:
    """Time one method, and count the products it cannot avoid."""
    params = METHODS[name]
    spectral = "rank" in params

    def solve(rows: torch.Tensor) -> sc.Completion:
        done = sc.complete(rows, Q, progress=False, **params)
        if not spectral:
            done.search(k=10, progress=False)
        return done

    solve(P[: min(len(P), 200_000)])  # kernels are chosen and memory is taken the first time
    if told.device == "cuda":
        torch.cuda.reset_peak_memory_stats()
    times = [timed(lambda: solve(P), told.device) for _ in range(told.repeats)]
    n, d, n_q = len(P), told.features, told.queries
    if spectral:  # the Gram matrix (half of it), the two products of B, the factor
        flops = n * (d + n_q) ** 2 + 4 * n * d * n_q + 2 * n * (d + n_q) * params["rank"]
    else:  # the covariance (half), cosines and energies of 400 probes, copies of 200, the search
        flops = n * d**2 + 4 * n * d * (n_q + 200) + 2 * n * d * 200 + 2 * n * d * n_q
    seconds = float(np.median(times))
    peak = next(
        (value for key, value in PEAKS.items() if told.device == "cuda" and key in torch.cuda.get_device_name()), None
    )
    row = {"method": name, "seconds": seconds, "fastest": min(times), "tflops": flops / seconds / 1e12}
    row["share_of_peak"] = None if peak is None else flops / seconds / peak
    if told.device == "cuda":
        row["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    if told.verify and spectral:
        row["residual"] = sc.complete(P, Q, progress=False, **{**params, "verify": True}).certificate.residual
    return row


def all_pairs(told: argparse.Namespace) -> dict[str, Any]:
    """Time `smcnn` on rows of which every one is incomplete: the matrix of all pairs, then its eigenvalues."""
    X = data(0, told.pairs, told.features, told.missing, told.device, told.seed)[1]

    def solve(rows: torch.Tensor, *, verify: bool = False) -> sc.Completion:
        return sc.complete(rows, method="smcnn", rank=min(100, len(rows) // 40), verify=verify, progress=False)

    solve(X[: min(len(X), 5000)])
    if told.device == "cuda":
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    times = [timed(lambda: solve(X), told.device) for _ in range(told.repeats)]
    row: dict[str, Any] = {"method": f"smcnn, {told.pairs} incomplete rows", "seconds": float(np.median(times))}
    row["fastest"] = min(times)
    if told.device == "cuda":
        row["peak_gib"] = torch.cuda.max_memory_allocated() / 2**30
    if told.verify:
        row["residual"] = solve(X, verify=True).certificate.residual
    return row


def timed(work: Callable[[], object], device: str) -> float:
    """Seconds until the device has finished."""
    if device == "cuda":
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if device == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
