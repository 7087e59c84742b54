"""Every row incomplete: 30 to 70 percent of every row of complete data are hidden."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.results import data
from benchmarks.results.natural import hide
from benchmarks.results.reference import REFERENCE
from benchmarks.results.tables import Row, failures, mean, number, table
from benchmarks.results.trial import Problem, Trial, of_rows

TITLE = "Every row incomplete, 800 rows"
METHODS = ("zero", "mean", "smcnn", "posterior")
SEEDS = (0, 1, 2)
LEAST, MOST = 0.3, 0.7
TEXT = """\
800 rows, each with a share of its values missing at random; the shares are drawn uniformly from .3 to .7. Errors are
without the diagonal, means over three seeds. In the reference, the penalty of `smcnn` was chosen with knowledge of
the truth; ours is the default, .001."""


def trials(quick: bool) -> list[Trial]:
    n, seeds = (100, (0,)) if quick else (800, SEEDS)
    middle = (LEAST + MOST) / 2
    return [
        Trial("rows", name, "uniform", middle, n, 0, seed, method, "full" if method == "posterior" else None)
        for name in REFERENCE["rows"]
        for seed in seeds
        for method in METHODS
    ]


def problem(trial: Trial) -> Problem:
    X = data.load(trial.dataset)
    rng = np.random.default_rng(trial.seed)
    X = X[rng.permutation(len(X))]
    X = X[X.any(axis=1)][: trial.n_p]
    return of_rows(hide(X, rng.uniform(LEAST, MOST, len(X)), rng), X, trial.seed)


def render(rows: Sequence[Row]) -> list[str]:
    body = []
    for name in dict.fromkeys(row["dataset"] for row in rows):
        own = {method: [r for r in rows if r["dataset"] == name and r["method"] == method] for method in METHODS}
        best = own["posterior"]
        body.append(
            [
                name,
                *(number(mean(own[method], "error")) for method in METHODS),
                number(REFERENCE["rows"][name]),
                number(REFERENCE["rows_smcnn"][name]),
                number(mean(best, "recall_ten")),
                number(mean(best, "coverage")),
            ]
        )
    head = ["", *METHODS, "reference: posterior", "reference: smcnn", "recall, posterior", "coverage"]
    return [TEXT, "", *table(head, body), *failures(rows)]
