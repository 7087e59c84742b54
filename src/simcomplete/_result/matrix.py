"""A symmetric matrix stored as factor, signs and diagonal, or as a dense array.

    S = F diag(signs) F^T + diag(diagonal),    or a dense array,    entries clipped to bounds on reading

Blocks are computed on request; the whole matrix only on request, and only if it fits into memory.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require, row_blocks
from simcomplete._rows.table import as_row_table
from simcomplete._rows.xp import Array, astype, like, namespace, set_entries, to_numpy, zeros

Selection = slice | NDArray[np.int64]  # rows of the result: consecutive ones, or positions


@dataclass(frozen=True)
class SymmetricMatrix:
    """S = F diag(signs) F^T + diag(diagonal), or dense; `bounds` clips entries when they are read.

    `unit` states that the diagonal is 1 and entries are within [-1, 1] up to rounding; the rounding is then removed.
    `factor` and `dense` may be row tables, which are read when they are used.

    Examples
    --------
    >>> import numpy as np
    >>> S = SymmetricMatrix(factor=np.array([[1.0], [2.0]]), diagonal=np.array([0.5, 0.0]))
    >>> S.block(slice(0, 2), slice(0, 2))
    array([[1.5, 2. ],
           [2. , 4. ]])
    """

    factor: Array | None = None
    signs: Array | None = None
    diagonal: Array | None = None
    dense: Array | None = None
    bounds: tuple[float, float] | None = None
    unit: bool = False

    @property
    def array(self) -> Array:
        """The array that determines library, device and type."""
        return self.dense if self.factor is None else self.factor

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.array.shape[0])

    @property
    def psd_by_form(self) -> bool:
        """Whether it is positive semi-definite because of its form."""
        return self.factor is not None and self.signs is None and self.bounds is None

    def block(self, rows: Selection, cols: Selection) -> Array:
        """Return the entries of some rows and columns; bit-symmetric when both selections are the same."""
        xp = namespace(self.array)
        n_rows, n_cols = length(rows, self.n), length(cols, self.n)
        itemsize = 4 if self.array.dtype == xp.float32 else 8
        require(
            2 * n_rows * n_cols * itemsize,
            f"a dense block of {n_rows} x {n_cols} similarities",
            "ask for a smaller block, use search(), or work with the factor",
        )
        if self.factor is None:
            S = joined([take(take(self.dense, part).T, cols).T for part in parts(self.dense, rows)], axis=0)
        else:
            S = self._with_diagonal(self._products(rows, cols), rows, cols)
            if same(rows, cols):
                S = (S + S.T) / 2
        if self.unit:
            S = xp.clip(S, -1.0, 1.0)
            i, j, _ = diagonal_positions(rows, cols, np.empty(self.n))
            set_entries(S, i, j, zeros(S, (len(i),)) + 1)
        return S if self.bounds is None else xp.clip(S, *self.bounds)

    def reordered(self, order: NDArray[np.int64]) -> SymmetricMatrix:
        """Return the matrix with rows and columns in another order."""

        def taken(x: Array | None) -> Array | None:
            return None if x is None else namespace(x).take(x, like(order, x), axis=0)

        dense = None if self.dense is None else taken(taken(self.dense).T).T  # type: ignore[union-attr]
        factor = None if self.factor is None else as_row_table(self.factor).take(order)
        return replace(self, factor=factor, diagonal=taken(self.diagonal), dense=dense)

    def factor_eigenvalues(self) -> Array:
        """Return the eigenvalues of F diag(signs) F^T that can differ from 0, in float64, ascending."""
        xp = namespace(self.array)
        if self.signs is None:
            return xp.linalg.eigvalsh(gram(self.factor))
        # F = Q R, so F diag(signs) F^T = Q (R diag(signs) R^T) Q^T has the eigenvalues of the matrix in the middle.
        R = triangular(self.factor)
        return xp.linalg.eigvalsh((R * xp.astype(self.signs, xp.float64)) @ R.T)

    @property
    def rank_work(self) -> int:
        """Estimated number of multiplications that `rank` takes."""
        small = self.n if self.factor is None or self.bounds is not None else min(self.factor.shape)
        return self.n * int(small) ** 2

    def rank(self) -> int:
        """Numerical rank: eigenvalues above n * eps * the largest. The added diagonal is not counted."""
        xp = namespace(self.array)
        if self.factor is not None and self.bounds is None and int(self.factor.shape[1]) <= self.n:
            w, eps = self.factor_eigenvalues(), float(np.finfo(np.float64).eps)
        else:
            whole = replace(self, diagonal=None).block(slice(0, self.n), slice(0, self.n))
            w, eps = xp.linalg.eigvalsh(xp.astype(whole, xp.float64)), float(xp.finfo(whole.dtype).eps)
        size = np.abs(to_numpy(w))
        return int(np.sum(size > self.n * eps * size.max(initial=0.0)))

    def diag(self) -> Array:
        """Return the diagonal of S."""
        xp = namespace(self.array)
        if self.unit:
            own = zeros(self.array, (self.n,)) + 1
        elif self.factor is None:
            own = own_entries(self.dense)
        else:
            own = row_lengths(self.factor, self.signs)
            own = own if self.diagonal is None else own + self.diagonal
        return own if self.bounds is None else xp.clip(own, *self.bounds)

    def _products(self, rows: Selection, cols: Selection) -> Array:
        """Return F_rows diag(signs) F_cols^T; if the factor is not in memory, the longer side is read in parts."""
        F = self.factor
        short, long = (rows, cols) if length(rows, self.n) <= length(cols, self.n) else (cols, rows)
        if as_row_table(F).held is not None:
            short, long = rows, cols
        left = take(F, short)
        left = left if self.signs is None else left * self.signs
        S = joined([left @ take(F, part).T for part in parts(F, long)], axis=1)
        return S if short is rows else S.T

    def _with_diagonal(self, S: Array, rows: Selection, cols: Selection) -> Array:
        if self.diagonal is None:
            return S
        i, j, value = diagonal_positions(rows, cols, to_numpy(self.diagonal))
        extra = np.zeros(tuple(S.shape), dtype=value.dtype)
        extra[i, j] = value
        return S + like(extra, S, dtype=S.dtype)


def joined(arrays: list[Array], axis: int) -> Array:
    """Concatenate arrays; return a single one unchanged."""
    return arrays[0] if len(arrays) == 1 else namespace(arrays[0]).concat(arrays, axis=axis)


def below(a: Array, b: Array) -> Array:
    """Return two arrays stacked, `b` below `a`."""
    return joined([a, b], axis=0)


def row_lengths(F: Array, signs: Array | None) -> Array:
    """Return squared lengths of rows, block by block if they are not in memory."""

    def lengths(rows: Array, _: int) -> Array:
        return namespace(rows).sum(rows * rows if signs is None else rows * rows * signs, axis=1)

    table = as_row_table(F)
    return table.fold(lengths, below, bytes_per_row=3 * 8 * table.d, label="lengths", progress=False)


def own_entries(dense: Array) -> Array:
    """Return the diagonal of a dense matrix, read block by block."""
    table = as_row_table(dense)
    xp = table.xp

    def own(rows: Array, start: int) -> Array:
        return xp.linalg.diagonal(rows[:, start : start + int(rows.shape[0])])

    return table.fold(own, below, bytes_per_row=8 * table.d, label="diagonal", progress=False)


def triangular(F: Array) -> Array:
    """Return R of F = Q R in float64; the R of two blocks is that of their two R, one below the other."""
    table = as_row_table(F)
    xp = table.xp

    def root(rows: Array, _: int = 0) -> Array:
        return xp.linalg.qr(astype(rows, xp.float64), mode="reduced")[1]

    return table.fold(
        root, lambda a, b: root(below(a, b)), bytes_per_row=4 * 8 * table.d, label="products", progress=False
    )


def gram(F: Array) -> Array:
    """Return F^T F in float64, block by block."""
    xp = namespace(F)

    def product(rows: Array, _: int) -> Array:
        part = astype(rows, xp.float64)
        return part.T @ part

    table = as_row_table(F)
    return table.fold(product, lambda a, b: a + b, bytes_per_row=2 * 8 * table.d, label="products", progress=False)


def length(rows: Selection, n: int) -> int:
    """Return how many of n rows a selection takes."""
    return len(range(*rows.indices(n))) if isinstance(rows, slice) else len(rows)


def parts(x: Array, rows: Selection) -> list[Selection]:
    """Cut a selection of rows into parts that can be read at once; rows in memory stay in one part."""
    table = as_row_table(x)
    count = length(rows, table.n)
    if table.held is not None or not count:
        return [rows]
    blocks = row_blocks(count, 3 * 8 * table.d)
    if isinstance(rows, slice) and rows.step in (1, None):
        first = rows.indices(table.n)[0]
        return [slice(first + block.start, first + block.stop) for block in blocks]
    positions = np.arange(table.n)[rows]
    return [positions[block] for block in blocks]


def take(x: Array, rows: Selection) -> Array:
    """Select rows: a view for a slice, a copy for positions."""
    if isinstance(rows, slice):
        return x[rows, :]
    return as_row_table(x).take(rows)


def same(rows: Selection, cols: Selection) -> bool:
    """Return whether two selections are the same rows in the same order."""
    if isinstance(rows, slice) or isinstance(cols, slice):
        return isinstance(rows, slice) and isinstance(cols, slice) and rows == cols
    return bool(np.array_equal(rows, cols))


def diagonal_positions(rows: Selection, cols: Selection, diagonal: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Return the positions within a block that are on the diagonal of S, and the diagonal's values there."""
    every = np.arange(len(diagonal))
    r = every[rows]
    c = every[cols]
    order = np.argsort(c, kind="stable")
    first = np.searchsorted(c[order], r, side="left")
    count = np.searchsorted(c[order], r, side="right") - first
    i = np.repeat(np.arange(len(r)), count)
    within = np.arange(len(i)) - np.repeat(np.cumsum(count) - count, count)
    j = order[np.repeat(first, count) + within]
    return i, j, diagonal[r[i]]
