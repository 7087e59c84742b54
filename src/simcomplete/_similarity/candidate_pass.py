"""The first pass over complete candidates: blocks of H = [P^ B], its Gram matrix, and which pairs of B have evidence.

Non-negative data have one strong common direction, whose eigenvalue is thousands of times the others; products would
drown them in its rounding. So H is reflected first (a Householder reflection, H' = H - 2 (H u) u^T) such that the
common direction, estimated from a sample, is the first coordinate: what is large then sits in one column.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import blas_on_one_thread
from simcomplete._rows.xp import (
    Array,
    copied,
    count_true,
    device,
    empty,
    is_numpy,
    like,
    namespace,
    ordinary,
    subtract_outer,
    symmetric_product,
    to_numpy,
)
from simcomplete._similarity.exact import extended, unit_rows_of_measure
from simcomplete._similarity.measure import Measure, to_unit_interval
from simcomplete._similarity.products import NO_PART, PreparedRows, cross

STRIP_BYTES = 2**21  # of rows of H that NumPy works on at a time: step after step finds them in the cache
SAMPLE = 1024  # rows for the common direction, from eight places
STEPS = 10  # of the power method on them: near enough is enough


class Piece(NamedTuple):
    """Rows of H, the first `width` columns P^ and the others B; where B has evidence; which candidates are zero.

    Evidence is counted only the first time a block is read, where B is kept.
    """

    H: Array
    supported: Array | None
    zero: NDArray[np.int64]


@dataclass(frozen=True)
class Reader:
    """Turns rows of candidates into rows of H, in float64; small enough to be sent to where the rows are.

    Attributes
    ----------
    queries : PreparedRows
        Values and mask of the queries, float64.
    measure : Measure
        How rows are compared.
    kept : dict, optional
        Where there is room for it, B and the lengths of rows are kept by the position of the first: the passes after
        the first one then need no products for them.
    """

    queries: PreparedRows
    measure: Measure
    kept: dict[int, tuple[Array, Array]] | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent elsewhere with it: not what was kept of rows that were read here."""
        return {**self.__dict__, "kept": None}

    @property
    def n_queries(self) -> int:
        """How many queries."""
        return int(self.queries.Z.shape[0])

    @cached_property
    def _sides(self) -> tuple[Array, Array, Array]:
        """What the plain cosine multiplies with: masks and a column of ones, unit values, and who has evidence."""
        Z, M = self.queries
        assert M is not None  # queries are prepared with their mask
        xp = namespace(Z)
        norm = xp.sqrt(xp.sum(Z * Z, axis=1))
        count = xp.sum(M, axis=1)
        fit = (norm > 0) & (count >= self.measure.min_overlap)
        unit = xp.where(fit, 1 / xp.where(norm > 0, norm, xp.ones_like(norm)), xp.zeros_like(norm))
        return xp.concat([M, xp.ones_like(M[:1, :])], axis=0).T, (Z * unit[:, None]).T, fit

    def __call__(self, X: Array, start: int | None = None, *, keep: bool = False) -> Piece:
        """Read a block of rows; `start` is the position of the first, where it is one of a pass over all.

        The first pass says `keep`: others may cut their blocks elsewhere, and would keep the same rows once more.
        """
        measure = self.measure
        if measure.metric == "cosine" and measure.epsilon == 0 and not measure.positive:
            piece = self._plain(X, start, keep)
            if piece is not None:
                return piece
        unit = unit_rows_of_measure(X, measure)
        B, supported = cross(PreparedRows(unit, None), self.queries, measure)
        B = to_unit_interval(B) if measure.positive else B
        xp = namespace(X)
        zero = np.flatnonzero(to_numpy(~xp.any(unit != 0, axis=1)))
        return Piece(xp.concat([extended(unit, measure), B], axis=1), supported, zero)

    def _plain(self, X: Array, start: int | None, keep: bool) -> Piece | None:
        """The same with as few arrays of the size of the block as can be, or None where squares leave the range."""
        n, d = (int(size) for size in X.shape)
        H: Array = empty(self._sides[0], (n, d + self.n_queries))
        known = None if self.kept is None or start is None else self.kept.get(start)
        if known is not None and int(known[0].shape[0]) == n:
            H[:, :d], H[:, d:] = X, known[0]  # cast on the way
            H[:, :d] /= known[1]
            return Piece(H, None, np.zeros(0, np.int64))
        xp = namespace(H)
        each = max(1, STRIP_BYTES // (8 * int(H.shape[1]))) if is_numpy(H) else n
        parts = [self._strip(X[k : k + each, :], H[k : k + each, :]) for k in range(0, n, each)]
        if any(part is None for part in parts):
            return None
        supported, own = (xp.concat(side, axis=0) for side in zip(*(part for part in parts if part), strict=True))
        if self.kept is not None and start is not None and keep:
            self.kept[start] = (copied(H[:, d:]), own)
        return Piece(H, supported, np.zeros(0, np.int64))

    def _strip(self, X: Array, H: Array) -> tuple[Array, Array] | None:
        """Write rows of H; return which pairs have evidence, and the lengths of rows.

        The column of ones gives the whole length of a row along with its lengths on the queries' features.
        """
        xp, d = namespace(X), int(X.shape[1])
        masks, values, fit = self._sides
        H[:, :d] = X  # cast on the way
        Z = H[:, :d]
        with np.errstate(over="ignore", invalid="ignore"):  # such rows are read again, scaled
            energy = (Z * Z) @ masks
        own = energy[:, -1:]
        if not ordinary(own):
            return None
        energy = energy[:, :-1]
        something = energy > NO_PART * own
        B = Z @ values
        if count_true(something) < int(np.prod(something.shape)):
            energy = xp.where(something, energy, xp.full_like(energy, np.inf))  # no evidence: 0
        B /= xp.sqrt(energy)
        H[:, d:] = xp.clip(B, -1.0, 1.0)
        own = xp.sqrt(own)
        Z /= own  # a view: through H it would be copied onto itself
        return something & fit, own


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
        H, supported, zero = self.reader(X, start, keep=True)
        assert supported is not None  # the first pass is the one that counts
        empty = tuple(int(k) + start for k in zero)
        without = int(np.prod(supported.shape)) - count_true(supported)
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


@blas_on_one_thread()  # products so short that threads would mostly wait
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
