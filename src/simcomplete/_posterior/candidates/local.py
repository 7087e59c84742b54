"""Local priors: several ways to weigh a row's neighbours, each one more right-hand side of the same factorisation."""

from __future__ import annotations

import numpy as np
import scipy.sparse

from simcomplete._posterior.candidates.source import NeighbourRows
from simcomplete._posterior.shared.neighbours import smoothing, sparse_weights
from simcomplete._posterior.shared.rows import Mask, Matrix, unit_rows

RIDGE_NEIGHBOURS = 100  # of the kernel ridge
RIDGE = 0.3


def smoothing_weights(neighbours: NeighbourRows, k: float) -> scipy.sparse.csr_array:
    """Smoothing weights with k effective neighbours."""
    near = neighbours.near
    return sparse_weights(near.ids, smoothing(near.cosines, k), neighbours.n)


def ridge_weights(neighbours: NeighbourRows, observed: Mask) -> scipy.sparse.csr_array:
    """Kernel-ridge weights over the nearest, compared on the row's own features.

    w = (exp(-D/s) + 0.3 I)^-1 exp(-d/s) with D = 2 - 2 cos among neighbours, d = 2 - 2 cos to the row and s its median.
    They need not sum to 1 and may be negative: kernel ridge regression of what the global model leaves.
    """
    unit, near = neighbours.rows["unit"], neighbours.near
    weights = np.empty(near.ids.shape)
    for row, (ids, cosines) in enumerate(zip(near.ids, near.cosines, strict=True)):
        o = observed[row]
        X = unit[ids] if o.all() else unit[np.ix_(ids, np.flatnonzero(o))]
        weights[row] = _solve(X, cosines)
    return sparse_weights(near.ids, weights, neighbours.n)


def _solve(X: Matrix, cosines: Matrix) -> Matrix:
    X = unit_rows(X)
    d = 2.0 - 2.0 * cosines
    s = max(float(np.median(d)), 1e-3)
    K = np.exp(-(2.0 - 2.0 * np.clip(X @ X.T, -1.0, 1.0)) / s)
    K[np.diag_indices(len(K))] = 1.0 + RIDGE
    return np.asarray(np.linalg.solve(K, np.exp(-d / s)))
