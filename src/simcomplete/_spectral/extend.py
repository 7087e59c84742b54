"""Out of sample: rows of the factor for new samples, without solving again.

At an optimum the factor is V = U sqrt(s) Q^T, U the kept eigenvectors of S0, w their eigenvalues, s = shrink(w) and
Q any rotation, so for a fitted row i

    V^T S0 e_i = Q diag(w sqrt(s)) U^T e_i,    hence    V^T e_i = K V^T S0 e_i    with K = Q diag(1/w) Q^T.

A new row has its similarities s0 with the fitted rows in place of S0 e_i: v = K V^T s0. A fitted row gets its own row
of V back. For SMCNN, w = s + weight/2 and this is the ridge solution (V^T V + weight/2 I)^-1 V^T s0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._result.completion import Completion
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.progress import track
from simcomplete._rows.xp import Array, like, namespace, to_numpy, zeros
from simcomplete._similarity.measure import Measure, to_unit_interval
from simcomplete._similarity.products import cross, prepare
from simcomplete._spectral.penalties import (
    NoPenalty,
    Nuclear,
    NuclearMinusFrobenius,
    Penalty,
    SquaredFrobenius,
    Vector,
)

# The penalty that a completion was made with, by method and from its parameters: the methods rows can be added to.
PENALTIES: Mapping[str, Callable[[dict[str, Any]], Penalty]] = {
    "smcnn": lambda params: Nuclear(),
    "smcnmf": lambda params: NuclearMinusFrobenius(),
    "smc_nr": lambda params: NoPenalty(),
    "smc_f": lambda params: SquaredFrobenius(0.5 if params["variant"] == "paper" else 1.0),
}

TEMPORARIES = 8  # arrays of the size of one block of similarities that its products take


@dataclass(frozen=True)
class Extension:
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
    >>> from simcomplete._spectral.solvers.exact import solve
    >>> from simcomplete._spectral.penalties import Nuclear
    >>> from simcomplete._spectral.objective import Problem
    >>> X = np.array([[3.0, 4.0, 1.0], [2.0, np.nan, 1.0], [np.nan, 1.0, 5.0]])
    >>> V, _ = solve(Problem(DenseSimilarity(overlap_similarity(X)), Nuclear(), weight=0.1, rank=2))
    >>> new = Extension(X, Measure(), V, inverse(V, Nuclear(), 0.1)).transform(X)
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
        for new, fitted, S in self.blocks(X, progress):
            V[new, :] += S @ self.factor[fitted, :]
        return V @ self.inverse

    def overlap(self, X: Array, progress: bool | None = None) -> Array:
        """Similarities over common features of new samples with all fitted rows, not completed."""
        S0 = zeros(self.factor, (int(X.shape[0]), int(self.rows.shape[0])))
        for new, fitted, S in self.blocks(X, progress):
            S0[new, fitted] = S
        return S0

    def blocks(self, X: Array, progress: bool | None = None) -> Iterator[tuple[slice, slice, Array]]:
        """Similarities of new samples with fitted rows, in float64, a block at a time."""
        xp = namespace(self.rows)
        (m, d), n = X.shape, int(self.rows.shape[0])
        for new in track(row_blocks(m, d * 8 * TEMPORARIES), "new rows", progress):
            a = prepare(xp.astype(X[new, :], xp.float64), self.measure)
            for fitted in row_blocks(n, ((new.stop - new.start) + d) * 8 * TEMPORARIES):
                b = prepare(xp.astype(self.rows[fitted, :], xp.float64), self.measure)
                S, _ = cross(a, b, self.measure)
                yield new, fitted, to_unit_interval(S) if self.measure.positive else S


def extension(done: Completion, rows: Array, measure: Measure) -> Extension:
    """What adds rows to a completion of `rows`, all of them candidate and query at once."""
    xp = namespace(done.factor)
    V = xp.astype(done.factor, xp.float64, copy=False)
    penalty = PENALTIES[done.method](done.params)
    return Extension(rows, measure, V, inverse(V, penalty, done.params["penalty"]))


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
