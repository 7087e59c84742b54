"""Every row incomplete: ``python -m benchmarks.all_rows [--sets A,B] [--masks A,B] [--rows N] [--seeds N]``.

Complete data, values hidden in every row, so that similarities over all features are known. For the single model alone
(what `posterior` was before members were stacked) and for the stack beside it: squared error relative to that of the
overlap similarities, how many true similarities lie in 90 percent intervals and how wide these are, and seconds, one
after the other in one process.
"""

from __future__ import annotations

import argparse
import time
from typing import NamedTuple

import numpy as np
from threadpoolctl import threadpool_limits

import simcomplete as sc
from benchmarks.all_rows_cells import BY_VALUE, IGNORABLE, SETS, complete_part, hidden
from benchmarks.results import data
from simcomplete._posterior.all_rows.select import RowsCompletion
from simcomplete._posterior.incomplete_rows import fit_all_rows, fit_factors
from simcomplete._posterior.method import pair_spread
from simcomplete._posterior.shared.rows import diagonal_deficit, typical_length
from simcomplete._result.intervals import IntervalModel
from simcomplete._types import Matrix

LEVEL = 0.9
FEW = {"hela_proteomics": 50}  # rows, where there are few


class Cell(NamedTuple):
    """One draw: errors of both, coverage and mean half-width of the intervals, and seconds."""

    before: float
    now: float
    coverage_before: float
    coverage: float
    width_before: float
    width: float
    seconds_before: float
    seconds: float


def measure(name: str, mask: str, rows: int, seed: int) -> tuple[Cell, str]:
    """One draw of one data set and mask, and what was learnt."""
    truth_rows = complete_part(name, min(rows, FEW.get(name, rows)), seed)
    X = hidden(truth_rows, mask, seed)
    unit = truth_rows / np.linalg.norm(truth_rows, axis=1, keepdims=True)
    truth, off = unit @ unit.T, ~np.eye(len(X), dtype=bool)
    S0 = np.asarray(sc.overlap_similarity(X, progress=False))
    base = float(np.sum((S0 - truth)[off] ** 2))
    found: list[list[float]] = []
    note = ""
    for fit in (fit_factors, fit_all_rows):
        began = time.perf_counter()
        done = fit(X / typical_length(np.nan_to_num(X)), np.random.default_rng(seed), "full")
        seconds = time.perf_counter() - began
        S = done.U @ done.U.T
        half = _half_widths(done)
        inside = float(np.mean((np.abs(S - truth) <= half)[off]))
        found.append([float(np.sum((S - truth)[off] ** 2)) / base, inside, float(np.mean(half[off])), seconds])
        told = done.choice.as_dict()
        note = f"{told['stack']:.2f} | {told['z']:.1f}" if "stack" in told else "- | -"
    return Cell(*(value for pair in zip(*found, strict=True) for value in pair)), note


def _half_widths(done: RowsCompletion) -> Matrix:
    every = np.arange(len(done.U))
    if done.quantiles is None:
        return np.full((len(every), len(every)), np.nan)
    model = IntervalModel(done.spread(diagonal_deficit(done.U)), done.quantiles, pairs=pair_spread(done, done.U))
    return model.half_width(LEVEL, every, every)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.all_rows", description="Every row incomplete.")
    parser.add_argument("--sets", default=",".join(SETS), help="data sets, with commas between")
    parser.add_argument("--masks", default=",".join((*IGNORABLE, *BY_VALUE)), help="masks, with commas between")
    parser.add_argument("--rows", type=int, default=200, help="rows at most (default: 200; hela 50)")
    parser.add_argument("--seeds", type=int, default=1, help="draws of every cell (default: 1)")
    told = parser.parse_args()
    print("| data, mask | single | stack | ratio | coverage | half-width | seconds | weight of the stack | tilt z |")
    print("|---|---|---|---|---|---|---|---|---|")
    ratios: dict[str, list[float]] = {"random": [], "by value": []}
    for name in filter(data.there, told.sets.split(",")):
        for mask in told.masks.split(","):
            with threadpool_limits(limits=1):
                draws = [measure(name, mask, told.rows, seed) for seed in range(told.seeds)]
            cell = Cell(*np.mean([draw[0] for draw in draws], axis=0))
            ratio = cell.now / max(cell.before, 1e-300)
            ratios["by value" if mask in BY_VALUE else "random"].append(ratio)
            print(
                f"| {name}, {mask} | {cell.before:.3f} | {cell.now:.3f} | {ratio:.2f} "
                f"| {cell.coverage_before:.2f}, {cell.coverage:.2f} | {cell.width_before:.4f}, {cell.width:.4f} "
                f"| {cell.seconds_before:.1f}, {cell.seconds:.1f} | {draws[0][1]} |",
                flush=True,
            )
    for kind, every in ratios.items():
        if every:
            print(
                f"missing {kind}: geometric mean of the ratio {np.exp(np.mean(np.log(every))):.2f}, {len(every)} cells"
            )


if __name__ == "__main__":
    main()
