"""Measures of a completed similarity matrix: error, ranking, rank.

Every function takes arrays, frames or nested lists and answers with plain numbers or a NumPy array.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from simcomplete._rows.square import as_similarity
from simcomplete._rows.validate import as_array
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError

__all__ = ["ndcg_at", "rank", "recall_at", "relative_squared_error"]

# Entries subtracted at once (8 MiB of float64): three matrices on disk can be compared without loading one.
_BLOCK_ENTRIES = 2**20
_BLOCKS = ("all", "off_candidates", "queries_candidates", "queries")
_RELEVANCE = ("binary", "graded")


def relative_squared_error(
    S_hat: ArrayLike, S0: ArrayLike, S_true: ArrayLike, *, n_candidates: int | None = None, block: str = "all"
) -> float:
    r"""Squared error of a completion divided by the squared error before completion.

    :math:`\|\hat S - S^*\|_F^2 / \|S^0 - S^*\|_F^2` over one block. The paper calls it "RMSE"; it is a ratio
    of **squared** norms and no root is taken. 0 is perfect, 1 is as far off as S0, above 1 is worse than S0.

    Parameters
    ----------
    S_hat, S0, S_true : array-like, shape (n, n)
        Completed, initial and true similarities, candidates first. With ``block="all"`` any common 2-D shape
        will do, for example only the (n_q, n_p) rows of the queries.
    n_candidates : int, optional
        How many leading rows are candidates; needed by every block except "all", which ignores it.
    block : {"all", "off_candidates", "queries_candidates", "queries"}
        Which entries count: all; all but candidates x candidates; queries x candidates; queries x queries.

    Returns
    -------
    float
        When S0 has no error on the block: 0.0 if S_hat has none either, else infinity. Sums are in float64.

    Examples
    --------
    S_hat is wrong by 0.1 in two entries, S0 by 0.2 in the same two: 2 * 0.01 / (2 * 0.04) = 0.25.

    >>> from simcomplete import metrics
    >>> truth, before, after = [[1, 0.5], [0.5, 1]], [[1, 0.7], [0.7, 1]], [[1, 0.6], [0.6, 1]]
    >>> round(metrics.relative_squared_error(after, before, truth), 12)
    0.25
    """
    hat, zero, true = _matrix("S_hat", S_hat), _matrix("S0", S0), _matrix("S_true", S_true)
    _same_shape(S_hat=hat, S0=zero, S_true=true)
    left = before = 0.0
    # A non-finite entry or an overflow shows in the sums: looking there spares a pass over three matrices.
    with np.errstate(over="ignore", invalid="ignore"):
        for rows, cols in _rectangles(hat.shape, n_candidates, block):
            step = max(1, _BLOCK_ENTRIES // (cols.stop - cols.start))
            for start in range(rows.start, rows.stop, step):
                part = slice(start, min(start + step, rows.stop)), cols
                left += _squared_distance(hat[part], true[part])
                before += _squared_distance(zero[part], true[part])
    if not math.isfinite(left + before):
        raise InputError(
            f"the squared differences over block={block!r} are not finite: S_hat, S0 or S_true holds NaN "
            "or values too large to square; give a similarity for every pair of the block, 0 without evidence"
        )
    if before == 0.0:
        return 0.0 if left == 0.0 else math.inf
    return left / before


def recall_at(scores: ArrayLike, truth: ArrayLike, k: float = 0.2, *, average: bool = True) -> Any:
    """Share of each query's true top k that is found among its first k by score.

    Parameters
    ----------
    scores, truth : array-like, shape (n_q, n_p)
        Estimated and true similarities, one row per query. Ties, in both, go to the lower column.
    k : int or float
        A count (more than n_p means n_p), or a fraction of n_p in (0, 1]: rounded down, at least one.
        So ``1`` is one candidate and ``1.0`` is all of them.
    average : bool
        True: the mean over the queries. False: one number per query.

    Returns
    -------
    float or ndarray, shape (n_q,)
        Between 0 and 1.

    Examples
    --------
    The true top 2 are columns 0 and 1, the top 2 by score are 0 and 2: one of two is found.

    >>> from simcomplete import metrics
    >>> metrics.recall_at([[0.9, 0.1, 0.8, 0.0]], [[0.9, 0.8, 0.3, 0.1]], k=2)
    0.5
    """
    tops = _tops(scores, truth, k)
    result = np.array([np.isin(by_score, by_truth).mean() for by_score, by_truth in tops])
    return float(result.mean()) if average else result


def ndcg_at(
    scores: ArrayLike, truth: ArrayLike, k: float = 0.2, relevance: str = "binary", *, average: bool = True
) -> Any:
    r"""Normalised discounted cumulative gain of the first k candidates by score.

    :math:`DCG_k = \sum_{i=1}^k (2^{rel_i} - 1) / \log_2(i + 1)` over the first k by score, divided by the
    same sum over the true top k in their true order, which is the largest possible.

    Parameters
    ----------
    scores, truth, k, average
        As in `recall_at`, ties included.
    relevance : {"binary", "graded"}
        The paper takes a candidate's relevance from its position in the truth and does not say how.
        "binary": 1 in the true top k, else 0. "graded": (k - p) / k at position p = 0, 1, ..., k - 1 of the
        true order, so 1 for the nearest and 1/k for the k-th, and 0 after them.

    Returns
    -------
    float or ndarray, shape (n_q,)
        Between 0 and 1.

    Examples
    --------
    The true top 2 are columns 0 and 1, by score 2 comes first, then 0. Discounts: 1 and 1/log2(3) = 0.6309.
    Binary: (0 + 0.6309) / (1 + 0.6309) = 0.3869. Graded, gains 2^1 - 1 = 1 and 2^0.5 - 1 = 0.4142:
    (0 + 1 * 0.6309) / (1 + 0.4142 * 0.6309) = 0.5002.

    >>> from simcomplete import metrics
    >>> scores, truth = [[0.8, 0.1, 0.9, 0.0]], [[0.9, 0.8, 0.3, 0.1]]
    >>> round(metrics.ndcg_at(scores, truth, k=2), 4)
    0.3869
    >>> round(metrics.ndcg_at(scores, truth, k=2, relevance="graded"), 4)
    0.5002
    """
    if relevance not in _RELEVANCE:
        raise InputError(f"relevance={relevance!r} is not known; use one of {', '.join(_RELEVANCE)}")
    values = []
    for by_score, by_truth in _tops(scores, truth, k):
        count = by_truth.size
        ideal = np.exp2(np.arange(count, 0, -1) / count) - 1 if relevance == "graded" else np.ones(count)
        # A candidate's gain is the one at its place in the true top k, nothing when it is not there.
        _, at_score, at_truth = np.intersect1d(by_score, by_truth, assume_unique=True, return_indices=True)
        gains, discounts = np.zeros(count), 1 / np.log2(np.arange(2, count + 2))
        gains[at_score] = ideal[at_truth]
        values.append(gains @ discounts / (ideal @ discounts))
    return float(np.mean(values)) if average else np.array(values)


def rank(S: ArrayLike | None = None, *, factor: ArrayLike | None = None) -> int:
    r"""Numerical rank: the number of eigenvalues above n * eps * (the largest one), all in absolute value.

    eps is that of the dtype given. The paper counts eigenvalues above an absolute 1e-15 and calls it MATLAB's
    default, which it is not. Rounding alone puts noise of about eps * w_1 on every eigenvalue, so that rule
    counts noise (a rank-100 :math:`VV^\top` of 1200 rows shows 410) and its answer depends on the scale of S;
    the relative rule shows 100 at any scale.

    Parameters
    ----------
    S : array-like, shape (n, n)
        A symmetric matrix.
    factor : array-like, shape (n, r)
        Instead of S, the V of :math:`S = VV^\top`. The eigenvalues of S are the squared singular values of V,
        so S is never built.

    Returns
    -------
    int
        0 for a matrix of zeros.

    Examples
    --------
    [[1, 1], [1, 1]] has the eigenvalues 2 and 0; it is v v^T with v = (1, 1).

    >>> from simcomplete import metrics
    >>> rank = metrics.rank
    >>> rank([[1, 1], [1, 1]]), rank(factor=[[1], [1]]), rank([[1, 0], [0, 1e-9]])
    (1, 1, 2)
    """
    if (S is None) == (factor is None):
        given = "neither S nor factor" if S is None else "both S and factor"
        raise InputError(f"rank was given {given}; give one of them: rank(S) or rank(factor=V)")
    if factor is None:
        matrix = to_numpy(as_similarity(S, "S")[0])
        sizes = np.abs(np.linalg.eigvalsh(matrix.astype(np.float64)))
        tolerance = _tolerance(matrix)
    else:
        matrix = _matrix("factor", factor)
        _refuse_nan("factor", matrix, "leave such rows out")
        sizes = np.linalg.svd(matrix.astype(np.float64), compute_uv=False)
        # s^2 > t * s_1^2 as s > sqrt(t) * s_1, because squares may underflow.
        tolerance = math.sqrt(_tolerance(matrix))
    return int(np.count_nonzero(sizes > tolerance * sizes.max()))


def _matrix(name: str, value: Any) -> NDArray[Any]:
    return as_array(value, name)


def _refuse_nan(name: str, matrix: NDArray[Any], advice: str) -> None:
    bad = np.flatnonzero(np.isnan(matrix).any(axis=1))
    if bad.size:
        raise InputError(
            f"{name} has NaN in {bad.size} of {len(matrix)} rows (the first is row {bad[0]}); numbers are "
            f"needed, so {advice}"
        )


def _tolerance(matrix: NDArray[Any]) -> float:
    return len(matrix) * float(np.finfo(matrix.dtype).eps)


def _same_shape(**named: NDArray[Any]) -> None:
    if len({array.shape for array in named.values()}) > 1:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in named.items())
        raise InputError(f"the shapes differ: {shapes}; give matrices over the same rows and columns")


def _rectangles(shape: tuple[int, ...], n_candidates: Any, block: str) -> list[tuple[slice, slice]]:
    """The (rows, columns) whose union is the block."""
    n, m = shape
    if block == "all":
        return [(slice(0, n), slice(0, m))]
    if block not in _BLOCKS:
        raise InputError(f"block={block!r} is not known; use one of {', '.join(_BLOCKS)}")
    if n != m:
        raise InputError(f"block={block!r} needs square matrices, not {shape}; use block='all' for parts")
    integer = isinstance(n_candidates, int | np.integer) and not isinstance(n_candidates, bool)
    if not integer or not 0 < n_candidates < n:
        raise InputError(
            f"block={block!r} was given n_candidates={n_candidates!r}; it needs the number of leading rows "
            f"that are candidates, an int from 1 to {n - 1}; without candidates or queries use block='all'"
        )
    p, q = slice(0, int(n_candidates)), slice(int(n_candidates), n)
    off = [(p, q), (q, slice(0, n))]
    return {"off_candidates": off, "queries_candidates": [(q, p)], "queries": [(q, q)]}[block]


def _squared_distance(a: NDArray[Any], b: NDArray[Any]) -> float:
    difference = np.subtract(a, b, dtype=np.float64).ravel()
    return float(difference @ difference)


def _tops(scores: Any, truth: Any, k: Any) -> Iterator[tuple[NDArray[np.intp], NDArray[np.intp]]]:
    """Per query, the first k columns by score and by truth, best first."""
    matrices = {"scores": _matrix("scores", scores), "truth": _matrix("truth", truth)}
    _same_shape(**matrices)
    for name, matrix in matrices.items():
        _refuse_nan(name, matrix, "give such candidates a score below all others or leave the query out")
    count = _count(k, matrices["truth"].shape[1])
    for row, true_row in zip(*matrices.values(), strict=True):
        yield _first(row, count), _first(true_row, count)


def _descending(row: NDArray[Any]) -> NDArray[np.intp]:
    # Negated: a stable ascending sort read backwards would give ties to the higher column.
    return np.argsort(-row, kind="stable")


def _first(row: NDArray[Any], count: int) -> NDArray[np.intp]:
    """The first so many of `_descending`, of which only those that can be among them are sorted."""
    if 4 * count > len(row):
        return _descending(row)[:count]
    among = np.flatnonzero(row >= np.partition(row, len(row) - count)[len(row) - count])  # ties included
    return np.asarray(among[_descending(row[among])[:count]])


def _count(k: Any, n: int) -> int:
    """How many of n candidates ``k`` means."""
    if isinstance(k, int | np.integer) and not isinstance(k, bool) and k >= 1:
        return min(int(k), n)
    if isinstance(k, float | np.floating) and 0 < k <= 1:
        # The decimal that was written, not its binary neighbour: 0.29 of 100 is 29, but 0.29 * 100 < 29.
        return max(1, math.floor(Fraction(str(k)) * n))
    raise InputError(f"k={k!r} is out of range; use an int of at least 1, or a fraction as a float in (0, 1]")
