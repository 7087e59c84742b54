"""Candidates and queries: the n x n eigenproblem as one of size d + 2 n_q, exactly.

    S0 = F K F^T,   F = [[P^, B, 0], [0, 0, I]],   K = [[I, 0, 0], [0, 0, I], [0, I, C]]

With H = [P^ B], H^T H = E diag(t^2) E^T and R = diag(t) E^T, the non-zero eigenvalues of S0 are those of
[[R_P R_P^T, R_B], [R_B^T, C]] (R_P the first d columns of R, R_B the last n_q), and an eigenvector y of it
belongs to [H E diag(1/t) y_top, y_bottom]. Two passes over the candidates, no n x n matrix.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from simcomplete.arrays import Array, like, namespace, to_numpy, zeros
from simcomplete.memory import require
from simcomplete.similarity.operator import CandidateQuerySimilarity
from simcomplete.spectral.dense import dense_largest, orientation
from simcomplete.spectral.penalties import Vector

# Directions of H below this share of the largest are rounding; the residual of the result guards the cut.
CUT = 1e-14
# Eigenvalues of the result below this share of the largest are rounding too.
NOISE = 1e-11


def largest(operator: CandidateQuerySimilarity, rank: int) -> tuple[Vector, Callable[[Vector], Array]]:
    """Largest eigenvalues of S0, and a function that gives their vectors times a scale, in a second pass."""
    n_q = int(operator.C.shape[0])
    size = operator.reduced_size
    require(
        3 * size**2 * 8,
        f"the reduced problem of {size} x {size} (features plus twice the queries)",
        "complete fewer queries at a time",
    )
    xp = namespace(operator.C)
    width = operator.candidates.width
    t2, E = xp.linalg.eigh(operator.gram())
    kept = int(np.sum(to_numpy(t2) > CUT * float(t2[-1])))
    t, E = xp.sqrt(t2[-kept:]), E[:, -kept:]
    R = t[:, None] * E.T
    small = zeros(operator.C, (kept + n_q, kept + n_q))
    small[:kept, :kept] = R[:, :width] @ R[:, :width].T
    small[:kept, kept:] = R[:, width:]
    small[kept:, :kept] = R[:, width:].T
    small[kept:, kept:] = operator.C
    found = min(rank, kept + n_q)
    w, Y = dense_largest((small + small.T) / 2, found)
    lift = E @ (Y[:kept, :] / t[:, None])

    def scaled_vectors(scale: Vector) -> Array:
        factor = like(scale[:found], operator.C)
        V = zeros(operator.C, (operator.n, rank))
        for rows, P, B, _ in operator.blocks("second pass"):
            V[rows, :found] = xp.concat([P, B], axis=1) @ (lift * factor)
        V[operator.n_candidates :, :found] = Y[kept:, :] * factor
        V *= like(orientation(V), V)
        return V

    # Beyond the small problem S0 has eigenvalues 0 only; there is nothing to keep of them.
    return np.concatenate([w, np.zeros(rank - found)]), scaled_vectors
