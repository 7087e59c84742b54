"""Data with real missing values: hide some known values, or copy real masks to complete rows."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

import simcomplete as sc
from benchmarks.results import data
from benchmarks.results.tables import Row, by_method, failures, number
from benchmarks.results.trial import Matrix, Problem, Trial, of_rows, of_split
from simcomplete._compare.trial import Split

TITLE = "Data with real missing values"
TOGETHER: tuple[str, ...] = ("overlap", "zero", "mean", "smcnn", "posterior")
APART: tuple[str, ...] = ("overlap", "zero", "mean", "lr", "smcnn", "posterior")
SEEDS = (0, 1)
MOST, QUERIES, FEWEST = 400, 100, 100  # rows taken, queries at most, complete rows needed to take some as candidates
WIDE = 1000  # features; above that one seed, because posterior takes a minute and more
COMMON = 10  # features of a pair, or its similarity over them is no truth
TEXT = f"""\
The true similarities of these data are unknown, so some of the known values are hidden, and the results are compared
with what was known before.

**Every row incomplete.** At most {MOST} rows are drawn at random, and a share of the known values of every row is
hidden (.1 or .3). The truth is the overlap cosine before hiding, for pairs with at least {COMMON} common features;
other pairs are not counted. `posterior` is restricted to the same features, by `done.restricted(known)`. (An earlier
version of this table used its similarities over all features, a different quantity in sparse data, and showed errors
of up to 538.) The imputing methods and `smcnn` cannot be restricted, so their errors are over all features and are
shown only for completeness. Errors are relative to the overlap similarities after hiding, without the diagonal;
coverage is over the same pairs. Means over {len(SEEDS)} seeds, one seed for more than {WIDE} features."""
TEXT_APART = f"""\
**Complete rows with real masks.** Only for tables with at least {FEWEST} complete rows. A quarter of them, at most
{QUERIES}, become queries, each with the mask of a random incomplete row; at most {MOST} of the others are candidates.
The truth is the cosine of the complete rows, and errors are those of queries with candidates. Real masks often hide
few values, so the overlap similarities already have a small error."""


def trials(quick: bool) -> list[Trial]:
    most, seeds = (80, (0,)) if quick else (MOST, SEEDS)
    found: list[Trial] = []
    for name in filter(data.there, data.NATURAL):
        known = ~np.isnan(data.load(name))
        repeats = seeds if known.shape[1] <= WIDE else seeds[:1]
        whole = int(known.all(axis=1).sum())
        n_q = min(QUERIES, whole // 4, most)
        settings = [("hidden", share, min(most, len(known)), 0, TOGETHER) for share in (0.1, 0.3)]
        if whole >= FEWEST:
            missing = round(float(1 - known[~known.all(axis=1)].mean()), 3)
            settings.append(("natural", missing, min(most, whole - n_q), n_q, APART))
        found += [
            Trial("natural", name, mask, share, n_p, n_q, seed, method, "full" if method == "posterior" else None)
            for mask, share, n_p, n_q, methods in settings
            for seed in repeats
            for method in methods
        ]
    return found


def problem(trial: Trial) -> Problem:
    X = data.load(trial.dataset)
    rng = np.random.default_rng(trial.seed)
    X = X[rng.permutation(len(X))]
    if trial.mask == "natural":
        known = ~np.isnan(X)
        whole = known.all(axis=1)
        P, Q = np.split(X[whole][: trial.n_p + trial.n_q], [trial.n_p])
        observed = known[~whole][rng.integers(0, int((~whole).sum()), len(Q))]
        return of_split(Split(P, sc.masks.apply(Q, observed), Q, trial.seed))
    X = X[: trial.n_p]
    counted = sc.overlap_counts(X) >= COMMON
    np.fill_diagonal(counted, False)
    return of_rows(hide(X, np.full(len(X), trial.missing), rng), X, trial.seed, counted)


def hide(X: Matrix, shares: NDArray[np.float64], rng: np.random.Generator) -> Matrix:
    """Copy rows and hide a share of what each has, always leaving it one value."""
    left = X.copy()
    for row, share in zip(left, shares, strict=True):
        known = np.flatnonzero(~np.isnan(row))
        row[rng.choice(known, min(round(share * len(known)), len(known) - 1), replace=False)] = np.nan
    return left


def render(rows: Sequence[Row]) -> list[str]:
    hidden = [row for row in rows if row["mask"] == "hidden"]
    natural = [row for row in rows if row["mask"] == "natural"]
    together = by_method(
        hidden,
        ("dataset", "n_p", "d", "missing"),
        lambda name, n, d, share: f"{name}, {n} x {d}, {number(share, 1)} hidden",
        methods=TOGETHER,
    )
    apart = by_method(
        natural,
        ("dataset", "n_p", "n_q", "d", "missing"),
        lambda name, n_p, n_q, d, share: f"{name}, {n_p} + {n_q} x {d}, {number(share, 2)} missing",
        "error_queries_candidates",
        APART,
    )
    return [TEXT, "", *together, TEXT_APART, "", *apart, *failures(rows)]
