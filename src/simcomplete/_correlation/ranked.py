"""The nearest correlation matrix of a given rank: rows on the unit sphere, from several starts."""

from __future__ import annotations

import numpy as np

from simcomplete._correlation.constraints import Constraints
from simcomplete._correlation.given import Given
from simcomplete._correlation.repair import Proof
from simcomplete._correlation.solve import Solved, solve_nearest
from simcomplete._correlation.starts import best_of, leading_factors
from simcomplete._method.iterate import Limits
from simcomplete._result.status import Status
from simcomplete._types import Matrix

DRAWN = 3  # starts at random besides the leading eigenvectors of A and of the nearest matrix of any rank


def of_rank(given: Given, conditions: Constraints, k: int, limits: Limits) -> tuple[Solved, Matrix]:
    """Minimise sum h_ij^2 (v_i . v_j - A_ij)^2 over unit vectors v_i of k numbers; the factor, too."""
    n, A = given.n, given.values
    H = np.ones((n, n)) if conditions.elements is None else conditions.elements
    H = H if conditions.rows is None else np.sqrt(np.outer(conditions.rows, conditions.rows))
    h2 = np.where(given.known, np.square(H), 0.0)
    np.fill_diagonal(h2, 0.0)
    top = float(h2.max()) or 1.0
    any_rank = solve_nearest(given, conditions, 1e-10, limits, None)
    rng = np.random.default_rng(0)
    starts = [
        _directed(leading_factors(A, k), rng),
        _directed(leading_factors(any_rank.X, k), rng),
        *(rng.standard_normal((n, k)) for _ in range(DRAWN)),
    ]

    def value(W: Matrix) -> tuple[float, Matrix]:
        length = np.linalg.norm(W, axis=1, keepdims=True) + 1e-300
        V = W / length
        E = h2 / top * (V @ V.T - A)
        pull = 4 * E @ V
        low = float(np.sum(E * (V @ V.T - A)))
        return low, (pull - np.sum(pull * V, axis=1, keepdims=True) * V) / length

    W, low, made, agreed = best_of(value, starts, float(np.sum(A * A)))
    V = W / np.linalg.norm(W, axis=1, keepdims=True)
    X = V @ V.T
    np.fill_diagonal(X, 1.0)
    lower, kind = any_rank.proof.lower_bound, "the nearest matrix of any rank"
    if conditions.rows is None and conditions.elements is None and given.known.all():
        tight = rank_bound(A, V)
        lower, kind = max((lower, kind), (tight, "dual with the rank"))
    proof = Proof.of(low * top, lower, kind, A * np.sqrt(top), made, agreed)
    message = f"{agreed} of {made} starts ended here; at most {proof.relative_gap:.1%} above the smallest possible"
    return Solved(X, proof, Status("local", message), 0, None), V


def _directed(W: Matrix, rng: np.random.Generator) -> Matrix:
    """Rows without a direction, as leading eigenvectors of an identity have them, get one: no step would."""
    none = np.linalg.norm(W, axis=1) < 1e-8
    return np.where(none[:, None], rng.standard_normal(W.shape), W) if none.any() else W


def rank_bound(A: Matrix, V: Matrix) -> float:
    """No correlation matrix of rank k has a smaller squared distance: the dual at the multipliers of V.

    For any y, |X - A|^2 >= |A|^2 + 2 sum y - sum of squares of the k largest positive eigenvalues of A + Diag(y), for
    X of rank k with unit diagonal. At an optimum V, (V V^T - A) V = Diag(y) V.

    Examples
    --------
    >>> A = np.array([[1.0, -0.5], [-0.5, 1.0]])
    >>> V = np.array([[1.0], [-1.0]])
    >>> rank_bound(A, V), np.sum((V @ V.T - A) ** 2)
    (np.float64(0.5), np.float64(0.5))
    """
    y = np.sum(((V @ V.T - A) @ V) * V, axis=1)
    w = np.linalg.eigvalsh(A + np.diag(y))[-V.shape[1] :]
    bound: float = np.sum(A * A) + 2 * np.sum(y) - np.sum(np.square(np.maximum(w, 0.0)))
    return max(bound, np.float64(0.0))
