"""Rows of which some are complete: complete rows as candidates against a factor model of all rows.

``python -m benchmarks.some_complete``, with MNIST where SIMCOMPLETE_DATA has it. Relative squared error over all pairs
and processor seconds, 70 percent of the other rows missing; the rule says which of the two `complete(X)` takes.
"""

from __future__ import annotations

import time
from typing import Any

import numpy as np

import simcomplete as sc
from benchmarks.__main__ import table
from simcomplete._compare.trial import Split, split
from simcomplete._posterior.all_rows import split as whole

PLAN = (
    ("digits", 300, 300),
    ("digits", 150, 600),
    ("digits", 100, 600),
    ("mnist", 600, 200),
    ("mnist", 150, 600),
    ("mnist", 100, 600),
)  # data, complete rows, others


def main(seed: int = 0) -> None:
    """Print a table."""
    rows: list[dict[str, Any]] = []
    for name, complete, others in PLAN:
        try:
            X = np.asarray(sc.datasets.load(name).X, dtype=np.float64)
        except sc.errors.InputError as error:
            print(f"{name} is left out: {error}")
            continue
        data = split(X, missing=0.7, candidates=complete, queries=others, seed=seed)
        taken = whole.candidates_among(np.concatenate([data.P, data.Q])) is not None
        sides = {"by_complete": measured(data, (0, 0.0)), "by_factors": measured(data, (len(X) + 1, 1.0))}
        told = {f"{side}_{what}": value for side, found in sides.items() for what, value in found.items()}
        rows.append(
            {"data": name, "complete": complete, "others": others, **told, "rule": "complete" if taken else "factors"}
        )
    print(table(rows))


def measured(data: Split, rule: tuple[int, float]) -> dict[str, float]:
    """Complete all rows together under a rule of when complete rows are candidates; error and seconds."""
    usual = whole.FEWEST, whole.SHARE
    whole.FEWEST, whole.SHARE = rule
    try:
        start = time.process_time()
        done = sc.complete(np.concatenate([data.P, data.Q]), method="posterior", progress=False)
        seconds = time.process_time() - start
    finally:
        whole.FEWEST, whole.SHARE = usual
    return {"error": sc.metrics.relative_squared_error(done.similarity(), data.S0, data.truth), "cpu_s": seconds}


if __name__ == "__main__":
    main()
