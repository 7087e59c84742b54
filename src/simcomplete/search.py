"""The k most similar, best first, ties by lower position."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete.arrays import Array, is_numpy, like, namespace, to_numpy
from simcomplete.blocks import row_blocks
from simcomplete.matrix import Selection, SymmetricMatrix
from simcomplete.progress import track


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
    progress: bool | None = None,
) -> Neighbours:
    """Find the `k` candidates most similar to each row, block by block, never all scores at once.

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
    progress : bool, optional
        None shows progress on a terminal, False never.
    """
    n = candidates.stop - candidates.start
    ids = np.empty((len(rows), k), dtype=np.int64)
    scores = np.empty((len(rows), k), dtype=to_numpy(S.array[:1, :1]).dtype)
    for part in track(row_blocks(len(rows), n * 8 * 3), "search", progress):
        block = S.block(rows[part], candidates)
        if exclude_self:
            block = without_self(block, rows[part] - candidates.start)
        ids[part], scores[part] = top_k(block, k)
    return Neighbours(ids, scores)


def top_k(scores: Array, k: int) -> Neighbours:
    """Return the `k` largest of every row, best first, ties by lower position.

    Examples
    --------
    >>> import numpy as np
    >>> top_k(np.array([[0.5, 0.9, 0.5, 0.1]]), 2).ids
    array([[1, 0]])
    """
    if not is_numpy(scores):
        xp = namespace(scores)
        order = xp.argsort(scores, axis=1, descending=True, stable=True)[:, :k]
        best = xp.take_along_axis(scores, order, axis=1)
        return Neighbours(to_numpy(order).astype(np.int64), to_numpy(best))
    n = scores.shape[1]
    ids = np.empty((len(scores), k), dtype=np.int64)
    # The k-th largest value of each row; all larger ones are in, and equal ones by position.
    limit = np.partition(scores, n - k, axis=1)[:, n - k] if k < n else scores.min(axis=1)
    for i, row in enumerate(scores):
        good = np.flatnonzero(row >= limit[i])
        ids[i] = good[np.argsort(-row[good], kind="stable")][:k]
    return Neighbours(ids, np.take_along_axis(scores, ids, axis=1))


def without_self(block: Array, own: NDArray[np.int64]) -> Array:
    """Put each row's own column last."""
    if is_numpy(block):
        block[np.arange(len(own)), own] = -np.inf
        return block
    xp = namespace(block)
    hit = like(np.arange(block.shape[1])[None, :] == own[:, None], block)
    return xp.where(hit, xp.full_like(block, -np.inf), block)


__all__ = ["Neighbours", "Selection", "nearest", "top_k"]
