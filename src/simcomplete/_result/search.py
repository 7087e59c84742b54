"""Search for the k most similar rows, best first; ties are ordered by position."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.matrix import SymmetricMatrix, take
from simcomplete._result.unobserved import unanswered
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.progress import expect, one_bar
from simcomplete._rows.table import RowTable, as_row_table
from simcomplete._rows.xp import Array, astype, is_numpy, like, namespace, to_numpy, top_k
from simcomplete.errors import InputError

PART = 4096  # number of rows searched for in one pass over the candidates
FEW = 3  # up to so many rows, products are computed row by row


class Neighbours(NamedTuple):
    """Positions among the candidates and their similarities, best first: both (rows, k)."""

    ids: NDArray[np.int64]
    scores: NDArray[np.floating]


def nearest(
    S: SymmetricMatrix,
    rows: NDArray[np.int64],
    candidates: slice,
    k: int,
    *,
    exclude_self: bool,
    absent: NDArray[np.int64] | None = None,
    progress: bool | None = None,
) -> Neighbours:
    """Find the `k` candidates most similar to each row, block by block: never all scores at once.

    Parameters
    ----------
    S : SymmetricMatrix
        The similarities.
    rows : array of int
        Rows to search for.
    candidates : slice
        Rows to search among; ids count from its start.
    k : int
        How many.
    exclude_self : bool
        Leave each row out of its own answer.
    absent : array of int, optional
        Candidates to leave out of every answer; where fewer than `k` are left, ids are -1 and scores NaN.
    progress : bool, optional
        None shows progress on a terminal, False never.
    """
    if not len(rows):
        return Neighbours(np.zeros((0, k), np.int64), np.zeros((0, k), to_numpy(S.array[:1, :1]).dtype))
    parts = [rows[start : start + PART] for start in range(0, len(rows), PART)]
    own = [part - candidates.start if exclude_self else None for part in parts]
    if S.factor is None:
        found = [_in_dense(S, part, candidates, k, me, absent) for part, me in zip(parts, own, strict=True)]
    else:
        with one_bar(progress), expect(len(parts)):
            found = [
                _in_factor(S, part, candidates, k, me, absent, progress) for part, me in zip(parts, own, strict=True)
            ]
    every = Neighbours(*(np.concatenate(both) for both in zip(*found, strict=True)))
    return every if absent is None else Neighbours(*unanswered(*every))


def _in_dense(
    S: SymmetricMatrix,
    rows: NDArray[np.int64],
    candidates: slice,
    k: int,
    own: NDArray[np.int64] | None,
    absent: NDArray[np.int64] | None,
) -> Neighbours:
    n = candidates.stop - candidates.start
    found = []
    for part in row_blocks(len(rows), n * 8 * 3, like=S.array):
        block = S.block(rows[part], candidates)
        block = block if own is None else without_self(block, own[part])
        found.append(Neighbours(*top_k(block if absent is None else without_columns(block, absent), k)))
    return Neighbours(*(np.concatenate(both) for both in zip(*found, strict=True)))


def among(
    u: Array,
    candidates: Array | RowTable,
    k: int,
    progress: bool | None = None,
    bounds: tuple[float, float] | None = None,
) -> Neighbours:
    """The `k` rows of `candidates` with the largest products with each row of `u`, block by block, clipped to `bounds`.

    Candidates in a store, which searches by itself, have a method `nearest(u, k)`.
    """
    asked = getattr(candidates, "nearest", None)
    if asked is not None:
        return asked(u, k)  # type: ignore[no-any-return]
    found = []
    for start in range(0, len(u), PART):
        left = like(to_numpy(u[start : start + PART]), candidates[:1, :])
        work = BestOf(left, k, bounds, None, None, 0, int(candidates.shape[0]))
        found.append(_best(candidates, work, progress))
    if len(found) == 1:
        return found[0]
    return Neighbours(*(np.concatenate(both) for both in zip(*found, strict=True)))


def _best(candidates: Array | RowTable, work: BestOf, progress: bool | None) -> Neighbours:
    m, d = (int(n) for n in work.left.shape)
    # For an array only scores are copied; sharing blocks between threads takes longer than a few products.
    plain = type(candidates) is np.ndarray and candidates.dtype == work.left.dtype
    width = 8 * 4 * m if plain else 8 * (2 * d + 4 * m)
    return as_row_table(candidates).fold(work, work.merge, bytes_per_row=width, label="search", progress=progress)


def _in_factor(
    S: SymmetricMatrix,
    rows: NDArray[np.int64],
    candidates: slice,
    k: int,
    own: NDArray[np.int64] | None,
    absent: NDArray[np.int64] | None,
    progress: bool | None,
) -> Neighbours:
    left = take(S.factor, rows)
    left = left if S.signs is None else left * S.signs
    bounds = (-1.0, 1.0) if S.unit else None
    bounds = bounds if S.bounds is None else S.bounds
    return _best(S.factor, BestOf(left, k, bounds, own, absent, candidates.start, candidates.stop), progress)


@dataclass(frozen=True)
class BestOf:
    """The work of a pass over a factor: the best rows of a block, for every row searched for."""

    left: Array
    k: int
    bounds: tuple[float, float] | None
    own: NDArray[np.int64] | None
    absent: NDArray[np.int64] | None
    start: int
    stop: int

    def __call__(self, X: Array, start: int) -> Neighbours:
        """Search among a block of rows of the factor; rows that are not candidates are left out."""
        first, last = max(self.start, start), min(self.stop, start + int(X.shape[0]))
        if first >= last:
            shape = (int(self.left.shape[0]), 0)
            return Neighbours(np.zeros(shape, np.int64), np.zeros(shape, to_numpy(self.left[:1, :1]).dtype))
        xp = namespace(X)
        scores = products(self.left, astype(X[first - start : last - start, :], self.left.dtype))
        if self.bounds is not None:
            scores = xp.clip(scores, *self.bounds)
        if self.own is not None:
            scores = without_self(scores, self.own - (first - self.start))
        if self.absent is not None:
            scores = without_columns(scores, self.absent - (first - self.start))
        ids, best = top_k(scores, min(self.k, last - first))
        return Neighbours(ids + (first - self.start), best)

    def merge(self, a: Neighbours, b: Neighbours) -> Neighbours:
        """Merge two results; `a` has the lower positions."""
        return best_of_both(a, b, self.k)


def products(left: Array, X: Array) -> Array:
    """Return products of all rows, (left, X); those of very few rows are computed singly, as BLAS would copy X.

    Examples
    --------
    >>> products(np.array([[1.0, 2.0], [0.0, 1.0]]), np.array([[1.0, 1.0], [3.0, 0.0]]))
    array([[3., 3.],
           [1., 0.]])
    """
    if is_numpy(X) and 1 < len(left) <= FEW:
        return np.stack([X @ row for row in left])
    return left @ X.T


def best_of_both(a: Neighbours, b: Neighbours, k: int) -> Neighbours:
    """Return the `k` best of two results; `a` has the lower positions, so equal scores stay in order."""
    ids, scores = (np.concatenate(both, axis=1) for both in zip(a, b, strict=True))
    order = np.argsort(-scores, axis=1, kind="stable")[:, :k]
    return Neighbours(np.take_along_axis(ids, order, axis=1), np.take_along_axis(scores, order, axis=1))


def rows_or_queries(rows: Any, n_queries: int) -> Any:
    """Return the rows to search for: by default the queries, if there are any, else all."""
    if rows is None and not n_queries:
        raise InputError(
            "every row is a candidate: there are no queries; say which rows to search for: rows='candidates'"
        )
    return "queries" if rows is None else rows


def check_k(k: Any) -> int:
    """Return a whole number of at least 1."""
    if isinstance(k, bool) or not isinstance(k, (int, np.integer)) or k < 1:
        raise InputError(f"k={k!r} must be a whole number of at least 1")
    return int(k)


def scope(k: Any, wanted: NDArray[np.int64], n_candidates: int) -> tuple[int, bool]:
    """Return how many neighbours rows can have, and whether the rows are candidates: no row is its own neighbour."""
    k = check_k(k)
    inside = wanted < n_candidates
    among = bool(inside.any())
    if among and not inside.all():
        raise InputError("rows mixes candidates and queries; search for them in two calls")
    if n_candidates - among < 1:
        raise InputError("there is no other sample to search among; give at least two")
    return min(k, n_candidates - among), among


def without_self(block: Array, own: NDArray[np.int64]) -> Array:
    """Give each row's own column the score -inf, if it is in the block."""
    inside = np.flatnonzero((own >= 0) & (own < block.shape[1]))
    if is_numpy(block):
        block[inside, own[inside]] = -np.inf
        return block
    if not len(inside):
        return block
    xp = namespace(block)
    hit = like(np.arange(block.shape[1])[None, :] == own[:, None], block)
    return xp.where(hit, xp.full_like(block, -np.inf), block)


def without_columns(block: Array, absent: NDArray[np.int64]) -> Array:
    """Give some columns the score -inf, if they are in the block."""
    inside = absent[(absent >= 0) & (absent < block.shape[1])]
    if is_numpy(block):
        block[:, inside] = -np.inf
        return block
    xp = namespace(block)
    hit = like(np.isin(np.arange(block.shape[1]), inside)[None, :], block)
    return xp.where(hit, xp.full_like(block, -np.inf), block)
