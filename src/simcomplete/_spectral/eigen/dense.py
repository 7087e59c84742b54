"""Eigenpairs of a matrix that is held whole, in any array library."""

from __future__ import annotations

import numpy as np
import scipy.linalg

from simcomplete._rows.xp import Array, is_numpy, namespace, to_numpy
from simcomplete._similarity.gram import weights
from simcomplete._spectral.penalties import Vector


def dense_largest(S: Array, rank: int, *, partial: bool = True) -> tuple[Vector, Array]:
    """Largest eigenpairs of a dense matrix, falling; only NumPy has a partial decomposition to offer."""
    n = int(S.shape[0])
    if is_numpy(S) and partial:
        w, U = scipy.linalg.eigh(S, subset_by_index=(n - rank, n - 1), check_finite=False)
        return w[::-1].copy(), U[:, ::-1]
    xp = namespace(S)
    w, U = xp.linalg.eigh(S)
    return to_numpy(w)[::-1][:rank].copy(), xp.flip(U[:, n - rank :], axis=1)


def orientation(U: Array) -> Vector:
    """Signs of columns, by fixed weights of their rows, so that routes and runs agree."""
    return np.where(to_numpy(weights(0, U) @ U) < 0, -1.0, 1.0)
