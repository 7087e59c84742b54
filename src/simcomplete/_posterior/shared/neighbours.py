"""Neighbours of incomplete rows, and smoothing weights over them.

The nearest candidates by overlap cosine stand in for a local prior: their weighted mean is where a row like this one
usually lies.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simcomplete._result.search import top_k

MOST = 48  # neighbours kept
BISECTIONS = 12
WIDTHS = (1e-4, 100.0)  # of the kernel, relative to the mean distance

Matrix = NDArray[np.float64]


class Nearest(NamedTuple):
    """The nearest candidates of every row: positions, overlap cosines, and energies on the row's features."""

    ids: NDArray[np.int64]
    cosines: Matrix
    energies: Matrix

    def some(self, rows: slice, most: int | None = None) -> Nearest:
        """Those of some rows, or fewer of each."""
        return Nearest(self.ids[rows, :most], self.cosines[rows, :most], self.energies[rows, :most])


def nearest(
    unit: Matrix, queries: Matrix, observed: NDArray[Any], most: int = MOST, squares: Matrix | None = None
) -> Nearest:
    """Find the candidates with the largest overlap cosine, two matrix products for all rows.

    Parameters
    ----------
    unit : array of shape (n, d)
        Candidates with unit rows.
    queries, observed : array of shape (n_q, d)
        Rows with 0 where missing, and 1 or True where observed.
    most : int
        How many to keep; at most the candidates there are, less one.
    squares : array of shape (n, d), optional
        Squares of `unit`, where they are at hand.
    """
    seen = np.asarray(observed, dtype=bool)
    first, which = distinct(seen)  # candidates have one energy per mask, however many rows share it
    energy = seen[first].astype(np.float64) @ (unit * unit if squares is None else squares).T
    root = np.sqrt(np.where(energy > 0, energy, np.inf))  # no energy: no evidence, cosine 0
    length = np.sqrt(np.sum(queries * queries, axis=1, keepdims=True))
    cosine = (queries / np.where(length > 0, length, 1.0)) @ unit.T
    # Divided, not multiplied by an inverse: with one feature observed all cosines are exactly 1, and ties stay ties.
    cosine /= root[which]
    ids, best = top_k(cosine, max(1, min(most, len(unit) - 1)))
    return Nearest(ids, np.asarray(best), energy[which[:, None], ids])


def distinct(observed: NDArray[np.bool_]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct mask comes first, and which of them every row has.

    Examples
    --------
    >>> distinct(np.array([[True, False], [False, False], [True, False]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    found: dict[bytes, int] = {}
    # By their bytes: sorting whole rows, as np.unique does, costs more than all the rest for a single row.
    packed = np.packbits(observed, axis=1)
    which = np.array([found.setdefault(row.tobytes(), len(found)) for row in packed], dtype=np.int64)
    return np.unique(which, return_index=True)[1], which


def smoothing(cosines: Matrix, k: float) -> Matrix:
    """Weights exp(-(D - min D)/t), D = 2 - 2 cosine, of effective number (sum w)^2 / sum w^2 = k; rows sum to 1.

    Examples
    --------
    >>> w = smoothing(np.array([[0.9, 0.8, 0.5, 0.1, 0.0]]), k=2)
    >>> round(float(1 / np.sum(w**2)), 1), bool(np.all(np.diff(w) < 0))
    (2.0, True)
    """
    D = 2.0 - 2.0 * cosines
    D = D - D.min(axis=1, keepdims=True)
    width = D.mean(axis=1, keepdims=True)
    safe = np.where(width > 0, width, 1.0)
    wanted = min(k, 0.8 * D.shape[1])
    low = np.full_like(width, WIDTHS[0])
    high = np.full_like(width, WIDTHS[1])
    w = np.ones_like(D)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        w = np.exp(-D / (middle * safe))
        few = w.sum(axis=1, keepdims=True) ** 2 / np.sum(w * w, axis=1, keepdims=True) < wanted
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def spread(ids: NDArray[np.int64], weights: Matrix, n: int) -> scipy.sparse.csr_array:
    """Weights as a sparse (rows, n) matrix, to be multiplied with the candidates."""
    rows, most = ids.shape
    starts = np.arange(0, rows * most + 1, most)
    return scipy.sparse.csr_array((weights.ravel(), ids.ravel(), starts), shape=(rows, n))
