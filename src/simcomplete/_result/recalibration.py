"""Recalibration of probabilities by simulated queries, whose true similarities are known."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import RankedErrors
from simcomplete._types import Matrix

COPY = 1 - 1e-6  # cosine above which a candidate is the simulated query itself
CLIP = 1e-4  # least distance of probabilities from 0 and 1
STEPS = 25  # iterations of Newton's method
RIDGE = 1.0  # ridge penalty on coefficients, in numbers of pairs
HALF = 0.5  # share of the way that probabilities are moved towards the regression
CLEARLY = 0.005  # the whole way is gone if it reduces the loss of other queries by at least this part
ENOUGH = 100  # with so many simulated queries the loss is measured on two halves; with fewer, on fifths
PARTS = (0.0, 0.25, 0.5, 0.75, 1.0)  # shares of the way to choose from, with few queries


def simulated_pairs(errors: RankedErrors, unit: Matrix) -> tuple[Matrix, Matrix]:
    """Return estimates and true similarities of simulated queries with candidates; -inf, NaN for the query itself."""
    truth = (errors.simulated + errors.spread[:, None] * errors.residuals) @ unit.T
    estimate = errors.simulated @ unit.T
    same = truth > COPY
    estimate[same], truth[same] = -np.inf, np.nan
    return estimate, truth


def logit(p: Any) -> Any:
    """Return log(p / (1 - p)) of clipped p."""
    p = np.clip(p, CLIP, 1 - CLIP)
    return np.log(p / (1 - p))


def logistic(x: Any) -> Any:
    """Return 1 / (1 + exp(-x)).

    Examples
    --------
    >>> float(logistic(logit(0.25)))
    0.25
    """
    return 1 / (1 + np.exp(-np.clip(x, -500, 500)))


def regress(X: Matrix, y: Matrix) -> Matrix:
    """Fit a logistic regression, shrunk slightly towards the identity: coefficient 1 for the first column, else 0.

    Examples
    --------
    >>> x = logit(np.linspace(0.05, 0.95, 400))
    >>> y = (np.arange(400) % 20 < 20 * logistic(2 * x)).astype(float)
    >>> b = regress(np.column_stack([x, np.ones(400)]), y)
    >>> bool(1.7 < b[0] < 2.3)
    True
    """
    start = np.zeros(X.shape[1])
    start[0] = 1.0

    def cost(b: Matrix) -> float:
        x = X @ b
        return float(np.sum(np.logaddexp(0, x) - y * x) + RIDGE / 2 * np.sum((b - start) ** 2))

    b, least = start, cost(start)
    for _ in range(STEPS):
        p = logistic(X @ b)
        w = np.maximum(p * (1 - p), 1e-9)
        step = np.linalg.solve(X.T @ (X * w[:, None]) + RIDGE * np.eye(len(b)), X.T @ (y - p) - RIDGE * (b - start))
        halves = (b + step / 2**i for i in range(10))
        after = next(((c, each) for each in halves if (c := cost(each)) < least), None)
        if after is None or least - after[0] < 1e-6 * least:
            break
        least, b = after
    return b


def how_far(X: Matrix, y: Matrix, query: NDArray[np.int64]) -> float:
    """Choose how far to move towards the regression, by its loss on queries that it was not fitted to.

    The default is half way, or the whole way if that clearly reduces the loss. With few queries, the share with the
    least loss is chosen among quarters of the way. `query` has the number of each pair's simulated query.

    Examples
    --------
    >>> x, query = logit(np.tile(np.linspace(0.05, 0.95, 40), 100)), np.repeat(np.arange(100), 40)
    >>> right, steep = ((np.arange(4000) % 20 < 20 * logistic(c * x)).astype(float) for c in (1, 4))
    >>> X = np.column_stack([x, np.ones(4000)])
    >>> how_far(X, right, query), how_far(X, steep, query)
    (0.5, 1.0)
    """
    few = query.max() + 1 < ENOUGH
    ways = PARTS if few else (HALF, 1.0)
    folds, loss = 5 if few else 2, np.zeros(len(ways))
    for fold in range(folds):
        mine = query % folds == fold
        whole = X[mine] @ regress(X[~mine], y[~mine])
        for i, far in enumerate(ways):
            x = (1 - far) * X[mine, 0] + far * whole
            loss[i] += np.sum(np.logaddexp(0, x) - y[mine] * x)
    if few:
        return ways[int(np.argmin(loss))]
    return 1.0 if loss[1] < (1 - CLEARLY) * loss[0] else HALF


def of_threshold(p: Matrix, spread: Matrix) -> Matrix:
    """Return the columns that P(similarity > t) is regressed on."""
    x = logit(p).ravel()
    return np.column_stack([x, np.ones(x.size), np.maximum(x, 0), np.log(np.broadcast_to(spread, p.shape).ravel())])


def of_place(p: Matrix, rank: Matrix, lead: Matrix) -> Matrix:
    """Return the columns that P(among the first k) is regressed on: draws, rank of the estimate, lead over the k-th.

    A lead has another slope than a lag: with one for both, probabilities near 1 were too large where errors of the
    simulated queries differ much, and their draws tell little.
    """
    x, lead = logit(p).ravel(), np.clip(lead, -4, 4).ravel()
    return np.column_stack([x, np.ones(x.size), (x + 5) ** 2 / 10, np.log(rank).ravel(), lead, np.maximum(lead, 0)])
