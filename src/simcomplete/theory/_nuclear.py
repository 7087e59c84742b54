"""The nuclear norm of V V^T is the squared Frobenius norm of V."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete.theory._inputs import SLACK, factor


@dataclass(frozen=True)
class NuclearNorm:
    """Both sides of the paper's first lemma.

    Attributes
    ----------
    nuclear_norm : float
        |V V^T|_*, the sum of its singular values.
    squared_norm : float
        |V|_F^2.
    """

    nuclear_norm: float
    squared_norm: float

    @property
    def holds(self) -> bool:
        """Equality, up to rounding."""
        return abs(self.nuclear_norm - self.squared_norm) <= SLACK * self.squared_norm

    @property
    def holds_as_printed(self) -> bool:
        """The paper's |V V^T|_* <= |V|_F^2."""
        return self.nuclear_norm <= self.squared_norm * (1 + SLACK)


def nuclear_norm_identity(V: Any) -> NuclearNorm:
    """Compare |V V^T|_* with |V|_F^2: the paper's Lemma 1 bounds one by the other; they are equal.

    V V^T is positive semi-definite, so its singular values are its eigenvalues and sum to trace(V V^T) = |V|_F^2,
    whatever V is. The surrogate penalty of SMCNN is therefore no relaxation: SMC_GD and SMCNN are one problem.

    Parameters
    ----------
    V : array of shape (n, r)
        Any factor.

    Returns
    -------
    NuclearNorm

    Examples
    --------
    V V^T = [[1, 1], [1, 2]] has trace 3, and 1 + 1 + 1 = 3 is the sum of the squares of V.

    >>> import numpy as np
    >>> from simcomplete import theory
    >>> theory.nuclear_norm_identity(np.array([[1.0, 0.0], [1.0, 1.0]])).squared_norm
    3.0
    """
    V = factor(V)
    singular = np.linalg.svd(V @ V.T, compute_uv=False)
    return NuclearNorm(nuclear_norm=float(np.sum(singular)), squared_norm=float(np.sum(V * V)))
