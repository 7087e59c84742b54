"""Kernel ridge regression of what the global model leaves, over the nearest candidates: weights of a local prior."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from simcomplete._posterior.candidates.conditional import NeighbourWeights
from simcomplete._posterior.candidates.source import NeighbourRows
from simcomplete._posterior.shared.neighbours import sparse_weights
from simcomplete._posterior.shared.rows import USUAL_SQUARES, unit_rows
from simcomplete._types import Mask, Matrix

RIDGE_NEIGHBOURS = 100  # so many of the nearest candidates
RIDGE = 0.3


def ridge_weights(neighbours: NeighbourRows, observed: Mask) -> NeighbourWeights:
    """Kernel-ridge weights over the nearest, compared on the row's own features.

    w = (exp(-D/s) + 0.3 I)^-1 exp(-d/s) with D = 2 - 2 cos among neighbours, d = 2 - 2 cos to the row and s its median.
    They need not sum to 1 and may be negative: kernel ridge regression of what the global model leaves.
    """
    unit, near = neighbours.rows["unit"], neighbours.near
    weights = np.empty(near.ids.shape)
    # Complete rows share the products of their neighbours, where these are fewer than the pairs of all of them.
    fewer = observed.all() and neighbours.n**2 <= near.ids.size * near.ids.shape[1]
    shared = unit @ unit.T if fewer else np.zeros((1, 1))
    usual = shared.diagonal().min() > USUAL_SQUARES[0]
    for row, (ids, cosines) in enumerate(zip(near.ids, near.cosines, strict=True)):
        o = observed[row]
        X = unit if usual else unit[ids] if o.all() else unit[np.ix_(ids, np.flatnonzero(o))]
        weights[row] = _solve(X, cosines, shared[np.ix_(ids, ids)] if usual else X @ X.T)
    return sparse_weights(near.ids, weights, neighbours.n)


def _solve(X: Matrix, cosines: Matrix, K: Matrix) -> Matrix:
    """Weights of neighbours X of a row, whose cosines with it and products K (overwritten) are known.

    Examples
    --------
    >>> bool(_solve(np.eye(1), np.ones(1), np.eye(1))[0] == 1 / 1.3)  # exp(0) / (exp(0) + 0.3)
    True
    """
    squares = K.diagonal()
    if squares.min() > USUAL_SQUARES[0]:
        length = np.sqrt(squares)
        K /= length
        K /= length[:, None]
    else:  # too short for squares
        X = unit_rows(X)
        K = X @ X.T
    d = 2.0 - 2.0 * cosines
    s = max(float(np.median(d)), 1e-3)
    np.clip(K, -1.0, 1.0, out=K)
    K -= 1.0
    K *= 2.0 / s
    np.exp(K, out=K)
    np.fill_diagonal(K, 1.0 + RIDGE)
    _, weights, failed = scipy.linalg.lapack.dposv(K, np.exp(-d / s))
    return np.asarray(np.linalg.solve(K, np.exp(-d / s)) if failed else weights)
