"""Candidates and queries: the n x n eigenproblem as one of size d + 2 n_q, exactly.

    S0 = F K F^T,   F = [[P^, B, 0], [0, 0, I]],   K = [[I, 0, 0], [0, 0, I], [0, I, C]]

With H = [P^ B] = Q R, Q orthonormal, the non-zero eigenvalues of S0 are those of [[R_P R_P^T, R_B], [R_B^T, C]] (R_P
the first d columns of R, R_B the last n_q), and an eigenvector y of it belongs to [Q y_top, y_bottom]. R comes from
the Gram matrix H^T H, and Q = H R^+: a Cholesky factor where it has its digits, in a tenth of the time of the
eigendecomposition that answers elsewhere (more columns than rows, or one that depends on others). Two passes over
the candidates, no n x n matrix.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simcomplete._rows.budget import blas_on_one_thread, require
from simcomplete._rows.passes import Target
from simcomplete._rows.xp import Array, is_numpy, like, namespace, solve_triangular, to_numpy, zeros
from simcomplete._similarity.candidate_pass import Reader, reflect, weights
from simcomplete._similarity.candidate_query import CandidateQuerySimilarity
from simcomplete._types import Vector

# Directions of H (in unit columns) below this share of the largest are rounding; the residual guards the cut.
CUT = 1e-14
# A column of H (made unit) whose squared distance from those before it is less is left to eigenvectors: half of the
# digits of the factor would be lost there.
INDEPENDENT = 1e-8
# Eigenvalues of the result below this share of the largest are rounding.
NOISE = 1e-11


@dataclass(frozen=True)
class FactorOf:
    """What the second pass does with a block of candidates: rows of the factor."""

    reader: Reader
    reflector: Array
    lift: Array

    def __call__(self, X: Array, start: int) -> Array:
        """Return rows of the factor, one for every candidate."""
        return self.reader.times(X, start, self.reflector, self.lift)

    def of(self, H: Array) -> Array:
        """Return rows of the factor from rows of H."""
        return reflect(H, self.reflector) @ self.lift


@dataclass(frozen=True)
class Reduced:
    """Eigenvectors of S0 as H' lift above `below`, and the small problem that they come from.

    Attributes
    ----------
    operator : CandidateQuerySimilarity
        S0.
    lift, below : array of shape (m, found), (n_q, found)
        What rows of H' are multiplied with; rows of queries.
    small, Y : array of shape (k, k), (k, found)
        The small problem and its largest eigenvectors.
    """

    operator: CandidateQuerySimilarity
    lift: Array
    below: Array
    small: Array
    Y: Array

    def factor(self, scale: Vector) -> tuple[FactorOf, Array]:
        """Each vector times a number: how candidates get their rows, and the rows of queries."""
        numbers = like(scale, self.lift)
        reflector = self.operator.first.reflector
        return FactorOf(self.operator.reader, reflector, self.lift * numbers), self.below * numbers

    def scaled_vectors(self, scale: Vector, target: Target = None, dtype: Any = None) -> Array:
        """All vectors, each times a number, in one pass; 0 beyond what the small problem has."""
        n_lifted, more = int(self.lift.shape[1]), len(scale) - int(self.lift.shape[1])
        rows, below = self.factor(scale[:n_lifted])
        if more:  # S0 has eigenvalues 0 only there
            xp = namespace(below)
            lift = xp.concat([rows.lift, zeros(below, (int(rows.lift.shape[0]), more))], axis=1)
            rows = FactorOf(rows.reader, rows.reflector, lift)
            below = xp.concat([below, zeros(below, (int(below.shape[0]), more))], axis=1)
        return self.operator.candidates.source.map(
            rows,
            below,
            bytes_per_row=self.operator.bytes_per_row,
            label="second pass",
            progress=self.operator.progress,
            target=target,
            dtype=dtype,
        )


def reduced_eigenpairs(operator: CandidateQuerySimilarity, rank: int) -> tuple[Vector, Reduced]:
    """Largest eigenvalues of S0 after one pass, and what gives their vectors in another."""
    n_q = int(operator.C.shape[0])
    size = operator.reduced_size
    require(
        3 * size**2 * 8,
        f"the reduced problem of {size} x {size} (features plus twice the queries)",
        "complete fewer queries at a time",
    )
    width = operator.candidates.width
    first = operator.first
    with blas_on_one_thread(size):
        root = root_of_gram(first.G, operator.n_candidates)
    R = reflect(root.R, first.reflector)
    kept = int(R.shape[0])
    small = zeros(operator.C, (kept + n_q, kept + n_q))
    small[:kept, :kept] = R[:, :width] @ R[:, :width].T
    small[:kept, kept:] = R[:, width:]
    small[kept:, :kept] = R[:, width:].T
    small[kept:, kept:] = operator.C
    n_pairs = min(rank, kept + n_q)
    small = (small + small.T) / 2
    w, Y = dense_largest(small, n_pairs)
    with blas_on_one_thread(size):
        lift = root.solve(Y[:kept, :])
    bottom = Y[kept:, :]
    if not operator.measure.positive and operator.query_evidence.rows_without:
        alone = np.ones((n_q, 1))
        alone[list(operator.query_evidence.rows_without)] = 0.0  # where rounding would leave noise to search in
        bottom = bottom * like(alone, bottom)
    # The signs that every route gives, from the sums of the first pass.
    marks = first.marks @ lift + weights(operator.n_candidates, bottom) @ bottom
    signs = like(np.where(to_numpy(marks) < 0, -1.0, 1.0), lift)
    # Beyond the small problem S0 has eigenvalues 0 only; there is nothing to keep of them.
    w = np.concatenate([w, np.zeros(rank - n_pairs)])
    return w, Reduced(operator, lift * signs, bottom * signs, small, Y)


def dense_largest(S: Array, rank: int, *, partial: bool = True) -> tuple[Vector, Array]:
    """Largest eigenpairs of a dense matrix, falling; only NumPy has a partial decomposition to offer."""
    n = int(S.shape[0])
    if is_numpy(S) and partial:
        with blas_on_one_thread(n), contextlib.suppress(np.linalg.LinAlgError):  # see `eigenpairs_of`: then all of them
            w, U = scipy.linalg.eigh(S, subset_by_index=(n - rank, n - 1), check_finite=False)
            return w[::-1].copy(), U[:, ::-1]
    xp = namespace(S)
    w, U = xp.linalg.eigh(S)
    return to_numpy(w)[::-1][:rank].copy(), xp.flip(U[:, n - rank :], axis=1)


@dataclass(frozen=True)
class GramRoot:
    """R of shape (k, m), k the numerical rank of H, and how to get x with R x = y from y.

    Attributes
    ----------
    R : array of shape (k, m)
        H = Q R with Q orthonormal.
    solve : callable
        Takes y of shape (k, r) to x of shape (m, r) with H x = Q y.
    """

    R: Array
    solve: Callable[[Array], Array]


def root_of_gram(G: Array, n: int) -> GramRoot:
    """Root of the Gram matrix G of `n` rows.

    Examples
    --------
    >>> root = root_of_gram(np.array([[4.0, 2.0], [2.0, 5.0]]), n=3)
    >>> root.R
    array([[2., 1.],
           [0., 2.]])
    >>> root.solve(np.array([[2.0], [4.0]])).ravel()
    array([0., 2.])
    """
    return _by_cholesky(G, n) or _by_eigenvectors(G)


def _by_cholesky(G: Array, n: int) -> GramRoot | None:
    """Upper triangular R; columns of H that are zero are left out, as the border of pictures often is."""
    used = np.flatnonzero(to_numpy(namespace(G).linalg.diagonal(G)) > 0)
    m = int(G.shape[0])
    if n < len(used) or not len(used):
        return None
    some = G if len(used) == m else _picked(_picked(G, used).T, used)
    length = namespace(G).sqrt(namespace(G).linalg.diagonal(some))
    try:
        L = namespace(G).linalg.cholesky(some / length[:, None] / length[None, :])
    except (np.linalg.LinAlgError, RuntimeError):  # the second is torch's
        return None
    if not float(np.min(to_numpy(namespace(L).linalg.diagonal(L)))) ** 2 > INDEPENDENT:  # or NaN
        return None
    upper = L.T * length
    if len(used) == m:
        return GramRoot(upper, lambda y: solve_triangular(upper, y))
    R = _spread(upper.T, used, m).T
    return GramRoot(R, lambda y: _spread(solve_triangular(upper, y), used, m))


def _by_eigenvectors(G: Array) -> GramRoot:
    """R = diag(t) E^T D, with the directions that H does not have left out."""
    xp = namespace(G)
    length = xp.sqrt(xp.linalg.diagonal(G))
    length = xp.where(length > 0, length, xp.ones_like(length))
    t2, E = xp.linalg.eigh(G / length[:, None] / length[None, :])
    kept = int(np.sum(to_numpy(t2) > CUT * float(t2[-1])))  # none where all candidates are without evidence
    first_kept = int(t2.shape[0]) - kept
    t, E = xp.sqrt(t2[first_kept:]), E[:, first_kept:]
    return GramRoot(t[:, None] * E.T * length, lambda y: (E / t) @ y / length[:, None])


def _picked(G: Array, rows: NDArray[np.int64]) -> Array:
    return namespace(G).take(G, like(rows, G), axis=0)


def _spread(rows: Array, where: NDArray[np.int64], m: int) -> Array:
    """Rows at their places among `m`, zeros elsewhere."""
    places = np.full(m, len(where))
    places[where] = np.arange(len(where))
    return _picked(namespace(rows).concat([rows, namespace(rows).zeros_like(rows[:1, :])], axis=0), places)
