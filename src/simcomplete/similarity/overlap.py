"""Step 1: similarities over the features that two samples have in common.

Pairs without evidence (fewer than `min_overlap` common features, or nothing but zeros on them) have similarity
0, never NaN, and are counted in `Evidence`.
"""

from __future__ import annotations

from typing import Any

from simcomplete.arrays import Array, astype, namespace, set_diagonal, zeros
from simcomplete.blocks import triangle_blocks
from simcomplete.inputs import Samples, as_samples
from simcomplete.memory import require
from simcomplete.progress import track
from simcomplete.similarity.measure import Evidence, Measure, Metric, to_unit_interval
from simcomplete.similarity.products import cross, part, prepare


def overlap_similarity(
    X: Any,
    metric: Metric = "cosine",
    min_overlap: int = 1,
    *,
    epsilon: float = 0.0,
    positive: bool = False,
    return_evidence: bool = False,
    progress: bool | None = None,
) -> Any:
    """Similarities over common features, S0 of the paper.

    The diagonal is 1. A pair without evidence is 0: no common feature, fewer than `min_overlap` of them, or a
    row that is zero (for Pearson: constant) on all of them.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Rows are samples, NaN is missing. float32 stays float32, everything else gives float64.
    metric : {"cosine", "pearson"}
        What to compute over the common features.
    min_overlap : int
        Pairs with fewer common features count as no evidence.
    epsilon : float
        Above 0, a row that is zero on the common features counts as a constant row instead (a small value is
        added to it: the paper's epsilon smoothing), so its pairs have evidence. The size does not matter.
    positive : bool
        Map the scores to (0, 1] by (1 + s)/2, to be read as probabilities. No evidence is then 1/2.
    return_evidence : bool
        Also return how many pairs and which rows had no evidence.
    progress : bool, optional
        None shows progress on a terminal, False never.

    Returns
    -------
    S : array of shape (n, n)
        Symmetric, in the library of `X`.
    evidence : Evidence
        Only with `return_evidence`.

    Examples
    --------
    Rows 0 and 1 share the first feature only, where they point the same way; row 2 shares nothing with row 1.

    >>> import numpy as np, simcomplete as sc
    >>> X = np.array([[3.0, 4.0], [2.0, np.nan], [np.nan, 1.0]])
    >>> sc.overlap_similarity(X)
    array([[1., 1., 1.],
           [1., 1., 0.],
           [1., 0., 1.]])
    """
    samples = as_samples(X)
    measure = Measure(metric, min_overlap, epsilon, positive).checked(samples.d)
    S, evidence = overlap_matrix(samples, measure, progress=progress)
    set_diagonal(S, zeros(S, (samples.n,)) + 1)
    return (S, evidence) if return_evidence else S


def overlap_counts(X: Any) -> Any:
    """How many features each pair of samples has in common.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Rows are samples, NaN is missing.

    Returns
    -------
    array of int64, shape (n, n)
        The diagonal holds how many features each sample has.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> sc.overlap_counts(np.array([[3.0, 4.0], [2.0, np.nan]]))
    array([[2, 1],
           [1, 1]])
    """
    samples = as_samples(X)
    xp = namespace(samples.values)
    require(samples.n**2 * 16, f"counts for {samples.n} samples", "count fewer samples at a time")
    M = xp.astype(~xp.isnan(samples.values), xp.float64)
    return xp.astype(M @ M.T, xp.int64)


def overlap_matrix(
    samples: Samples, measure: Measure, *, dtype: Any = None, progress: bool | None = None
) -> tuple[Array, Evidence]:
    """S0 of the spectral problem: as `overlap_similarity`, with diagonal 0 for rows without any evidence."""
    n = samples.n
    X = samples.values if dtype is None else astype(samples.values, dtype)
    require(
        n * n * (4 if X.dtype == namespace(X).float32 else 8),
        f"the {n} x {n} similarity matrix",
        "complete fewer rows at a time, or give complete rows as candidates: that form needs no such matrix",
    )
    rows = prepare(X, measure)
    S = zeros(X, (n, n))
    without = 0
    empty: list[int] = []
    xp = namespace(X)
    pieces = list(triangle_blocks(n, 6 * n * 8))
    for i, j in track(pieces, "similarities", progress):
        block, supported = cross(part(rows, i), part(rows, j), measure)
        width = i.stop - i.start
        # Both halves of the square on the diagonal are computed: average them, symmetric to the bit.
        square = (block[:, :width] + block[:, :width].T) / 2
        own = xp.linalg.diagonal(supported[:, :width])
        set_diagonal(square, astype(own, S.dtype))
        S[i, i] = square
        if i.stop < n:
            S[i, i.stop :] = block[:, width:]
            S[i.stop :, i] = block[:, width:].T
        missing = xp.astype(~supported, xp.int64)
        inside = int(xp.sum(xp.triu(missing[:, :width], k=1)))
        without += inside + int(xp.sum(missing[:, width:]))
        empty += [i.start + k for k in range(width) if not bool(own[k])]
    if measure.positive:
        S = to_unit_interval(S)
    return S, Evidence(n * (n - 1) // 2, without, tuple(empty), measure.min_overlap)
