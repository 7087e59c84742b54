"""Nine data sets, three rates, three seeds and three efforts of posterior, compared with a separate implementation."""

from __future__ import annotations

import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.results import data
from benchmarks.results.tables import Row, failures, mean, number, series, table
from benchmarks.results.trial import Problem, Trial, of_split
from simcomplete._compare.trial import split

TITLE = "Values missing at random"
RATES = (0.7, 0.8, 0.9)
SEEDS = (0, 1, 2)
EFFORTS = ("full", "fast", "best")
REFERENCE: dict[str, dict[str, Any]] = tomllib.loads(Path(__file__).with_name("reference.toml").read_text("utf-8"))
# Cells that differ from the reference, or from nine tenths covered, by more than this are named.
LARGE, COVERAGE, RECALL_LESS = 1.15, (0.86, 0.94), 0.01
TEXT = f"""\
1000 candidates and 200 queries, values missing at random, means over the seeds {", ".join(map(str, SEEDS))}.
Each cell has three numbers, for 70, 80 and 90 percent of the values missing. The error is over the whole matrix,
|S - S*|^2 / |S0 - S*|^2. "reference" has the results of a separate implementation of the same methods
(`benchmarks/results/reference.toml`), to check this one; "ratio" is our error divided by that of the reference.
With another seed, a cell changes by up to 25 percent."""


def trials(quick: bool) -> list[Trial]:
    sizes, seeds, rates = ((120, 30), (0,), (0.8,)) if quick else ((1000, 200), SEEDS, RATES)
    methods = [*(("posterior", effort) for effort in EFFORTS), ("overlap", None), ("smcnn", None)]
    return [
        Trial("reference", name, "random", rate, *sizes, seed, method, effort)
        for name in data.COMPLETE
        for rate in rates
        for seed in seeds
        for method, effort in methods
    ]


def problem(trial: Trial) -> Problem:
    X = data.load(trial.dataset)
    shape = data.IMAGES.get(trial.dataset)
    return of_split(
        split(
            X,
            missing=trial.missing,
            pattern=trial.mask,
            shape=shape,
            candidates=trial.n_p,
            queries=trial.n_q,
            seed=trial.seed,
        )
    )


def render(rows: Sequence[Row]) -> list[str]:
    lines = [TEXT, ""]
    for effort in EFFORTS:
        lines += [f"### posterior, effort {effort}", "", *_effort(rows, effort)]
    lines += ["### For comparison: overlap similarities and smcnn (rank 100, penalty .001), seed 0", ""]
    for_table = []
    for name in _names(rows):
        before = [_cell(rows, name, rate, "overlap", None, "recall_ten", seed=0) for rate in RATES]
        paper = [_cell(rows, name, rate, "smcnn", None, "error", seed=0) for rate in RATES]
        told = series(REFERENCE["overlap_recall"][name]), series(REFERENCE["smcnn"][name])
        for_table.append([name, series(before), told[0], series(paper), told[1]])
    head = ["", "overlap: recall", "reference", "smcnn: error", "reference"]
    return [*lines, *table(head, for_table), *failures(rows)]


def _effort(rows: Sequence[Row], effort: str) -> list[str]:
    """The table of one effort, and whether it agrees with the reference."""
    body, ratios, coverages, gains, short = [], [], {}, [], []
    for name in _names(rows):
        told = REFERENCE[effort][name]
        error, recall, coverage = (
            [_cell(rows, name, rate, "posterior", effort, measure) for rate in RATES]
            for measure in ("error", "recall_ten", "coverage")
        )
        ratio = [None if e is None else e / r for e, r in zip(error, told, strict=True)]
        ratios += [(value, f"{name} {number(rate, 1)}") for value, rate in zip(ratio, RATES, strict=True) if value]
        known = [value for value in coverage if value is not None]
        coverages[name] = float(np.mean(known)) if known else float("nan")
        goal = REFERENCE["full_recall"][name]
        gains += [found - wanted for found, wanted in zip(recall, goal, strict=True) if found is not None]
        short += [
            f"{name} {number(rate, 1)} ({number(found)} instead of {number(wanted)})"
            for found, wanted, rate in zip(recall, goal, RATES, strict=True)
            if found is not None and found < wanted - RECALL_LESS
        ]
        body.append(
            [name, series(error), series(told), series(ratio, 2), series(recall), series(goal), series(coverage)]
        )
    head = ["", "error", "reference", "ratio", "recall", "reference, full", "coverage"]
    return [*table(head, body), *_summary(ratios, coverages, gains, short), ""]


def _summary(
    ratios: list[tuple[float, str]], coverages: dict[str, float], gains: list[float], short: list[str]
) -> list[str]:
    overall, gain = float(np.exp(np.mean(np.log([value for value, _ in ratios])))), float(np.mean(gains))
    worst, where = max(ratios)
    above = [f"{place} ({value:.3f})" for value, place in ratios if value > LARGE]
    outside = [f"{name} ({number(c)})" for name, c in coverages.items() if not COVERAGE[0] <= c <= COVERAGE[1]]
    span = f"{number(min(coverages.values()))} to {number(max(coverages.values()))}"
    within = f"{number(COVERAGE[0], 2)} to {number(COVERAGE[1], 2)}"
    return [
        f"- Geometric mean of the ratios: {overall:.3f}; largest: {worst:.3f}, {where}; above {LARGE}: {_named(above)}",
        f"- Mean coverage of a data set: {span}; outside {within}: {_named(outside)}",
        f"- Mean difference of recall to the reference with effort full: {gain:+.4f}; "
        f"more than {RECALL_LESS} below it: {_named(short)}",
    ]


def _named(cells: Sequence[str]) -> str:
    return ", ".join(cells) or "none"


def _names(rows: Sequence[Row]) -> list[str]:
    have = {row["dataset"] for row in rows}
    return [name for name in data.COMPLETE if name in have]


def _cell(
    rows: Sequence[Row], name: str, rate: float, method: str, effort: str | None, measure: str, seed: int | None = None
) -> float | None:
    wanted = {"dataset": name, "missing": rate, "method": method, "effort": effort}
    wanted |= {} if seed is None else {"seed": seed}
    return mean([row for row in rows if all(row[key] == value for key, value in wanted.items())], measure)
