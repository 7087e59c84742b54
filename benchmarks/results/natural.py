"""Data with real missing values: hide some of what is known, or hide as nature does in rows that are complete."""

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
What is missing in these data is known to nobody, so a part of what is known is hidden too and has to be found
again.

**Every row incomplete.** At most {MOST} rows drawn at random; of the known values of every row a share is
hidden (.1 or .3). Truth is the overlap cosine over what was known before hiding, for pairs with at least
{COMMON} common features; other pairs do not count. `posterior` is asked for the same quantity,
`done.restricted(known)` with the features that both rows had. An earlier table compared its similarities over
all features with this truth, in sparse data another number, and showed errors of up to 538 times overlap's.
The imputing methods and `smcnn` cannot be restricted: they stand here for completeness. The error is
relative to the overlap similarities after hiding, off the diagonal; coverage counts the same pairs; "S0 off by"
tells how little there is to gain where it is tiny. Means over {len(SEEDS)} seeds, one where there are more than
{WIDE} features. A dash: `posterior` was not measured on
this set again."""
TEXT_APART = f"""\
**Complete rows, hidden as nature does.** Where at least {FEWEST} rows are complete: a quarter of them, at most
{QUERIES}, become queries, each with the mask of an incomplete row drawn at random; at most {MOST} others are
candidates. Truth is the cosine of the complete rows; the error is that of queries with candidates. Real gaps
are often few, so there is little error to begin with."""


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
