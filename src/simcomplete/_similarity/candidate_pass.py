"""The first pass over complete candidates: blocks of H = [P^ B], its Gram matrix, and which pairs of B have evidence.

Non-negative data have one strong common direction, whose eigenvalue is thousands of times the others; products would
drown them in its rounding. So H is reflected first (a Householder reflection, H' = H - 2 (H u) u^T) such that the
common direction, estimated from a sample, is the first coordinate: what is large then sits in one column.
"""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import blas_on_one_thread
from simcomplete._rows.xp import (
    Array,
    count_true,
    device,
    empty,
    is_numpy,
    like,
    namespace,
    symmetric_product,
    to_numpy,
)
from simcomplete._similarity.exact import extended, unit_rows_of_measure
from simcomplete._similarity.measure import Measure, to_unit_interval
from simcomplete._similarity.products import (
    PlainSides,
    PreparedRows,
    cross,
    divide_and_reflect,
    product_into,
    subtract_outer,
)

STRIP_BYTES = 2**21  # of rows of H that NumPy multiplies at a time
SAMPLE = 1024  # rows for the common direction, from eight places
STEPS = 10  # of the power method on them: this direction need not be exact


class Piece(NamedTuple):
    """Rows of H, the first `width` columns P^ and the others B; where B has evidence; which candidates are zero.

    Evidence is counted only the first time a block is read, where B is kept.
    """

    H: Array
    supported: Array | None
    zero: NDArray[np.int64]


class KeptSimilarities:
    """Similarities with queries and lengths of the first `rows` candidates, as far as they were put here.

    Several threads may do so, each with rows of its own.

    Parameters
    ----------
    rows : int
        Up to which row.

    Examples
    --------
    >>> kept = KeptSimilarities(4)
    >>> kept.put(0, np.array([[0.5], [1.0]]), np.array([[2.0], [3.0]]))
    >>> kept.get(1, 1)
    (array([[1.]]), array([[3.]]))
    >>> kept.get(1, 2) is None
    True
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._known: NDArray[np.bool_] = np.zeros(rows, dtype=bool)
        self._held: tuple[Array, Array] | None = None
        self._lock = threading.Lock()

    @classmethod
    def within(cls, size: int, n: int, n_queries: int) -> KeptSimilarities:
        """Room for the similarities of as many of `n` rows with `n_queries` as take `size` bytes."""
        return cls(min(n, size // (8 * (n_queries + 1))))

    def put(self, start: int, B: Array, lengths: Array) -> None:
        """Keep similarities and lengths of the rows from `start` on, if all of them are among the first."""
        stop = start + int(B.shape[0])
        if stop > self.rows:
            return
        with self._lock:
            if self._held is None:
                self._held = empty(B, (self.rows, int(B.shape[1]))), empty(B, (self.rows, 1))
        self._held[0][start:stop, :], self._held[1][start:stop, :] = B, lengths
        self._known[start:stop] = True

    def get(self, start: int, n: int) -> tuple[Array, Array] | None:
        """Similarities and lengths of `n` rows from `start` on, or None if not all are here."""
        stop = start + n
        if self._held is None or stop > self.rows or not self._known[start:stop].all():
            return None
        return self._held[0][start:stop, :], self._held[1][start:stop, :]


@dataclass(frozen=True)
class Reader:
    """Turns rows of candidates into rows of H, in float64; small enough to be sent to where the rows are.

    Attributes
    ----------
    queries : PreparedRows
        Values and mask of the queries, float64.
    measure : Measure
        How rows are compared.
    kept : KeptSimilarities, optional
        Where there is room for it, B and the lengths of rows are kept: the passes after the first one then need no
        products for them.
    """

    queries: PreparedRows
    measure: Measure
    kept: KeptSimilarities | None = field(default=None, repr=False, compare=False)

    def __getstate__(self) -> dict[str, Any]:
        """What is sent elsewhere with it: not what was kept of rows that were read here."""
        return {**self.__dict__, "kept": None}

    @property
    def n_queries(self) -> int:
        """How many queries."""
        return int(self.queries.Z.shape[0])

    @cached_property
    def _sides(self) -> PlainSides | None:
        """What the plain cosine multiplies with; None for other measures."""
        return PlainSides.of(self.queries, self.measure.min_overlap) if self.measure.is_plain_cosine else None

    def __call__(
        self, X: Array, start: int | None = None, *, keep: bool = False, reflector: Array | None = None
    ) -> Piece:
        """Read a block of rows; `start` is the position of the first, where it is one of a pass over all.

        The first pass says `keep`: it counts evidence, and what it keeps is there for the others.
        With a `reflector`, rows of H' instead of H.
        """
        known = None if keep else self._known(X, start)  # the first pass counts, also when it is made once more
        return self._read(X, known, start if keep else None, reflector)

    def times(self, X: Array, start: int | None, reflector: Array, lift: Array) -> Array:
        """H' @ lift for a block of rows, of which only as many rows of H' are made at a time as the cache holds.

        H times the reflected lift would be the same without rounding. But the lift of a small eigenvalue has large
        numbers, whose products with the common direction of H would have to cancel.
        """
        known, made = self._known(X, start), empty(lift, (int(X.shape[0]), int(lift.shape[1])))
        for rows in strips(X, int(lift.shape[0])):
            kept = None if known is None else (known[0][rows, :], known[1][rows, :])
            product_into(made[rows, :], self._read(X[rows, :], kept, None, reflector).H, lift)
        return made

    def _read(self, X: Array, known: tuple[Array, Array] | None, keep_at: int | None, reflector: Array | None) -> Piece:
        """Rows of H or H', from what was kept of them if anything was; `keep_at` says where to keep it."""
        piece = self._plain(X, known, keep_at, reflector)
        if piece is not None:
            return piece
        measure = self.measure
        unit = unit_rows_of_measure(X, measure)
        B, supported = cross(PreparedRows(unit, None), self.queries, measure)
        B = to_unit_interval(B) if measure.positive else B
        xp = namespace(X)
        zero = np.flatnonzero(to_numpy(~xp.any(unit != 0, axis=1)))
        H = xp.concat([extended(unit, measure), B], axis=1)
        if reflector is not None:
            subtract_outer(H, 2 * (H @ reflector), reflector)  # H is ours: reflected in its place
        return Piece(H, supported, zero)

    def _plain(
        self, X: Array, known: tuple[Array, Array] | None, keep_at: int | None, reflector: Array | None
    ) -> Piece | None:
        """The same with few arrays of the size of the block; None for other measures, or if squares leave the range."""
        sides, n, d = self._sides, int(X.shape[0]), int(X.shape[1])
        if sides is None:
            return None
        H: Array = empty(sides.values, (n, d + self.n_queries))
        if known is not None:
            H[:, d:] = known[0]
            divide_and_reflect(H, X, known[1], reflector)
            return Piece(H, None, np.zeros(0, np.int64))
        supported = sides.nothing(n)
        for rows in strips(X, int(H.shape[1])):
            part, values = H[rows, :], X[rows, :]
            found = sides.cosines(values, part[:, :d], part[:, d:])
            if found is None:
                return None
            supported[rows, :] = found.something & sides.fit
            if self.kept is not None and keep_at is not None:
                self.kept.put(keep_at + rows.start, part[:, d:], found.own)
            divide_and_reflect(part, values, found.own, reflector)
        return Piece(H, supported, np.zeros(0, np.int64))

    def _known(self, X: Array, start: int | None) -> tuple[Array, Array] | None:
        """What was kept of these rows: B, and their lengths."""
        return None if self.kept is None or start is None else self.kept.get(start, int(X.shape[0]))


def strips(X: Array, width: int) -> list[slice]:
    """Rows to work on at a time, so that NumPy finds them in the cache, step after step."""
    n = int(X.shape[0])
    each = max(1, STRIP_BYTES // (8 * width)) if is_numpy(X) else n
    return [slice(start, min(start + each, n)) for start in range(0, n, each)]


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
        H, supported, zero = self.reader(X, start, keep=True, reflector=self.reflector)
        assert supported is not None  # the first pass is the one that counts
        empty = tuple(int(k) + start for k in zero)
        without = int(np.prod(supported.shape)) - count_true(supported)
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
