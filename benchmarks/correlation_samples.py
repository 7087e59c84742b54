"""Correlations from samples with gaps, beside pandas: ``python -m benchmarks.correlation_samples``.

The folder SIMCOMPLETE_DATA holds the data, but for three sets of scikit-learn.

Of complete samples 1, 10 and 40 % are hidden at random; errors are root mean squares over pairs and seeds against the
complete samples, as shares of pandas' pairwise estimate; `inside` is the share of the entries within 90 % intervals. In
"halves" 30 % of the variables lack the first half of the samples and other 30 % the second: the error is that of the
pairs without a common sample, beside zeros.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
from sklearn import datasets

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.results.data import load, there
from simcomplete._correlation.pairwise import pairwise
from simcomplete._types import Matrix

NAMES = ("sp500_returns", "mice_protein", "communities_crime", "lymphoma_dlbcl", "digits", "usps")
FRESH = ("wine", "diabetes", "breast_cancer")  # of scikit-learn; no constant was chosen on these
SHARES = (0.01, 0.1, 0.4)
STOCKS, SAMPLES = 200, 400
MOST_MISSING = 0.05  # of a column; columns with more are left out, then rows with gaps


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.correlation_samples")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--only", choices=(*NAMES, *FRESH), action="append")
    parser.add_argument("--share", type=float, action="append", help="of values to hide, and no halves")
    parser.add_argument("--covariances", action="store_true", help="measure intervals of covariances, too")
    asked = parser.parse_args()
    for name in asked.only or (*NAMES, *FRESH):
        if name not in FRESH and not there(name):
            continue
        X = samples(name)
        rows = [at_random(name, X, share, asked.seeds, asked.covariances) for share in asked.share or SHARES]
        print(table(rows if asked.share else [*rows, halves(name, X, asked.seeds)]), flush=True)


def samples(name: str) -> Matrix:
    """Complete samples of variables that change: days of stocks, rows of other sets."""
    if name in FRESH:
        return np.asarray(getattr(datasets, f"load_{name}")().data, dtype=np.float64)
    X = load(name)
    if name == "sp500_returns":
        return X[~np.isnan(X).any(axis=1)][:STOCKS].T
    X = X[:, np.isnan(X).mean(axis=0) <= MOST_MISSING]
    X = X[~np.isnan(X).any(axis=1)]
    X = X[np.random.default_rng(0).permutation(len(X))[:SAMPLES]]
    # A variable that a hidden part could leave constant has no pairwise estimate to compare with.
    often = np.sum(np.median(X, axis=0) == X, axis=0)
    return X[:, often < 0.8 * len(X)]


def at_random(name: str, X: Matrix, share: float, seeds: int, covariances: bool) -> dict[str, Any]:
    """Values hidden at random."""
    truth, upper = np.corrcoef(X.T), np.triu_indices(X.shape[1], 1)
    errors: dict[str, list[float]] = {"pandas": [], "repaired": [], "ours": []}
    inside, inside_covariance, lowest = [], [], []
    C = np.cov(X.T)
    for seed in range(seeds):
        rng = np.random.default_rng(seed)
        gaps = np.where(rng.random(X.shape) < share, np.nan, X)
        found = sc.correlation(gaps)
        low, high = found.interval(0.9)
        repaired = found.repaired_pairwise().values
        for what, R in (("pandas", found.pairwise), ("repaired", repaired), ("ours", found.values)):
            errors[what].append(float(np.nanmean(np.square(R - truth)[upper])))
        inside.append(float(np.mean(((low <= truth) & (truth <= high))[upper])))
        if covariances:
            low, high = sc.covariance(gaps).interval(0.9)
            inside_covariance.append(float(np.mean(((low <= C) & (high >= C))[upper])))
        lowest.append(found.min_eigenvalue)
    rmse = {what: float(np.sqrt(np.mean(e))) for what, e in errors.items()}
    return {
        "data": name,
        "size": f"{X.shape[0]} x {X.shape[1]}",
        "hidden": f"{share:.0%}",
        "pandas": rmse["pandas"],
        "repaired, of it": rmse["repaired"] / rmse["pandas"],
        "ours, of it": rmse["ours"] / rmse["pandas"],
        "inside": float(np.mean(inside)),
        "covariances": float(np.mean(inside_covariance)) if covariances else float("nan"),
        "eigenvalue": float(np.min(lowest)),
    }


def halves(name: str, X: Matrix, seeds: int) -> dict[str, Any]:
    """Pairs without a common sample."""
    X = X[np.random.default_rng(5).permutation(len(X))]
    truth, (n, d) = np.corrcoef(X.T), X.shape
    ours, zeros, inside, lowest = [], [], [], []
    for seed in range(seeds):
        order, k = np.random.default_rng(seed).permutation(d), int(0.3 * d)
        gaps = X.copy()
        gaps[: n // 2, order[:k]] = gaps[n // 2 :, order[k : 2 * k]] = np.nan
        found = sc.correlation(gaps)
        low, high = found.interval(0.9)
        pairs = np.ix_(order[:k], order[k : 2 * k])
        assert np.isnan(pairwise(gaps)[2][pairs]).all()
        ours.append(float(np.mean(np.square(found.values - truth)[pairs])))
        zeros.append(float(np.mean(np.square(truth)[pairs])))
        inside.append(float(np.mean(((low <= truth) & (truth <= high))[pairs])))
        lowest.append(found.min_eigenvalue)
    rmse, zero = float(np.sqrt(np.mean(ours))), float(np.sqrt(np.mean(zeros)))
    return {
        "data": name,
        "size": f"{n} x {d}",
        "hidden": f"halves: {rmse:.3f}, zeros {zero:.3f}",
        "pandas": float("nan"),
        "repaired, of it": float("nan"),
        "ours, of it": float("nan"),
        "inside": float(np.mean(inside)),
        "covariances": float("nan"),
        "eigenvalue": float(np.min(lowest)),
    }


if __name__ == "__main__":
    main()
