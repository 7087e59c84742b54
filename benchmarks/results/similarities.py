"""Only the overlap similarities are given; those among candidates are exact."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np

import simcomplete as sc
from benchmarks.results import reference
from benchmarks.results.reference import REFERENCE
from benchmarks.results.tables import Row, failures, mean, series, table
from benchmarks.results.trial import Matrix, Problem, Trial

TITLE = "Only similarities, no samples"
METHODS = ("posterior", "fmc", "dmc", "smcnn")
RATES = (0.7, 0.9)
TEXT = """\
The problems of the first section with seed 0, but the methods get only the matrix of overlap similarities,
`complete_similarity(S0, candidates=1000)`. Each cell has two numbers, for 70 and 90 percent of the values missing.
Errors are over the whole matrix."""


def trials(quick: bool) -> list[Trial]:
    sizes = (120, 30) if quick else (1000, 200)
    return [
        Trial("similarities", name, "random", rate, *sizes, 0, method, "full" if method == "posterior" else None)
        for name in REFERENCE["similarities"]
        for rate in RATES
        for method in METHODS
    ]


def problem(trial: Trial) -> Problem:
    known = reference.problem(trial)
    return of_similarities(known.S0, known.truth, trial.n_p, trial.seed, known.d)


def of_similarities(S0: Matrix, truth: Matrix, n_p: int, seed: int, d: int) -> Problem:
    """Similarities alone, exact among the first rows."""
    solve = partial(sc.complete_similarity, S0, candidates=n_p, random_state=seed, progress=False)
    return Problem(np.asarray(S0), truth, solve, d, n_p)


def render(rows: Sequence[Row]) -> list[str]:
    body = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        own = [row for row in rows if row["dataset"] == name]
        cells = [
            series(mean([r for r in own if r["method"] == method and r["missing"] == rate], "error") for rate in RATES)
            for method in METHODS
        ]
        covered = series(mean([r for r in own if r["missing"] == rate], "coverage") for rate in RATES)
        body.append([name, series(REFERENCE["similarities"][name]), *cells, covered])
    return [TEXT, "", *table(["", "reference: posterior", *METHODS, "coverage"], body), *failures(rows)]
