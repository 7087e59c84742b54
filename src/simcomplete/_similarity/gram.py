"""The first pass over candidates: the Gram matrix of H = [P^ B], in coordinates where it keeps its small digits.

Non-negative data have one strong common direction, whose eigenvalue is thousands of times the others; products would
drown them in its rounding. So H is reflected first (a Householder reflection, H' = H - 2 (H u) u^T) such that the
common direction, estimated from a sample, is the first coordinate: what is large then sits in one column.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from simcomplete._rows.xp import Array, device, is_numpy, like, namespace, subtract_outer
from simcomplete._similarity.candidate_pass import Reader

SAMPLE = 1024  # rows for the common direction, from eight places
STEPS = 10  # of the power method on them: near enough is enough
SPLIT = 256  # columns in a strip of the product, where the library does not know that it is symmetric


class FirstPass(NamedTuple):
    """Sums over all candidates.

    Attributes
    ----------
    G : array of shape (m, m)
        Gram matrix of H'.
    marks : array of shape (m,)
        ``c^T H'`` with fixed weights c: decides the signs of eigenvectors, the same by every route.
    reflector : array of shape (m,)
        The unit vector u of the reflection.
    without : int
        Pairs of B without evidence.
    empty : tuple of int
        Candidates that are zero.
    """

    G: Array
    marks: Array
    reflector: Array
    without: int
    empty: tuple[int, ...]

    def reflected_back(self) -> Array:
        """Return the Gram matrix of H itself."""
        return reflect(reflect(self.G, self.reflector).T, self.reflector)


@dataclass(frozen=True)
class GramOf:
    """What the first pass does with a block of candidates."""

    reader: Reader
    reflector: Array

    def __call__(self, X: Array, start: int) -> FirstPass:
        """Return the sums over one block."""
        H, supported, zero = self.reader(X, start)
        assert supported is not None  # the first pass is the one that is told
        xp = namespace(H)
        empty = tuple(int(k) + start for k in zero)
        without = int(xp.sum(xp.astype(~supported, xp.int64)))
        H = subtract_outer(H, 2 * (H @ self.reflector), self.reflector)  # H is ours: reflected in its place
        return FirstPass(symmetric_product(H), weights(start, H) @ H, self.reflector, without, empty)


def merge(a: FirstPass, b: FirstPass) -> FirstPass:
    """Add two sums."""
    return FirstPass(a.G + b.G, a.marks + b.marks, a.reflector, a.without + b.without, a.empty + b.empty)


def reflect(H: Array, u: Array) -> Array:
    """H (I - 2 u u^T)."""
    return H - (2 * (H @ u))[:, None] * u[None, :]


def weights(start: int, H: Array) -> Array:
    """Fixed weights of rows that no eigenvector is orthogonal to but by accident."""
    xp = namespace(H)
    stop = start + 1 + int(H.shape[0])
    return xp.cos(xp.arange(start + 1, stop, dtype=H.dtype, device=device(H)))


def symmetric_product(H: Array) -> Array:
    """H^T H. NumPy knows that it is symmetric and does half of the work; others are given half."""
    m = int(H.shape[1])
    if is_numpy(H) or m <= 2 * SPLIT:
        return H.T @ H
    xp = namespace(H)
    strips = [slice(k, min(k + SPLIT, m)) for k in range(0, m, SPLIT)]
    G = xp.zeros_like(H[:1, :]) + xp.zeros_like(H[:1, :]).T
    for part in strips:
        G[part, part.start :] = H[:, part].T @ H[:, part.start :]
        G[part.start :, part] = G[part, part.start :].T
    return G


def common_direction(source: Array, reader: Reader) -> Array:
    """The unit vector u of the reflection that turns the strongest direction of a sample of H into the first."""
    n = int(source.shape[0])
    xp = namespace(reader.queries.Z)
    each = max(1, SAMPLE // 8)
    starts = range(0, n, each) if n <= SAMPLE else [k * (n - each) // 7 for k in range(8)]
    H = xp.concat([reader(source[k : min(k + each, n), :]).H for k in starts], axis=0)
    c = like(np.ones(int(H.shape[1])), H, dtype=H.dtype)
    for _ in range(STEPS):
        c = H.T @ (H @ c)
        length = float(xp.linalg.vector_norm(c))
        if length == 0:  # all rows are zero: any direction will do
            c = like(np.eye(1, int(H.shape[1]))[0], H, dtype=H.dtype)
            break
        c = c / length
    first = like(np.eye(1, int(H.shape[1]))[0], H, dtype=H.dtype)
    u = c + first if float(c[0]) >= 0 else c - first
    return u / xp.linalg.vector_norm(u)
