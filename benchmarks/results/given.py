"""Given similarity matrices: some rows are exact, the others have noise or unknown entries."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks.results import data
from benchmarks.results.similarities import METHODS, of_similarities
from benchmarks.results.tables import Row, by_method, failures, number
from benchmarks.results.trial import Problem, Trial

TITLE = "Given similarity matrices"
SEEDS = (0, 1, 2)
EXACT = 0.7
STRENGTHS = {"noise": (0.5, 1.0), "hidden": (0.3, 0.6)}
TEXT = f"""\
Matrices without samples: similarities of kinases by sequence alignment, of drugs by fingerprints, of patients by gene
expression. A random {EXACT:.0%} of the rows are candidates with exact similarities; all similarities of the other rows
are changed. `noise` adds symmetric Gaussian noise, whose standard deviation is .5 or 1 times that of all similarities
off the diagonal. `hidden` sets a share of the pairs (.3 or .6) to 0, the value of pairs without common features. The
call is `complete_similarity(S0, candidates=...)`; means over {len(SEEDS)} seeds, errors over the whole matrix. The
candidate blocks of these matrices may not be positive semi-definite; changes by a method there count as errors. The
intervals assume noise around the truth. Zeros in place of similarities are a bias, so coverage is low for `hidden`."""


def trials(quick: bool) -> list[Trial]:
    seeds = (0,) if quick else SEEDS
    found: list[Trial] = []
    for name in filter(data.there, data.GIVEN):
        n = len(data.load(name))
        n_p = round(EXACT * n)
        found += [
            Trial("given", name, mask, strength, n_p, n - n_p, seed, method, "full" if method == "posterior" else None)
            for mask, strengths in STRENGTHS.items()
            for strength in strengths
            for seed in seeds
            for method in METHODS
        ]
    return found


def problem(trial: Trial) -> Problem:
    S = data.load(trial.dataset)
    rng = np.random.default_rng(trial.seed)
    order = rng.permutation(len(S))
    S = (S + S.T)[np.ix_(order, order)] / 2
    upper = np.triu_indices(len(S), 1)
    S0 = S.copy()
    if trial.mask == "noise":
        S0[upper] += trial.missing * S[upper].std() * rng.standard_normal(len(upper[0]))
    else:
        S0[upper] *= rng.random(len(upper[0])) >= trial.missing
    S0 = np.triu(S0) + np.triu(S0, 1).T
    S0[: trial.n_p, : trial.n_p] = S[: trial.n_p, : trial.n_p]
    return of_similarities(S0, S, trial.n_p, trial.seed, 0)


def render(rows: Sequence[Row]) -> list[str]:
    told = by_method(
        rows,
        ("dataset", "n_p", "n_q", "mask", "missing"),
        lambda name, n_p, n_q, mask, strength: f"{name}, {n_p} + {n_q}, {mask} {number(strength, 1)}",
        methods=METHODS,
    )
    return [TEXT, "", *told, *failures(rows)]
