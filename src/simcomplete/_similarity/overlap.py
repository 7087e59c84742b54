"""Step 1: similarities over the features that two samples have in common.

Pairs without evidence (fewer than `min_overlap` common features, or nothing but zeros on them) have similarity
0, never NaN, and are counted in `Evidence`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from simcomplete._caller import warn_caller
from simcomplete._rows.budget import require, row_blocks, triangle_blocks
from simcomplete._rows.doubts import question_columns
from simcomplete._rows.frames import FrameRows
from simcomplete._rows.frames_out import as_given
from simcomplete._rows.matching import in_order_of
from simcomplete._rows.progress import track
from simcomplete._rows.sparse import SparseRows
from simcomplete._rows.table import HeldRows, RowTable, as_row_table
from simcomplete._rows.validate import as_rows, check_measure, same_width
from simcomplete._rows.xp import Array, astype, namespace, set_diagonal, to_numpy, zeros
from simcomplete._similarity.measure import Evidence, Measure, to_unit_interval
from simcomplete._similarity.products import cross, part, prepare_rows
from simcomplete.errors import InputWarning

TEMPORARIES = 8  # arrays of the size of one block of similarities that its products take


def overlap_similarity(
    X: Any,
    Y: Any = None,
    metric: Any = "cosine",
    min_overlap: int = 1,
    *,
    epsilon: float = 0.0,
    positive: bool = False,
    return_evidence: bool = False,
    progress: bool | None = None,
    id: Any = None,
) -> Any:
    """Compute the overlap similarity S0: similarities over common features.

    The diagonal is 1. A pair without evidence is 0: no common feature, fewer than `min_overlap` of them, or a
    row that is zero (for Pearson: constant) on all of them. A value below 1e-100 (in float32 1e-18) of the largest
    in its row counts as zero, because its square would be lost in rounding.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Rows are samples, NaN is missing. float32 stays float32, everything else gives float64.
    Y : array or frame of shape (m, d), optional
        Other samples, such as queries, to be compared with those of `X`. Columns of frames are matched by name.
    metric : {"cosine", "pearson"}
        What to compute over the common features.
    min_overlap : int
        Pairs with fewer common features have similarity 0 and no evidence.
    epsilon : float
        Above 0, a row that is zero on the common features counts as a constant row instead (a small value is
        added to it: the paper's epsilon smoothing), so its pairs have evidence. The size does not matter.
    positive : bool
        Map the scores to (0, 1] by (1 + s)/2, to be read as probabilities. No evidence is then 1/2.
    return_evidence : bool
        Also return how many pairs and which rows (of `Y`, where given) had no evidence.
    progress : bool, optional
        None shows progress on a terminal, False never.
    id : optional
        The column of a frame that holds labels of rows, as in `simcomplete.complete`.

    Returns
    -------
    S : array or frame of shape (n, n), or (m, n) with `Y`
        In the library of `X`; of frames, a frame with the labels of the rows. With `Y`, a row for each of its samples,
        as in ``done.similarity("queries", "candidates")``.
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
    >>> sc.overlap_similarity(X, np.array([[4.0, -3.0]]))
    array([[ 0.,  1., -1.]])
    """
    if isinstance(Y, str) and Y in ("cosine", "pearson"):  # before version 0.3, the metric came second
        Y, metric, min_overlap = None, Y, min_overlap if metric == "cosine" else metric
    rows, others = _rows_to_compare(X, Y, id)
    check_measure(metric, min_overlap, epsilon, rows.d)
    measure = Measure(metric, min_overlap, epsilon, positive)
    if others is None:
        S, evidence = overlap_matrix(rows, measure, progress=progress)
        set_diagonal(S, zeros(S, (rows.n,)) + 1)
    else:
        S, evidence = _overlap_block(others, rows, measure, progress)
    if isinstance(rows, FrameRows) or isinstance(others, FrameRows):
        S = as_given(S, rows if others is None else others, rows)
    return (S, evidence) if return_evidence else S


def overlap_counts(X: Any, Y: Any = None, *, id: Any = None) -> Any:
    """Count the common features of each pair of samples.

    Parameters
    ----------
    X : array or frame of shape (n, d)
        Rows are samples, NaN is missing.
    Y : array or frame of shape (m, d), optional
        Other samples, to be compared with those of `X`.
    id : optional
        The column of a frame that holds labels of rows, as in `simcomplete.complete`.

    Returns
    -------
    array of int64 or frame, shape (n, n), or (m, n) with `Y`
        The diagonal holds how many features each sample has.

    Examples
    --------
    >>> import numpy as np, simcomplete as sc
    >>> sc.overlap_counts(np.array([[3.0, 4.0], [2.0, np.nan]]))
    array([[2, 1],
           [1, 1]])
    """
    rows, others = _rows_to_compare(X, Y, id)
    xp, m = rows.xp, rows.n if others is None else others.n
    require(rows.n * m * 16, f"counts for {m} x {rows.n} pairs of samples", "count fewer samples at a time")
    M = xp.astype(~xp.isnan(rows.array), xp.float64)
    counts = xp.astype((M if others is None else xp.astype(~xp.isnan(others.array), xp.float64)) @ M.T, xp.int64)
    if isinstance(rows, FrameRows) or isinstance(others, FrameRows):
        return as_given(counts, rows if others is None else others, rows)
    return counts


def _rows_to_compare(X: Any, Y: Any, id: Any) -> tuple[HeldRows, HeldRows | None]:
    """Rows, and the others that they are to be compared with, with their columns in the same order."""
    rows = as_rows(X, id=id).in_memory()
    notice = question_columns(rows, id) if isinstance(rows, FrameRows) else None
    if notice is not None:
        warn_caller(notice, InputWarning)
    if Y is None:
        return rows, None
    others = as_rows(Y, "Y", id=id).in_memory()
    others = in_order_of(rows, others, "rows of Y") if isinstance(others, FrameRows) else others
    same_width(rows, others)
    return rows, others


def _overlap_block(new: HeldRows, rows: HeldRows, measure: Measure, progress: bool | None) -> tuple[Array, Evidence]:
    """Similarities of new rows with others, and what they stand on: pairs of both, and new rows with nothing at all."""
    xp = rows.xp
    need = f"the {new.n} x {rows.n} similarities"
    require(new.n * rows.n * 8, need, "compare fewer samples at a time")
    small = new.dtype == rows.dtype == xp.float32
    S, without, empty = zeros(new.array, (new.n, rows.n), xp.float32 if small else xp.float64), 0, []
    for some, others, block, supported in supported_blocks(new.array, rows, measure, progress):
        S[some, others] = astype(block, S.dtype)
        without += int(xp.sum(xp.astype(~supported, xp.int64)))
        held = to_numpy(xp.any(supported, axis=1))
        empty.append((some.start, held))
    observed = np.zeros(new.n, dtype=bool)
    for start, held in empty:
        observed[start : start + len(held)] |= held
    nothing = tuple(np.flatnonzero(~observed).tolist())
    return S, Evidence(new.n * rows.n, without, nothing, measure.min_overlap)


def overlap_matrix(
    samples: RowTable, measure: Measure, *, dtype: Any = None, progress: bool | None = None
) -> tuple[Array, Evidence]:
    """S0 of the spectral problem: as `overlap_similarity`, with diagonal 0 for rows without any evidence."""
    n, xp = samples.n, samples.xp
    dtype = samples.dtype if dtype is None else dtype
    require(
        n * n * (4 if dtype == xp.float32 else 8),
        f"the {n} x {n} similarity matrix",
        "complete fewer rows at a time, or give complete rows as candidates: that form needs no such matrix",
    )
    S = zeros(samples.read(0, 1), (n, n), dtype)
    tally = _Tally(n)
    for i, block, supported in _triangle(samples, measure, progress, dtype):
        width = i.stop - i.start
        # Both halves of the square on the diagonal are computed: average them, symmetric to the bit.
        square = (block[:, :width] + block[:, :width].T) / 2
        set_diagonal(square, astype(xp.linalg.diagonal(supported[:, :width]), S.dtype))
        S[i, i] = square
        if i.stop < n:
            S[i, i.stop :] = block[:, width:]
            S[i.stop :, i] = block[:, width:].T
        tally.add(i, supported)
    if measure.positive:
        S = to_unit_interval(S)
    return S, tally.evidence(measure)


def overlap_evidence(samples: RowTable, measure: Measure, *, progress: bool | None = None) -> Evidence:
    """What `overlap_matrix` would stand on, without holding the matrix."""
    tally = _Tally(samples.n)
    for i, _, supported in _triangle(samples, measure, progress, samples.dtype):
        tally.add(i, supported)
    return tally.evidence(measure)


def overlap_with(X: Array, rows: Array | RowTable, measure: Measure, progress: bool | None = None) -> Array:
    """Similarities of new samples with others over common features, (new, others) in float64."""
    xp, table = namespace(X), as_row_table(rows)
    S0 = zeros(X, (int(X.shape[0]), table.n), xp.float64)
    for new, others, S in overlap_blocks(X, table, measure, progress):
        S0[new, others] = S
    return S0


def overlap_blocks(
    X: Array, rows: Array | RowTable, measure: Measure, progress: bool | None = None
) -> Iterator[tuple[slice, slice, Array]]:
    """The same a block at a time: which new samples, which others, and their similarities."""
    for new, others, S, _ in supported_blocks(X, rows, measure, progress):
        yield new, others, S


def supported_blocks(
    X: Array, rows: Array | RowTable, measure: Measure, progress: bool | None = None
) -> Iterator[tuple[slice, slice, Array, Array]]:
    """The same, with which pairs have evidence."""
    xp, table, m = namespace(X), as_row_table(rows), int(X.shape[0])
    for new in track(row_blocks(m, table.d * 8 * TEMPORARIES), "new rows", progress):
        a = prepare_rows(xp.astype(X[new, :], xp.float64), measure)
        for others in row_blocks(table.n, ((new.stop - new.start) + table.d) * 8 * TEMPORARIES):
            b = prepare_rows(xp.astype(table[others, :], xp.float64), measure)
            S, supported = cross(a, b, measure)
            yield new, others, to_unit_interval(S) if measure.positive else S, supported


def _triangle(
    samples: RowTable, measure: Measure, progress: bool | None, dtype: Any
) -> Iterator[tuple[slice, Array, Array]]:
    """Rows, their similarities with all rows from there on, and which pairs have evidence."""
    n, d, sparse = samples.n, samples.d, isinstance(samples, SparseRows)
    rows = None if sparse else prepare_rows(astype(samples.whole(), dtype), measure)
    for i, j in track(list(triangle_blocks(n, 6 * n * 8, like=samples)), "similarities", progress):
        if rows is not None:
            yield i, *cross(part(rows, i), part(rows, j), measure)
            continue
        # Dense rows of NaN are made of few rows at a time, and again for every block: that is little beside products.
        some, blocks = prepare_rows(astype(samples.read(i.start, i.stop), dtype), measure), []
        if j == i:  # of the same array, as above: the same bits
            yield i, *cross(some, some, measure)
            continue
        for k in row_blocks(j.stop - j.start, 8 * TEMPORARIES * (d + i.stop - i.start)):
            others = samples.read(j.start + k.start, j.start + k.stop)
            blocks.append(cross(some, prepare_rows(astype(others, dtype), measure), measure))
        S, supported = (np.concatenate(parts, axis=1) for parts in zip(*blocks, strict=True))
        yield i, S, supported


class _Tally:
    """Counts pairs and rows that have nothing to compare."""

    def __init__(self, n: int) -> None:
        self.n, self.without = n, 0
        self.empty: list[int] = []

    def add(self, i: slice, supported: Array) -> None:
        xp = namespace(supported)
        width = i.stop - i.start
        missing = xp.astype(~supported, xp.int64)
        inside = int(xp.sum(xp.triu(missing[:, :width], k=1)))
        self.without += inside + int(xp.sum(missing[:, width:]))
        own = to_numpy(xp.linalg.diagonal(supported[:, :width]))
        self.empty += [i.start + int(k) for k in np.flatnonzero(~own)]

    def evidence(self, measure: Measure) -> Evidence:
        return Evidence(self.n * (self.n - 1) // 2, self.without, tuple(self.empty), measure.min_overlap)
