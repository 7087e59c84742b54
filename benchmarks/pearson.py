"""Correlations of rows with gaps, beside pandas: ``SIMCOMPLETE_DATA=folder python -m benchmarks.pearson``.

The folder holds `sp500_returns_natural.npz`: daily returns, one row for each stock. Of 200 complete rows 1, 10 and 40 %
are hidden at random; the root mean square error is over pairs of different stocks, against complete rows.
"""

from __future__ import annotations

import argparse
import os
from pathlib import Path

import numpy as np
import pandas as pd

import simcomplete as sc
from benchmarks.__main__ import table

ROWS, SHARES = 200, (0.01, 0.1, 0.4)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.pearson", description="Correlations, and pandas'.")
    parser.add_argument("--effort", default="full", help="of posterior (full)")
    asked = parser.parse_args()
    folder = os.environ.get("SIMCOMPLETE_DATA")
    if not folder:
        parser.error("name the folder of sp500_returns_natural.npz in SIMCOMPLETE_DATA")
    with np.load(Path(folder) / "sp500_returns_natural.npz") as file:
        X = file["X"].astype(np.float64)
    X = X[~np.isnan(X).any(axis=1)][:ROWS]
    rng = np.random.default_rng(0)
    print(table([measured(X, share, rng, asked.effort) for share in SHARES]))


def measured(X: np.ndarray, share: float, rng: np.random.Generator, effort: str) -> dict[str, str]:
    """One row of the table: errors of pandas, of the method for similarities, and of posterior with its intervals."""
    truth, apart = np.corrcoef(X), ~np.eye(len(X), dtype=bool)
    gaps = np.where(rng.random(X.shape) < share, np.nan, X)
    done = sc.complete(gaps, method="posterior", metric="pearson", effort=effort, progress=False)
    low, high = done.interval(0.9)
    found = {
        "pandas corr()": pd.DataFrame(gaps.T).corr().to_numpy(),
        "smcnn": sc.complete(gaps, method="smcnn", metric="pearson", progress=False).similarity(),
        "posterior": done.similarity(),
    }
    errors = {name: f"{np.sqrt(np.mean((S - truth)[apart] ** 2)):.4f}" for name, S in found.items()}
    inside = np.mean(((low <= truth) & (truth <= high))[apart])
    return {"hidden": f"{share:.0%}", **errors, "inside 90 % intervals": f"{inside:.3f}"}


if __name__ == "__main__":
    main()
