"""How wrong the similarities of simulated queries are, by the rank that they have for their query."""

from __future__ import annotations

import numpy as np

from simcomplete._result.intervals import TIED
from simcomplete._types import Matrix

ENOUGH_QUERIES = 50  # simulated queries from which their errors are taken as they are
# Where there are fewer: measured such that intervals at 0.9 cover that of problems with 15 to 100 candidates.
WIDER = 3.6
LEVELS = np.linspace(0.0, 1.0, 201)  # of the quantiles by rank
FIRST_PAIRS = 150  # that the bucket of the first ranks holds at least
BUCKET_GROWTH = 2.5  # how much further each bucket of ranks reaches than the one before
LAST_BUCKET = 0.2  # share of the candidates that the last bucket has at least


def rank_table(S: Matrix, T: Matrix, spread: Matrix, weights: Matrix) -> tuple[Matrix, Matrix]:
    """Quantiles of the signed error (T - S) / spread, by the rank that an estimate has among those of its row.

    What is looked at first was chosen for its large estimates, so its errors are not those of all: they are learnt for
    ranks up to 1, 2.5, 6.25 and so on, each by itself.

    Parameters
    ----------
    S, T : array of shape (rows, items)
        Estimates and true similarities of simulated pairs.
    spread : array of shape (rows,)
        sqrt(1 - length^2) of each row.
    weights : array of shape (rows, items)
        How many candidates each item stands for.

    Returns
    -------
    shares, table : array of shape (buckets,) and (buckets, 201)
        Typical rank of each bucket as a share of all candidates, rising, and its quantiles at `LEVELS`.
    """
    near = S.round(TIED)
    order = np.argsort(-near, axis=1)  # equal ones share a rank
    w = np.take_along_axis(weights, order, axis=1)
    z = np.take_along_axis((T - S) / spread[:, None], order, axis=1)
    rank = np.stack([_mean_ranks(*each) for each in zip(np.take_along_axis(near, order, axis=1), w, strict=True)])
    n = float(w.sum(axis=1).mean())
    inside = w > 0
    rank, z, w = rank[inside], z[inside], w[inside]
    edges = [BUCKET_GROWTH**i for i in range(64) if BUCKET_GROWTH**i < (1 - LAST_BUCKET) * n]
    sizes = np.bincount(np.searchsorted(edges, rank), minlength=len(edges) + 1)
    edges = edges[int(np.searchsorted(np.cumsum(sizes[:-1]), FIRST_PAIRS)) :]  # the first are merged
    bucket = np.searchsorted(edges, rank)
    shares, table = [], []
    for b in range(len(edges) + 1):
        mine = np.flatnonzero(bucket == b)
        if len(mine):
            mine = mine[np.argsort(z[mine])]
            total = np.cumsum(w[mine])
            shares.append(float(np.exp(np.average(np.log(rank[mine] / n), weights=w[mine]))))
            table.append(np.interp(LEVELS, (total - w[mine] / 2) / total[-1], z[mine]))
    shortage = max(1 / np.sqrt(len(S)) - 1 / np.sqrt(ENOUGH_QUERIES), 0.0)
    middle = np.asarray(table)[:, len(LEVELS) // 2, None]
    return np.array(shares), middle + (np.asarray(table) - middle) * (1 + WIDER * shortage * np.abs(2 * LEVELS - 1))


def _mean_ranks(falling: Matrix, w: Matrix) -> Matrix:
    """Ranks of sorted items that stand for w candidates each; equal ones share the mean of theirs."""
    group = np.concatenate([[0], np.cumsum(falling[1:] != falling[:-1])])
    size = np.bincount(group, weights=w)
    return np.asarray((np.cumsum(size) - size / 2)[group])
