"""Correlations that are unknown inside a matrix: ``python -m benchmarks.unknown_correlations [--seeds 4]``.

The folder SIMCOMPLETE_DATA holds the data: of the daily returns of stocks without gaps 60 are drawn by each seed. In
every case 36 of their correlations are unknown; errors are root mean squares of these against the complete returns,
beside 0.
The figures of docs/imputation.md.
"""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np
import pandas as pd

import simcomplete as sc
from benchmarks.__main__ import table
from benchmarks.results.data import load
from simcomplete._types import Matrix

STOCKS, SIX, NINE, DAYS = 60, 6, 9, 44
CASES = ("two halves of the days", "other entries accurate", "44 days each")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.unknown_correlations")
    parser.add_argument("--seeds", type=int, default=4)
    asked = parser.parse_args()
    returns = load("sp500_returns")
    returns = returns[~np.isnan(returns).any(axis=1)]
    print(table([row(case, returns, asked.seeds) for case in CASES]))


def row(case: str, returns: Matrix, seeds: int) -> dict[str, Any]:
    """Errors of one case over seeds."""
    ours, zeros = [], []
    for seed in range(seeds):
        X = returns[np.random.default_rng(seed).permutation(len(returns))[:STOCKS]].T
        S, truth = unknown(case, X), np.corrcoef(X.T)
        gaps = np.isnan(S)
        assert np.triu(gaps).sum() == SIX * SIX
        filled = sc.complete_similarity(S, progress=False).similarity()
        ours.append(float(np.sqrt(np.mean(np.square(filled - truth)[gaps]))))
        zeros.append(float(np.sqrt(np.mean(np.square(truth)[gaps]))))
    error, of_zeros = float(np.mean(ours)), float(np.mean(zeros))
    spread = {"smallest": min(ours), "largest": max(ours)}
    return {"case": case, "seeds": seeds, "error": error, **spread, "of zeros": of_zeros}


def unknown(case: str, X: Matrix) -> Matrix:
    """Correlations of days (rows) of stocks (columns), NaN where they are unknown."""
    if case == "other entries accurate":
        S = np.corrcoef(X.T)
        S[:SIX, SIX : 2 * SIX] = S[SIX : 2 * SIX, :SIX] = np.nan
        return S
    X = X.copy()
    if case == "two halves of the days":
        X[: len(X) // 2, :SIX] = X[len(X) // 2 :, SIX : 2 * SIX] = np.nan
    else:  # every one of nine stocks has days of its own
        for k in range(NINE):
            X[: k * DAYS, k] = X[(k + 1) * DAYS :, k] = np.nan
    return np.asarray(pd.DataFrame(X).corr(), dtype=np.float64)


if __name__ == "__main__":
    main()
