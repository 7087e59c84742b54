"""Local priors: several ways to weigh a row's neighbours, each one more right-hand side of the same factorisation."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simcomplete._posterior.candidates.moments import Matrix
from simcomplete._posterior.shared.neighbours import Nearest, smoothing, spread
from simcomplete._result.search import top_k

RIDGE_MOST = 100  # neighbours of the kernel ridge
RIDGE = 0.3


def smooth(near: Nearest, k: float, n: int) -> scipy.sparse.csr_array:
    """Smoothing weights with k effective neighbours."""
    return spread(near.ids, smoothing(near.cosines, k), n)


def ridge(unit: Matrix, observed: NDArray[np.bool_], near: Nearest) -> scipy.sparse.csr_array:
    """Kernel-ridge weights over the nearest by overlap cosine, compared on the row's own features.

    w = (exp(-D/s) + 0.3 I)^-1 exp(-d/s) with D = 2 - 2 cos among neighbours, d = 2 - 2 cos to the row and s its median.
    They need not sum to 1 and may be negative: kernel ridge regression of what the global model leaves.
    """
    weights = np.empty(near.ids.shape)
    for row, (ids, cosines) in enumerate(zip(near.ids, near.cosines, strict=True)):
        o = observed[row]
        X = unit[ids] if o.all() else unit[np.ix_(ids, np.flatnonzero(o))]
        weights[row] = _solve(X, cosines)
    return spread(near.ids, weights, len(unit))


def by_completion(unit: Matrix, m: Matrix, most: int) -> Nearest:
    """Nearest candidates of completed rows, by plain cosine."""
    length = np.sqrt(np.sum(m * m, axis=1, keepdims=True))
    cosine = (m / np.where(length > 0, length, 1.0)) @ unit.T
    ids, best = top_k(cosine, max(1, min(most, len(unit) - 1)))
    return Nearest(ids, np.asarray(best), np.ones_like(best))


def _solve(X: Matrix, cosines: Matrix) -> Matrix:
    length = np.sqrt(np.sum(X * X, axis=1, keepdims=True))
    X = X / np.where(length > 0, length, 1.0)
    d = 2.0 - 2.0 * cosines
    s = max(float(np.median(d)), 1e-3)
    K = np.exp(-(2.0 - 2.0 * np.clip(X @ X.T, -1.0, 1.0)) / s)
    K[np.diag_indices(len(K))] = 1.0 + RIDGE
    return np.asarray(np.linalg.solve(K, np.exp(-d / s)))
