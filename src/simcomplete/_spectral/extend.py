"""Out of sample: rows of the factor for new samples, without solving again.

At an optimum the factor is V = U sqrt(s) Q^T, U the kept eigenvectors of S0, w their eigenvalues, s = shrink(w) and
Q any rotation, so for a fitted row i

    V^T S0 e_i = Q diag(w sqrt(s)) U^T e_i,    hence    V^T e_i = K V^T S0 e_i    with K = Q diag(1/w) Q^T.

A new row has its similarities s0 with the fitted rows in place of S0 e_i: v = K V^T s0. A fitted row gets its own row
of V back. For SMCNN, w = s + weight/2 and this is the ridge solution (V^T V + weight/2 I)^-1 V^T s0.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._result.completion import Completion
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, like, namespace, to_numpy, zeros
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.operator import OverlapSimilarity
from simcomplete._similarity.overlap import overlap_blocks, overlap_with
from simcomplete._spectral.penalties import Penalty
from simcomplete._types import Vector


@dataclass(frozen=True)
class SpectralExtension:
    """Fitted rows and what turns similarities with them into rows of their factor.

    Attributes
    ----------
    rows : array of shape (n, d)
        The fitted rows, NaN where missing.
    measure : Measure
        How rows are compared; the same as when fitting.
    factor : array of shape (n, r), float64
        V.
    inverse : array of shape (r, r), float64
        K of the module's text.

    Examples
    --------
    >>> import numpy as np
    >>> from simcomplete._similarity.operator import DenseSimilarity
    >>> from simcomplete._similarity.overlap import overlap_similarity
    >>> from simcomplete._spectral.solvers.exact import solve_exactly
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> from simcomplete._spectral.penalties import SpectralProblem
    >>> X = np.array([[3.0, 4.0, 1.0], [2.0, np.nan, 1.0], [np.nan, 1.0, 5.0]])
    >>> V, _ = solve_exactly(SpectralProblem(DenseSimilarity(overlap_similarity(X)), Nuclear(), weight=0.1, rank=2))
    >>> new = SpectralExtension(X, Measure(), V, inverse(V, Nuclear(), 0.1)).transform(X)
    >>> bool(np.allclose(new, V, atol=1e-12))
    True
    """

    rows: Array
    measure: Measure
    factor: Array
    inverse: Array

    def transform(self, X: Array, progress: bool | None = None) -> Array:
        """Rows of the factor for new samples, each from its own similarities alone."""
        V = zeros(self.factor, (int(X.shape[0]), int(self.factor.shape[1])))
        for new, fitted, S in overlap_blocks(X, self.rows, self.measure, progress):
            V[new, :] += S @ self.factor[fitted, :]
        return V @ self.inverse

    def overlap(self, X: Array, progress: bool | None = None) -> Array:
        """Similarities over common features of new samples with all fitted rows, not completed."""
        return overlap_with(X, self.rows, self.measure, progress)

    def among(self, X: Array) -> Array:
        """Completed similarities of new samples among each other; a row without evidence has 1 with itself."""
        V = self.transform(X, False)
        deficit = OverlapSimilarity(HeldRows(X), self.measure, False).diagonal_deficit()
        S = V @ V.T
        if deficit is not None:
            S[np.diag_indices(len(deficit))] += 1.0 * (deficit > 0)
        return S


def spectral_extension(done: Completion, rows: RowTable, measure: Measure, penalty: Penalty) -> SpectralExtension:
    """What adds rows to a completion of `rows`, all of them candidate and query at once."""
    xp = namespace(done.factor)
    V = xp.astype(done.factor, xp.float64, copy=False)
    return SpectralExtension(rows.whole(), measure, V, inverse(V, penalty, done.params["penalty"]))


def inverse(V: Array, penalty: Penalty, weight: float) -> Array:
    """K = Q diag(1/w) Q^T, with V^T V = Q diag(s) Q^T and w the eigenvalues of S0 that were shrunk to s.

    Examples
    --------
    S0 = I has the eigenvalue w = 1; SMCNN of weight 1 shrinks it to s = 1/2.

    >>> import numpy as np
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> inverse(np.sqrt([[0.5], [0.0]]), Nuclear(), weight=1.0).round(12)
    array([[1.]])
    """
    s, Q = directions(to_numpy(V.T @ V))
    kept = s > V.shape[0] * np.finfo(np.float64).eps * np.max(s)  # by the rule of the numerical rank
    w = penalty.expand(np.where(kept, s, 0.0), weight)
    over = np.where(kept, 1 / np.where(kept, w, 1.0), 0.0)
    return like((Q * over) @ Q.T, V, dtype=V.dtype)


def directions(gram: Any) -> tuple[Vector, Vector]:
    """Eigenvalues and vectors of V^T V.

    The columns of an exact factor are orthogonal up to rounding and are taken as they are: decomposing their Gram
    matrix would mix large columns into small ones by that rounding, which 1/w then magnifies.
    """
    length = np.sqrt(np.maximum(np.diag(gram), 0.0))
    safe = np.where(length > 0, length, 1.0)
    correlation = gram / safe[:, None] / safe[None, :]
    if np.max(np.abs(correlation - np.diag(np.diag(correlation)))) < 1e-10:
        return length**2, np.eye(len(length))
    s, Q = np.linalg.eigh((gram + gram.T) / 2)
    return np.maximum(s, 0.0), Q
