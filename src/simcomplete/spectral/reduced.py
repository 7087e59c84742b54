"""Candidates and queries: the n x n eigenproblem as one of size d + 2 n_q, exactly.

    S0 = F K F^T,   F = [[P^, B, 0], [0, 0, I]],   K = [[I, 0, 0], [0, 0, I], [0, I, C]]

With H = [P^ B] = Q R, Q orthonormal, the non-zero eigenvalues of S0 are those of [[R_P R_P^T, R_B], [R_B^T, C]] (R_P
the first d columns of R, R_B the last n_q), and an eigenvector y of it belongs to [Q y_top, y_bottom]. Q and R come
from the Gram matrix: H^T H = D E diag(t^2) E^T D with D its lengths, so R = diag(t) E^T D and Q = H D^-1 E diag(1/t).
Two passes over the candidates, no n x n matrix.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete.arrays import Array, like, namespace, to_numpy, zeros
from simcomplete.memory import require
from simcomplete.passes import Target, stacked
from simcomplete.similarity.gram import reflect, weights
from simcomplete.similarity.operator import CandidateQuerySimilarity
from simcomplete.similarity.reader import Reader
from simcomplete.spectral.dense import dense_largest
from simcomplete.spectral.penalties import Vector

# Directions of H (in unit columns) below this share of the largest are rounding; the residual guards the cut.
CUT = 1e-14
# Eigenvalues of the result below this share of the largest are rounding too.
NOISE = 1e-11


@dataclass(frozen=True)
class FactorOf:
    """What the second pass does with a block of candidates: rows of the factor."""

    reader: Reader
    turn: Array
    lift: Array

    def __call__(self, X: Array, start: int) -> Array:
        """Return rows of the factor, one for every candidate."""
        return reflect(self.reader(X).H, self.turn) @ self.lift


def largest(operator: CandidateQuerySimilarity, rank: int) -> tuple[Vector, Callable[..., Array]]:
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
    first = operator.first
    length = xp.sqrt(xp.linalg.diagonal(first.G))
    length = xp.where(length > 0, length, xp.ones_like(length))
    t2, E = xp.linalg.eigh(first.G / length[:, None] / length[None, :])
    kept = int(np.sum(to_numpy(t2) > CUT * float(t2[-1])))
    t, E = xp.sqrt(t2[-kept:]), E[:, -kept:]
    R = reflect(t[:, None] * E.T * length, first.turn)
    small = zeros(operator.C, (kept + n_q, kept + n_q))
    small[:kept, :kept] = R[:, :width] @ R[:, :width].T
    small[:kept, kept:] = R[:, width:]
    small[kept:, :kept] = R[:, width:].T
    small[kept:, kept:] = operator.C
    found = min(rank, kept + n_q)
    w, Y = dense_largest((small + small.T) / 2, found)
    lift = (E / t) @ Y[:kept, :] / length[:, None]
    bottom = Y[kept:, :]
    if not operator.measure.positive and operator.query_evidence.rows_without:
        alone = np.ones((n_q, 1))
        alone[list(operator.query_evidence.rows_without)] = 0.0  # where rounding would leave noise to search in
        bottom = bottom * like(alone, bottom)
    # The signs that every route gives, from the sums of the first pass.
    marks = first.marks @ lift + weights(operator.n_candidates, bottom) @ bottom
    signs = np.where(to_numpy(marks) < 0, -1.0, 1.0)

    def scaled_vectors(scale: Vector, target: Target = None, dtype: Any = None) -> Array:
        factor = like(np.append(scale[:found] * signs, np.zeros(rank - found)), operator.C)
        wide = xp.concat([lift, zeros(lift, (int(lift.shape[0]), rank - found))], axis=1) * factor
        return stacked(
            operator.candidates.source,
            FactorOf(operator.reader, first.turn, wide),
            xp.concat([bottom, zeros(bottom, (n_q, rank - found))], axis=1) * factor,
            bytes_per_row=operator.bytes_per_row,
            label="second pass",
            progress=operator.progress,
            target=target,
            dtype=dtype,
        )

    # Beyond the small problem S0 has eigenvalues 0 only; there is nothing to keep of them.
    return np.concatenate([w, np.zeros(rank - found)]), scaled_vectors
