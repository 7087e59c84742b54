"""Complete data with values hidden in every row, by the patterns that real tables have: the truth is known."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from benchmarks.results import data
from simcomplete._types import Mask, Matrix

SETS = (
    "digits",
    "usps",
    "mnist",
    "cifar10_gray",
    "googlenews300",
    "jester",
    "beijing_pm25",
    "communities_crime",
    "mice_protein",
    "sp500_returns",
    "lymphoma_dlbcl",
    "hela_proteomics",
)
BY_COLUMN = ("communities_crime", "hela_proteomics")  # few rows of these are complete: complete columns are taken
IGNORABLE = ("mcar.1", "mcar.5", "mcar.9", "mixed", "block", "feat", "drop", "mar")
BY_VALUE = ("mnar", "mnarg", "mar2")  # mar2 depends on what can be predicted of the value, and looks the same
NATURAL = ("nat:jester", "nat:kiba_affinity", "nat:movielens_small")  # rows and columns of a real table's mask
FEWEST_KEPT = 2  # values of a row


def complete_part(name: str, rows: int, seed: int) -> Matrix:
    """Some rows of the complete part of a data set, drawn at random."""
    X = data.load(name)
    known = ~np.isnan(X)
    X = X[:, known.all(axis=0)] if name in BY_COLUMN else X[known.all(axis=1)]
    X = X[np.any(X != 0, axis=1)]
    return X[np.random.default_rng(seed).permutation(len(X))[:rows]]


def hidden(X: Matrix, mask: str, seed: int) -> Matrix:
    """A copy of rows with NaN where the mask hides; every row keeps at least two values."""
    rng = np.random.default_rng([seed, 1 + (*IGNORABLE, *BY_VALUE, *NATURAL).index(mask)])
    known = _observed(X, mask, rng)
    for row in np.flatnonzero(known.sum(axis=1) < FEWEST_KEPT):
        known[row, rng.permutation(X.shape[1])[:FEWEST_KEPT]] = True
    return np.where(known, X, np.nan)


def _observed(X: Matrix, mask: str, rng: np.random.Generator) -> Mask:
    n, d = X.shape
    draws = rng.random((n, d))
    if mask.startswith("mcar"):
        return np.asarray(draws >= float(mask[4:]))
    if mask == "mixed":
        return np.asarray(draws >= rng.uniform(0.05, 0.95, (n, 1)))
    if mask == "block":
        start, length = rng.integers(d, size=(n, 1)), np.round(rng.uniform(0.2, 0.7, (n, 1)) * d)
        return np.asarray((np.arange(d) - start) % d >= length)
    if mask.startswith("nat:"):
        real = ~np.isnan(data.load(mask[4:]))
        rows, columns = (rng.permutation(np.resize(rng.permutation(real.shape[k]), X.shape[k])) for k in (0, 1))
        return np.asarray(real[np.ix_(rows, columns)])
    if mask == "feat":
        return np.asarray(draws >= rng.beta(0.6, 0.9, d))
    if mask == "drop":
        return np.asarray(np.arange(d) < rng.uniform(0.15, 1.1, (n, 1)) * d)
    return np.asarray(draws >= _chance(X, mask, rng))


def _chance(X: Matrix, mask: str, rng: np.random.Generator) -> NDArray[np.float64]:
    """The chance that a value is hidden, where it depends on values."""
    n, d = X.shape
    if mask == "mnar":  # low values of a feature
        ranks = np.argsort(np.argsort(X + 1e-9 * rng.standard_normal(X.shape), axis=0), axis=0) / max(n - 1, 1)
        return _logistic(6.0 * (0.4 - ranks))
    if mask == "mnarg":  # low values of the table
        return _logistic(-2.5 * (X - X.mean()) / X.std() - 0.5)
    gap = (X - X.mean(axis=0)) / np.where(X.std(axis=0) > 0, X.std(axis=0), 1.0)
    u, _, vt = np.linalg.svd(gap, full_matrices=False)
    score = u[:, 0] / u[:, 0].std()
    signs = np.sign(vt[0]) if mask == "mar2" else rng.choice([-1.0, 1.0], d)
    return _logistic(-2.0 * score[:, None] * signs - 0.5)


def _logistic(x: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.asarray(1.0 / (1.0 + np.exp(-np.clip(x, -50, 50))))
