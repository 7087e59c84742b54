"""Parts of the factor model: incomplete rows, their scale, and symmetric matrices kept flat.

Of many symmetric matrices only the upper triangles are kept, one row each: half the memory and half the work.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import as_bytes, nonzero_or_one
from simcomplete._types import Matrix

BLOCK = 2**25  # bytes of one block of rows
SMALLEST_SHARE = 1e-200  # of energy; less tells nothing, and could not be divided by
TURNS = 10  # of row scales and feature energies


@dataclass(frozen=True)
class IncompleteRows:
    """Incomplete rows: values with 0 where missing, 1.0 where observed, and which rows share a mask."""

    values: Matrix
    observed: Matrix
    pattern: NDArray[np.int64]

    @classmethod
    def of(cls, X: Matrix) -> IncompleteRows:
        """Take rows with NaN where missing.

        Examples
        --------
        >>> IncompleteRows.of(np.array([[1.0, np.nan], [2.0, 3.0], [4.0, np.nan]])).pattern
        array([1, 0, 1])
        """
        seen = ~np.isnan(X)
        return cls(np.where(seen, X, 0.0), seen.astype(np.float64), group_numbers(as_bytes(np.packbits(~seen, axis=1))))

    def blocks(self, bytes_per_row: int) -> Iterator[tuple[slice, IncompleteRows]]:
        """The rows, some at a time."""
        step = max(1, BLOCK // bytes_per_row)
        for start in range(0, len(self.values), step):
            part = slice(start, start + step)
            yield part, IncompleteRows(self.values[part], self.observed[part], self.pattern[part])


@dataclass(frozen=True)
class Scaling:
    """What rows are divided by: one number in raw space; in unit space each by its own length.

    The length of an incomplete row is guessed from the share of energy that its observed features usually have.

    Examples
    --------
    >>> X = np.array([[3.0, 4.0], [30.0, np.nan], [np.nan, 8.0]])
    >>> Scaling.of(X, "unit").sizes(X).round(1)
    array([ 5., 50., 10.])
    """

    space: str
    largest: float
    energy: Matrix

    @classmethod
    def of(cls, X: Matrix, space: str) -> Scaling:
        """Learn what rows have in common."""
        size, known = np.abs(np.nan_to_num(X)), (~np.isnan(X)).astype(np.float64)
        squares = (size / nonzero_or_one(size.max(axis=1, initial=0.0))[:, None]) ** 2
        energy = np.full(X.shape[1], 1.0 / X.shape[1])
        for _ in range(TURNS if space == "unit" else 0):
            scale = nonzero_or_one(squares.sum(axis=1) / usual_share(known, energy))
            energy = np.sum(squares / scale[:, None], axis=0) / np.maximum(known.sum(axis=0), 1.0)
            energy = energy / nonzero_or_one(energy.sum())
        return cls(space, float(nonzero_or_one(size.max(initial=0.0))), energy)

    def sizes(self, X: Matrix) -> Matrix:
        """What every row is to be divided by; each alone."""
        if self.space == "raw":
            return np.full(len(X), self.largest)
        size = np.abs(np.nan_to_num(X))
        top = nonzero_or_one(size.max(axis=1, initial=0.0))
        usual = usual_share((~np.isnan(X)).astype(np.float64), self.energy)
        # In units of the largest value, so that neither tiny nor huge rows leave the range of numbers.
        length = np.sqrt(np.sum((size / top[:, None]) ** 2, axis=1) / usual)
        return np.asarray(top * nonzero_or_one(length))


def usual_share(known: Matrix, energy: Matrix) -> Matrix:
    """What share of their energy rows usually have on what is known of them; 1 where that is next to nothing."""
    share = known @ energy
    return np.where(share > SMALLEST_SHARE, share, 1.0)


class Triangle(NamedTuple):
    """Where entries of symmetric (size, size) matrices are in their flat upper triangle, and the way back."""

    upper: tuple[NDArray[np.int64], NDArray[np.int64]]
    whole: NDArray[np.int64]
    times: Matrix  # how often an entry stands in the matrix: 1 on the diagonal, else 2
    inner: NDArray[np.int64]  # the triangle of all but the last row and column
    edge: NDArray[np.int64]  # the last column but its last entry, which is the last of all


@cache
def triangle(size: int) -> Triangle:
    """Positions for matrices of one size."""
    i, j = np.triu_indices(size)
    whole = np.empty((size, size), dtype=np.int64)
    whole[i, j] = whole[j, i] = np.arange(len(i))
    last = j == size - 1
    times = np.where(i == j, 1.0, 2.0)
    return Triangle((i, j), whole.ravel(), times, np.flatnonzero(~last), np.flatnonzero(last)[:-1])


def from_triangles(flat: Matrix, size: int) -> Matrix:
    """Flat upper triangles to whole matrices."""
    return np.take(flat, triangle(size).whole, axis=1).reshape(len(flat), size, size)


def to_triangles(whole: NDArray[Any]) -> Matrix:
    """Whole symmetric matrices to flat upper triangles."""
    size = whole.shape[1]
    i, j = triangle(size).upper
    return np.asarray(np.take(whole.reshape(len(whole), -1), i * size + j, axis=1))


def keys(X: Matrix) -> NDArray[np.void]:
    """Incomplete rows as bytes: masks first, so that the order of rows with different ones is not one of values."""
    missing = np.isnan(X)
    values = np.ascontiguousarray(np.where(missing, 0.0, X) + 0.0)  # -0 and 0 become the same
    return as_bytes(np.concatenate([np.packbits(missing, axis=1), values.view(np.uint8)], axis=1))


def group_numbers(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """A number per row, the same for the same bytes."""
    return np.unique(rows, return_inverse=True)[1].astype(np.int64).ravel()
