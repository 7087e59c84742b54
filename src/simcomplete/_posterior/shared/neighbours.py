"""Neighbours of incomplete rows, and smoothing weights over them.

The nearest candidates by overlap cosine are a local prior: their weighted mean is where a row like this one usually
lies.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from math import sqrt
from typing import NamedTuple

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import RESOLUTION, distinct_masks, unit_rows
from simcomplete._rows.budget import available_bytes, row_blocks
from simcomplete._rows.narrow import CLEAR, WIDE, WIDEST, NarrowRows, Outline
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, is_numpy, like, namespace, to_numpy, top_k
from simcomplete._types import Mask, Matrix

MAX_NEIGHBOURS = 48
BISECTIONS = 12
FEW_VALUES = 2**22  # of candidates up to which all are compared in float64
COLUMN_VALUES = 2**24  # of candidates up to which a single query reads the features that it has, and no others
COPY_MEMORY = 0.1  # of what is free, that a copy of more candidates for that purpose may take
WIDTHS = (1e-4, 100.0)  # of the kernel, relative to the mean distance


class Nearest(NamedTuple):
    """The nearest candidates of every row, best first: positions, overlap cosines, energies on the row's features."""

    ids: NDArray[np.int64]
    cosines: Matrix
    energies: Matrix

    def some(self, rows: slice, most: int | None = None) -> Nearest:
        """Those of some rows, or fewer of each."""
        return Nearest(self.ids[rows, :most], self.cosines[rows, :most], self.energies[rows, :most])

    def merged(self, other: Nearest, most: int) -> Nearest:
        """The best of these and of others at higher positions; equal cosines stay in the order of positions."""
        ids, cosines, energies = (np.concatenate(both, axis=1) for both in zip(self, other, strict=True))
        order = np.argsort(-cosines, axis=1, kind="stable")[:, :most]
        return Nearest(*(np.take_along_axis(part, order, axis=1) for part in (ids, cosines, energies)))


@dataclass(frozen=True)
class KeptRows:
    """Unit rows of all candidates in memory, and what searches among them read."""

    unit: Matrix

    @property
    def many(self) -> bool:
        """Whether searches are narrowed down in float32, from a copy for which there is room."""
        n, d = self.unit.shape
        if n * d <= FEW_VALUES or d > WIDEST:
            return False
        return "narrow" in self.__dict__ or 4 * n * d <= COPY_MEMORY * available_bytes()

    @cached_property
    def narrow(self) -> NarrowRows:
        """The rows in float32."""
        return NarrowRows.of(self.unit)

    @cached_property
    def outline(self) -> Outline:
        """The rows along a few directions."""
        return self.narrow.outline if self.many else Outline.of(self.unit)

    def has_outline(self, k: int = 1) -> bool:
        """Whether rows are wide, and many beside the k that are searched for."""
        n, d = self.unit.shape
        return bool(WIDE <= d <= WIDEST and k * CLEAR <= n)

    def nearest(self, u: Matrix, k: int, limits: tuple[float, float]) -> tuple[NDArray[np.int64], Matrix] | None:
        """The `k` rows with the largest products with vectors, clipped; None where all are to be compared by block."""
        if self.many:
            return self.narrow.nearest(u, k, limits)
        if len(u) > 1:
            return None
        found = self.outline.nearest_to_one(self.unit, u, k, limits) if self.has_outline(k) else None
        # Few candidates: what shares them out would take longer than the product.
        return top_k((u @ self.unit.T).clip(*limits), k) if found is None else found

    @cached_property
    def columns(self) -> Matrix:
        """Features of all candidates, one after the other."""
        return np.ascontiguousarray(self.unit.T)

    @property
    def reads_columns(self) -> bool:
        """Whether they are there, or there is room for them."""
        size = self.unit.size
        return "columns" in self.__dict__ or size <= COLUMN_VALUES or 8 * size <= COPY_MEMORY * available_bytes()

    @cached_property
    def _squares(self) -> Matrix:
        return self.unit * self.unit

    def squares(self, block: slice) -> Matrix:
        """Squares of some rows; of few candidates they are kept."""
        return self._squares[block] if self.unit.size <= FEW_VALUES else self.unit[block] ** 2

    def __reduce__(self) -> tuple[type[KeptRows], tuple[Matrix]]:
        return KeptRows, (self.unit,)  # all else is made again where it is needed


@dataclass(frozen=True)
class Probes:
    """Incomplete rows whose neighbours are wanted, in the array library of the candidates.

    Attributes
    ----------
    values : array of shape (m, d)
        Unit rows on what is observed, 0 elsewhere.
    masks : array of shape (distinct, d)
        The distinct masks, 1 where observed: candidates have one energy per mask, however many rows share it.
    which : array of int, shape (m,)
        The mask of every row.
    """

    values: Array
    masks: Array
    which: NDArray[np.int64]

    @classmethod
    def of(cls, values: Matrix, observed: Mask, table: RowTable | None = None) -> Probes:
        """Take rows with 0 where missing, to where the rows of a table are."""
        first, which = distinct_masks(observed)
        unit, masks = unit_rows(values), observed[first].astype(np.float64)
        if table is None:
            return cls(unit, masks, which)
        return cls(table.like(unit, table.xp.float64), table.like(masks, table.xp.float64), which)

    def nearest(
        self,
        unit: Array,
        squares: Array | None,
        most: int,
        excluded: Mask | None = None,
        since: int = 0,
        columns: Matrix | None = None,
    ) -> Nearest:
        """The candidates with the largest overlap cosine, by two matrix products for all rows.

        Parameters
        ----------
        unit, squares : array of shape (n, d)
            Candidates as unit rows, and their squares, which nothing reads where columns are given.
        most : int
            How many to keep; at most the candidates there are.
        excluded : array of bool, shape (n,), optional
            Candidates that come last (cosine -inf) for the rows from `since` on.
        columns : array of shape (d, n), optional
            Features of the candidates, to read only those that rows of a single mask have.
        """
        xp = namespace(unit)
        if columns is None:
            assert squares is not None
            energy, cosine = self.masks @ squares.T, self.values @ unit.T
        else:
            read = columns[seen := np.flatnonzero(self.masks[0])]
            energy, cosine = np.einsum("dn,dn->n", read, read)[None], self.values[:, seen] @ read
        root = xp.sqrt(xp.where(energy > 0, energy, xp.full_like(energy, np.inf)))  # no energy: no evidence, cosine 0
        repeated = len(self.which) > int(root.shape[0])
        which = like(self.which, unit)
        # Divided, not multiplied by an inverse: with one feature observed all cosines are exactly 1, ties stay ties.
        root = xp.take(root, which, axis=0) if repeated else root
        if is_numpy(cosine):
            scaled = np.divide(cosine, root, out=cosine)
            scaled *= RESOLUTION
            steps = np.rint(scaled)
            if excluded is not None:
                steps[since:, excluded] = -np.inf
            most = min(most, len(unit))
            ids, best = top_k(steps, most)
            if self._settle(scaled, steps, best[:, -1:], unit):
                ids, best = top_k(steps, most)
            return Nearest(ids, np.asarray(best, np.float64) / RESOLUTION, energy[which[:, None], ids])
        steps = xp.round(cosine / root * RESOLUTION)
        if excluded is not None:
            hit = like(np.arange(len(self.which)) >= since, unit)[:, None] & like(excluded, unit)[None, :]
            steps = xp.where(hit, like(np.asarray(-np.inf), unit), steps)
        ids, best = top_k(steps, min(most, int(unit.shape[0])))
        energy = xp.take(energy, which, axis=0) if repeated else energy
        energies = to_numpy(xp.take_along_axis(energy, like(ids, unit), axis=1))
        return Nearest(ids, np.asarray(best, np.float64) / RESOLUTION, energies)

    def _settle(self, scaled: Matrix, steps: Matrix, last: Matrix, unit: Matrix) -> bool:
        """Round again, in `steps`, the cosines that rounding errors of the products could carry to another step.

        The last digits of a matrix product depend on its shape, so on the other rows of a batch. Half way between two
        steps they decide, and where all neighbours are about equally near one step is much: such cosines, as far as
        they can matter beside the last neighbour kept, are summed again by themselves, in an order of their own.
        """
        noise = min(RESOLUTION * float(np.finfo(np.float64).eps) * (8 + unit.shape[1] / 4), 0.5)
        np.abs(np.subtract(scaled, steps, out=scaled), out=scaled)  # in place: these are the largest arrays there are
        doubtful = scaled >= 0.5 - noise
        doubtful &= steps >= last - 2
        doubtful &= steps > -np.inf
        rows, columns = np.nonzero(doubtful)
        if not len(rows):
            return False
        before = steps[rows, columns]
        for part in row_blocks(len(rows), 8 * 6 * unit.shape[1]):
            r, c = rows[part], columns[part]
            cosine, _ = exact_cosines(self.values[r], self.masks[self.which[r]], unit[c])
            steps[r, c] = np.rint(cosine * RESOLUTION)
        return bool((steps[rows, columns] != before).any())


def exact_cosines(values: Matrix, masks: Matrix, rows: Matrix) -> tuple[Matrix, Matrix]:
    """Overlap cosines of pairs and energies of `rows`, each summed by itself: the same whatever other pairs there are.

    Examples
    --------
    >>> exact_cosines(np.array([0.0, 1.0]), np.array([0.0, 1.0]), np.array([[0.6, 0.8], [1.0, 0.0]]))
    (array([1., 0.]), array([0.64, 0.  ]))
    """
    energy = np.sum(masks * (rows * rows), axis=1)
    return np.sum(values * rows, axis=1) / np.sqrt(np.where(energy > 0, energy, np.inf)), energy


def nearest_candidates(unit: Matrix, values: Matrix, observed: Mask, most: int = MAX_NEIGHBOURS) -> Nearest:
    """The candidates with the largest overlap cosine, among unit rows in memory; at most all of them but one.

    Examples
    --------
    >>> unit = np.array([[1.0, 0.0], [0.6, 0.8], [0.0, 1.0]])
    >>> nearest_candidates(unit, np.array([[0.0, 2.0]]), np.array([[True, True]])).ids
    array([[2, 1]])
    """
    return Probes.of(values, observed).nearest(unit, unit * unit, max(1, min(most, len(unit) - 1)))


def share_found(scores: Matrix, truth: Matrix, k: int) -> float:
    """Share of every row's `k` truly nearest that are among its `k` nearest by score, on average: recall at k.

    Examples
    --------
    >>> share_found(np.array([[0.9, 0.1, 0.8, 0.0]]), np.array([[0.9, 0.8, 0.3, 0.1]]), k=2)
    0.5
    """
    k = min(k, truth.shape[1])
    ids, nearest = top_k(scores, k)[0], top_k(truth, k)[0]
    return float(np.mean((ids[:, :, None] == nearest[:, None, :]).any(axis=2).mean(axis=1)))


def smoothing(cosines: Matrix, k: float) -> Matrix:
    """Weights exp(-(D - min D)/t), D = 2 - 2 cosine, of effective number (sum w)^2 / sum w^2 = k; rows sum to 1.

    Examples
    --------
    >>> w = smoothing(np.array([[0.9, 0.8, 0.5, 0.1, 0.0]]), k=2)
    >>> round(float(1 / np.sum(w**2)), 1), bool(np.all(np.diff(w) < 0))
    (2.0, True)
    """
    D = 2.0 - 2.0 * cosines
    D = D - D.min(axis=1, keepdims=True)
    width = D.mean(axis=1, keepdims=True)
    safe = np.where(width > 0, width, 1.0)
    wanted = min(k, 0.8 * D.shape[1])
    if len(D) == 1:
        return _smoothing_of_one(D[0], float(safe[0, 0]), wanted)[None]
    low = np.full_like(width, WIDTHS[0])
    high = np.full_like(width, WIDTHS[1])
    w = np.ones_like(D)
    for _ in range(BISECTIONS):
        middle = np.sqrt(low * high)
        w = np.exp(-D / (middle * safe))
        few = w.sum(axis=1, keepdims=True) ** 2 / np.sum(w * w, axis=1, keepdims=True) < wanted
        low, high = np.where(few, middle, low), np.where(few, high, middle)
    return np.asarray(w / w.sum(axis=1, keepdims=True))


def _smoothing_of_one(D: Matrix, safe: float, wanted: float) -> Matrix:
    """The same steps for one row, whose widths are plain numbers."""
    low, high = WIDTHS
    w = total = np.ones(1)
    for _ in range(BISECTIONS):
        middle = sqrt(low * high)
        w = np.exp(-D / (middle * safe))
        total = np.add.reduce(w)
        if total * total / np.add.reduce(w * w) < wanted:
            low = middle
        else:
            high = middle
    return np.asarray(w / total)


def sparse_weights(ids: NDArray[np.int64], weights: Matrix, n: int) -> scipy.sparse.csr_array:
    """Weights of neighbours as a sparse (rows, n) matrix, to be multiplied with the candidates."""
    rows, most = ids.shape
    starts = np.arange(0, rows * most + 1, most)
    return scipy.sparse.csr_array((weights.ravel(), ids.ravel(), starts), shape=(rows, n))
