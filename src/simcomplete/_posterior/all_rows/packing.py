"""Parts of the factor model: incomplete rows, their scale, and symmetric matrices kept flat.

Of many symmetric matrices only the upper triangles are kept, one row each: half the memory and half the work.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cache, cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.iterate import Limits
from simcomplete._posterior.all_rows.hidden_values import distinct_by_value
from simcomplete._posterior.shared.rows import as_bytes, nonzero_or_one
from simcomplete._rows.budget import ACCELERATOR_BYTES
from simcomplete._rows.xp import Array, like, namespace, on_accelerator
from simcomplete._types import Mask, Matrix, Vector

BLOCK = 2**25  # bytes of one block of rows
SMALLEST_SHARE = 1e-200  # of energy; less tells nothing, and could not be divided by
TURNS = 10  # of row scales and feature energies


class SomeRows(Protocol):
    """Incomplete rows to fit a model to, in memory or read by block in every pass; 0 where missing."""

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""

    @property
    def values_held(self) -> int:
        """How many values are in memory at once."""

    def totals(self) -> tuple[Matrix, Matrix, float]:
        """Observed values per feature, their sums, and the largest size of all."""

    def centred(self, centre: Matrix) -> SomeRows:
        """The rows less a centre where they are observed."""

    def squares(self) -> Matrix:
        """Sums of squares per feature."""

    def over(self, share: float) -> Any:
        """Values over a number, as something to multiply with from both sides."""

    def sums_by(self, model: Any) -> Any:
        """What a model's M step needs of all rows."""


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

    @property
    def shape(self) -> tuple[int, int]:
        """Rows and features."""
        return self.values.shape[0], self.values.shape[1]

    @property
    def values_held(self) -> int:
        """All of them."""
        return int(self.values.size)

    def totals(self) -> tuple[Matrix, Matrix, float]:
        """Observed values per feature, their sums, and the largest size of all."""
        largest = float(np.max(np.abs(self.values), initial=0.0))
        return self.observed.sum(axis=0), self.values.sum(axis=0), largest

    def centred(self, centre: Matrix) -> IncompleteRows:
        """The rows less a centre where they are observed."""
        return IncompleteRows((self.values - centre) * self.observed, self.observed, self.pattern)

    def squares(self) -> Matrix:
        """Sums of squares per feature."""
        return np.asarray(np.sum(self.values * self.values, axis=0))

    def over(self, share: float) -> Matrix:
        """Values over a number."""
        return self.values / share

    def sums_by(self, model: Any) -> Any:
        """What a model's M step needs of all rows."""
        return model.sums(self)

    def blocks(self, bytes_per_row: int) -> Iterator[tuple[slice, IncompleteRows]]:
        """The rows, some at a time."""
        step = max(1, (ACCELERATOR_BYTES if on_accelerator(self.values) else BLOCK) // bytes_per_row)
        for start in range(0, self.shape[0], step):
            part = slice(start, min(start + step, self.shape[0]))
            yield part, IncompleteRows(self.values[part, :], self.observed[part, :], self.pattern[part])


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
        count, largest = known.sum(axis=0), float(size.max(initial=0.0))
        return cls.by_turns(space, largest, count, lambda energy: energy_sums(squares, known, energy))

    @classmethod
    def by_turns(cls, space: str, largest: float, count: Vector, sums: Callable[[Vector], Vector]) -> Scaling:
        """The same from sums over all rows: `sums` gives `energy_sums` for the energies of the last turn."""
        energy = np.full(len(count), 1.0 / len(count))
        for _ in range(TURNS if space == "unit" else 0):
            energy = sums(energy) / np.maximum(count, 1.0)
            energy = energy / nonzero_or_one(energy.sum())
        return cls(space, float(nonzero_or_one(largest)), energy)

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


class GivenRows:
    """Rows in memory that a model of all rows is fitted to; a table outside memory has a class of the same form.

    They are taken in orders of their own, so that the same rows give the same answer in whatever order they come: by
    their bytes, or by value, which units do not change.
    """

    def __init__(self, X: Matrix) -> None:
        self.X, self.shape = X, (X.shape[0], X.shape[1])
        seen = np.asarray(~np.isnan(X).all(axis=0))
        self.seen: Mask = seen | (not seen.any())  # features that somebody has

    @cached_property
    def order(self) -> NDArray[np.int64]:
        """The order by bytes."""
        return np.argsort(keys(self.X), kind="stable")

    @cached_property
    def rows(self) -> Matrix:
        """All rows in that order."""
        return np.asarray(self.X[self.order][:, self.seen])

    def take(self, which: NDArray[np.int64]) -> Matrix:
        """Some rows, by their places in the order by bytes."""
        return np.asarray(self.rows[which])

    def take_by_value(self, which: NDArray[np.int64]) -> Matrix:
        """Some rows, by their places in the order by value."""
        order = np.argsort(distinct_by_value(self.X)[1], kind="stable")
        return np.asarray(self.X[order[which]][:, self.seen])

    def take_given(self, which: NDArray[np.int64]) -> Matrix:
        """Some rows, by their places as they were given."""
        return np.asarray(self.X[which][:, self.seen])

    def fit(self, setting: Any, averaged: bool, limits: Limits) -> Any:
        """Fit a setting to all rows."""
        return setting.fit(self.rows, averaged, limits)

    def completed(self, model: Any, tuning: tuple[float, float] | None) -> Any:
        """The model at a strength and a power, and the vectors of all rows in the order they came in."""
        filled = model.fill(self.rows)
        model = model if tuning is None else model.tuned(*tuning, filled)
        U = np.zeros(self.shape)
        U[np.ix_(self.order, np.flatnonzero(self.seen))] = model.vectors(filled)
        return model, U

    def vectors_and_variances(self, model: Any) -> Any:
        """Vectors of all rows by a model of means and squares, and variances in units of their squared lengths."""
        made = model.moments(self.X)
        return made.vectors, made.and_variance[1] / nonzero_or_one(made.square.sum(axis=1))[:, None]

    def per_row(self, work: Callable[[Matrix], Vector]) -> Vector:
        """One number for every row."""
        return work(self.X[:, self.seen])


def energy_sums(squares: Matrix, known: Matrix, energy: Vector) -> Vector:
    """Sums of squares of every feature, rows brought to the length that these energies say."""
    scale = nonzero_or_one(squares.sum(axis=1) / usual_share(known, energy))
    return np.asarray(np.sum(squares / scale[:, None], axis=0))


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
    joined: NDArray[np.int64]  # from the inner triangle, the edge and the last entry, one after the other, to the whole


@cache
def triangle(size: int) -> Triangle:
    """Positions for matrices of one size."""
    i, j = np.triu_indices(size)
    whole = np.empty((size, size), dtype=np.int64)
    whole[i, j] = whole[j, i] = np.arange(len(i))
    last = j == size - 1
    times, inner, edge = np.where(i == j, 1.0, 2.0), np.flatnonzero(~last), np.flatnonzero(last)
    return Triangle((i, j), whole.ravel(), times, inner, edge[:-1], np.argsort(np.concatenate([inner, edge])))


def columns(flat: Array, which: NDArray[np.int64]) -> Array:
    """Some columns, in the library of the array."""
    return namespace(flat).take(flat, like(which, flat), axis=1)


def from_triangles(flat: Array, size: int) -> Array:
    """Flat upper triangles to whole matrices."""
    return namespace(flat).reshape(columns(flat, triangle(size).whole), (int(flat.shape[0]), size, size))


def to_triangles(whole: Array) -> Array:
    """Whole symmetric matrices to flat upper triangles."""
    size = int(whole.shape[1])
    i, j = triangle(size).upper
    return columns(namespace(whole).reshape(whole, (int(whole.shape[0]), size * size)), i * size + j)


def keys(X: Matrix) -> NDArray[np.void]:
    """Incomplete rows as bytes: masks first, so that the order of rows with different ones is not one of values."""
    return as_bytes(key_bytes(X))


def key_bytes(X: Matrix) -> NDArray[np.uint8]:
    """The same, one byte in every place."""
    missing = np.isnan(X)
    values = np.ascontiguousarray(np.where(missing, 0.0, X) + 0.0)  # -0 and 0 become the same
    return np.concatenate([np.packbits(missing, axis=1), values.view(np.uint8)], axis=1)


def group_numbers(rows: NDArray[np.void]) -> NDArray[np.int64]:
    """A number per row, the same for the same bytes."""
    return np.unique(rows, return_inverse=True)[1].astype(np.int64).ravel()
