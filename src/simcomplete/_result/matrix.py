"""A symmetric matrix in the smallest form that says it: factor, signs and diagonal, or dense.

    S = F diag(signs) F^T + diag(diagonal),    or a dense array,    entries clipped to bounds on reading

Blocks are computed when asked for; the whole matrix only when asked for and only when it fits.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import require
from simcomplete._rows.table import as_table
from simcomplete._rows.xp import Array, astype, like, namespace, set_entries, to_numpy, zeros

Selection = slice | NDArray[np.int64]


@dataclass(frozen=True)
class SymmetricMatrix:
    """S = F diag(signs) F^T + diag(diagonal), or dense; `bounds` clips entries when they are read.

    `unit` says that the diagonal is 1 and entries are within [-1, 1] but for rounding, and takes the rounding out.

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
        """The array that sets library, device and type."""
        return self.dense if self.factor is None else self.factor

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.array.shape[0])

    @property
    def psd_by_form(self) -> bool:
        """Whether the form alone makes it positive semi-definite."""
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
            S = take(take(self.dense, rows).T, cols).T
        else:
            left = take(self.factor, rows)
            S = (left if self.signs is None else left * self.signs) @ take(self.factor, cols).T
            S = self._with_diagonal(S, rows, cols)
            if same(rows, cols):
                S = (S + S.T) / 2
        if self.unit:
            S = xp.clip(S, -1.0, 1.0)
            i, j, _ = meetings(rows, cols, np.empty(self.n))
            set_entries(S, i, j, zeros(S, (len(i),)) + 1)
        return S if self.bounds is None else xp.clip(S, *self.bounds)

    def factor_eigenvalues(self) -> Array:
        """Eigenvalues of F diag(signs) F^T that can be other than 0, in float64, rising."""
        xp = namespace(self.array)
        if self.signs is None:
            return xp.linalg.eigvalsh(gram(self.factor))
        F = xp.astype(self.factor, xp.float64)
        # F diag(signs) F^T = Q (R diag(signs) R^T) Q^T: the small matrix in the middle has them all.
        R = xp.linalg.qr(F, mode="reduced")[1]
        return xp.linalg.eigvalsh((R * xp.astype(self.signs, xp.float64)) @ R.T)

    def diag(self) -> Array:
        """Return the diagonal of S."""
        xp = namespace(self.array)
        if self.unit:
            own = zeros(self.array, (self.n,)) + 1
        elif self.factor is None:
            own = xp.linalg.diagonal(self.dense)
        else:
            own = row_lengths(self.factor, self.signs)
            own = own if self.diagonal is None else own + self.diagonal
        return own if self.bounds is None else xp.clip(own, *self.bounds)

    def _with_diagonal(self, S: Array, rows: Selection, cols: Selection) -> Array:
        if self.diagonal is None:
            return S
        i, j, value = meetings(rows, cols, to_numpy(self.diagonal))
        extra = np.zeros(tuple(S.shape), dtype=value.dtype)
        extra[i, j] = value
        return S + like(extra, S, dtype=S.dtype)


def row_lengths(F: Array, signs: Array | None) -> Array:
    """Squared lengths of rows, block by block where they are not in memory."""

    def lengths(rows: Array, _: int) -> Array:
        return namespace(rows).sum(rows * rows if signs is None else rows * rows * signs, axis=1)

    table = as_table(F)
    join = table.xp.concat
    width = 3 * 8 * table.d
    return table.fold(lengths, lambda a, b: join([a, b]), bytes_per_row=width, label="lengths", progress=False)


def gram(F: Array) -> Array:
    """F^T F in float64, block by block."""
    xp = namespace(F)

    def product(rows: Array, _: int) -> Array:
        part = astype(rows, xp.float64)
        return part.T @ part

    table = as_table(F)
    return table.fold(product, lambda a, b: a + b, bytes_per_row=2 * 8 * table.d, label="products", progress=False)


def length(rows: Selection, n: int) -> int:
    """How many rows a selection takes out of n."""
    return len(range(*rows.indices(n))) if isinstance(rows, slice) else len(rows)


def take(x: Array, rows: Selection) -> Array:
    """Select rows: a view for a slice, a copy for positions."""
    if isinstance(rows, slice):
        return x[rows, :]
    return as_table(x).take(rows)


def same(rows: Selection, cols: Selection) -> bool:
    """Whether two selections are the same rows in the same order."""
    if isinstance(rows, slice) or isinstance(cols, slice):
        return isinstance(rows, slice) and isinstance(cols, slice) and rows == cols
    return bool(np.array_equal(rows, cols))


def meetings(rows: Selection, cols: Selection, diagonal: NDArray[Any]) -> tuple[Any, Any, Any]:
    """Positions within a block that lie on the diagonal of S, and the diagonal's values there."""
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
