"""Missing values themselves: `PosteriorImputer` beside KNNImputer, IterativeImputer and SoftImpute."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.experimental import enable_iterative_imputer  # noqa: F401  makes IterativeImputer importable
from sklearn.impute import IterativeImputer, KNNImputer

import simcomplete as sc
from benchmarks.measure import Settings
from benchmarks.results.data import IMAGES, load, there
from simcomplete._reproduction.labels.soft_impute import soft_impute
from simcomplete._types import Mask, Matrix

TITLE = (
    "missing values: root mean squared error of hidden ones, in deviations of their feature (of all pixels in images)"
)
NOTE = (
    "ratios are PosteriorImputer's error over another's, means are geometric; cover: share of hidden values within"
    " 1.645 standard deviations, .9 of them if these are right"
)
COMPLETE = ("digits", "usps", "googlenews300", "communities_crime", "jester", "lymphoma_dlbcl", "mice_protein")
NATURAL = (
    "beijing_pm25",
    "communities_crime",
    "jester",
    "kiba_affinity",
    "lymphoma_dlbcl",
    "mice_protein",
    "sp500_returns",
)
CANDIDATES, MASKED = 400, 100
NATURAL_ROWS = 400
EVERY_ROW = 300  # of which a square is hidden in every one
MIN_VALUES = 20  # of a feature
ITERATIVE_FEATURES = 130  # with more it takes minutes
ITERATIONS = 5


def run(settings: Settings) -> list[dict[str, Any]]:
    rows = [judged(*case, settings) for case in (*masked_rows(settings), *natural_tables(settings))]
    return rows + list(means(rows))


def masked_rows(settings: Settings) -> Iterator[tuple[str, str, Matrix, Mask]]:
    """Complete rows and rows under masks: random, and in images squares and stripes."""
    for name in ("digits",) if settings.quick else filter(there, COMPLETE):
        X = whole_part(load(name))
        n = 150 if settings.quick else CANDIDATES + MASKED
        X = X[np.random.default_rng(settings.seed).permutation(len(X))[:n]]
        patterns = {f"random {p}": sc.masks.random(X, p, random_state=settings.seed) for p in (0.5, 0.8, 0.9)}
        if name in IMAGES:
            patterns["square"] = sc.masks.square(X, 0.5, IMAGES[name], random_state=settings.seed)
            patterns["stripes"] = sc.masks.stripes(X, 0.5, shape=IMAGES[name], random_state=settings.seed)
        for pattern, observed in patterns.items():
            hidden = ~observed
            if pattern == "square":
                yield f"{name}, every row", pattern, X[-EVERY_ROW:], hidden[-EVERY_ROW:].copy()
            hidden[:-MASKED] = False
            yield name, pattern, X, hidden


def whole_part(X: Matrix) -> Matrix:
    """The complete rows of a table, or its complete columns where there are more values in these."""
    known = ~np.isnan(X)
    rows, columns = X[known.all(axis=1)], X[:, known.all(axis=0)]
    return rows if rows.size > columns.size else columns


def natural_tables(settings: Settings) -> Iterator[tuple[str, str, Matrix, Mask]]:
    """Tables with values missing in the source, of which some more are hidden."""
    for name in () if settings.quick else filter(there, NATURAL):
        X = load(name)
        X = X[np.random.default_rng(settings.seed).permutation(len(X))[:NATURAL_ROWS]]
        X = X[:, (~np.isnan(X)).sum(axis=0) > MIN_VALUES]
        for share in (0.1, 0.3):
            draw = np.random.default_rng(settings.seed + 1).random(X.shape)
            yield f"{name}, natural", f"hidden {share}", X, ~np.isnan(X) & (draw < share)


def judged(name: str, pattern: str, X: Matrix, hidden: Mask, settings: Settings) -> dict[str, Any]:
    """Errors of every imputer on one table."""
    given = np.where(hidden, np.nan, X)
    varying = np.fmax.reduce(given) > np.fmin.reduce(given)  # not those that nobody has
    given, truth, hidden = given[:, varying], X[:, varying], hidden[:, varying]
    centre, size = np.nanmean(given, axis=0), np.nanstd(given, axis=0)
    if name.split(",")[0] in IMAGES:  # pixels have one unit, and some hardly vary
        size = np.full_like(size, np.sqrt(np.mean(size**2)))
    given, truth = (given - centre) / size, (truth - centre) / size

    def error(values: Matrix) -> float:
        return float(np.sqrt(np.mean((values - truth)[hidden] ** 2)))

    ours = sc.PosteriorImputer(random_state=settings.seed).fit(given)
    values, std = ours.impute(given, return_std=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # IterativeImputer warns that it did not converge
        others = {"knn": error(KNNImputer().fit_transform(given)), "soft": error(soft_impute(given))}
        others["iterative"] = np.nan
        if given.shape[1] <= ITERATIVE_FEATURES:
            model = IterativeImputer(max_iter=ITERATIONS, random_state=0)
            others["iterative"] = error(model.fit_transform(given))
    own = error(values)
    cover = float(np.mean(np.abs(values - truth)[hidden] <= 1.645 * std[hidden]))
    ratios = {f"of_{other}": own / others[other] for other in ("knn", "iterative", "soft")}
    return {"data": name, "mask": pattern, "error": own, **others, **ratios, "cover": cover}


def means(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """Geometric means of errors and ratios over each kind of tables."""
    for kind, ends in (("masked rows", ""), ("every row masked", "every row"), ("natural tables", "natural")):
        some = [row for row in rows if (row["data"].split(", ")[1:] or [""])[0] == ends]
        if some:
            names = [name for name in some[0] if name not in ("data", "mask", "cover")]
            logs = {name: [np.log(row[name]) for row in some if np.isfinite(row[name])] for name in names}
            middle = {name: float(np.exp(np.mean(logs[name]))) if logs[name] else np.nan for name in names}
            yield {"data": kind, "mask": "mean", **middle, "cover": float(np.mean([row["cover"] for row in some]))}
