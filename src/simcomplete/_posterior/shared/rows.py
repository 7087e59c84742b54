"""Rows of features as NumPy matrices, and the vectors that the posterior models give them.

For unit rows E[cos(p, q) | observed] = p . E[q/|q| | observed] for every candidate p, so the best estimate in the
squared sense needs one vector u per query, at most 1 long: similarities are products with it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from simcomplete._result.intervals import Match
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import Array, is_numpy, namespace, to_numpy
from simcomplete._types import Mask, Matrix
from simcomplete.errors import InputError

# Cosines that decide which of several things is best are rounded to multiples of 1 / RESOLUTION: equal ones stay equal,
# whatever order their products were summed in.
RESOLUTION = 2.0**40
COPY = 1 - 1e-6  # cosine above which two rows are the same
SAFE_LENGTHS = (1e-100, 1e100)  # between these squares, and products of them, neither overflow nor vanish
LARGEST_POWER = 200  # of two: rows that are larger, or smaller than its inverse, are brought to it
USUAL_SQUARES = (1e-190, 1e190)  # of lengths well within those
Effort = Literal["full", "fast", "best"]
Objective = Literal["error", "recall"]
EFFORTS = ("full", "fast", "best")
OBJECTIVES = ("error", "recall")


def nonzero_or_one(x: Any) -> Any:
    """What can be divided by: 1 in the place of 0."""
    return np.where(x > 0, x, 1.0)


def rounded(cosines: Matrix) -> Matrix:
    """Cosines without their last digits, in place."""
    cosines *= RESOLUTION
    np.rint(cosines, out=cosines)
    cosines /= RESOLUTION
    return cosines


def unit_rows(X: Array) -> Array:
    """Rows divided by their length, in the library of X; zero rows stay zero.

    Examples
    --------
    >>> unit_rows(np.array([[3.0, 4.0], [0.0, 0.0], [3e200, 4e200]]))
    array([[0.6, 0.8],
           [0. , 0. ],
           [0.6, 0.8]])
    """
    return scaled_rows(X, 1.0)[1]


def scaled_rows(X: Array, scale: float) -> tuple[Array, Array]:
    """Rows divided by a number, and rows divided by their own length; zero rows stay zero.

    Of the first, rows that are far too long or short for their squares are brought to where these can be computed.

    Examples
    --------
    >>> scaled_rows(np.array([[6.0, 8.0], [6e250, 8e250]]), 2.0)
    (array([[3.e+00, 4.e+00],
           [6.e+99, 8.e+99]]), array([[0.6, 0.8],
           [0.6, 0.8]]))
    """
    xp, (shortest, longest) = namespace(X), SAFE_LENGTHS
    with np.errstate(over="ignore", invalid="ignore"):  # such rows are done again below
        scaled = X / scale
        length = xp.sqrt(xp.sum(scaled * scaled, axis=1, keepdims=True))
        if is_numpy(X) and len(X) == 1 and shortest < length[0, 0] < longest:
            return scaled, scaled / length
        long, short = ~(length < longest), ~(length > shortest)
        if int(X.shape[1]) == 0 or not bool(xp.any(long | short)):
            return scaled, scaled / length
        top = xp.max(xp.abs(X), axis=1, keepdims=True)
        direction = X / xp.where(top > 0, top, xp.ones_like(top))
        size = xp.sqrt(xp.sum(direction * direction, axis=1, keepdims=True))
        direction = direction / xp.where(size > 0, size, xp.ones_like(size))
        unit = xp.where(long | short, direction, scaled / xp.where(short, xp.ones_like(length), length))
        return xp.where(long, direction * longest, xp.where(short, direction * shortest, scaled)), unit


def rows_in_units(X: Matrix, scale: float) -> Matrix:
    """The first of `scaled_rows`, of rows in NumPy.

    Examples
    --------
    >>> rows_in_units(np.array([[6.0, 8.0], [6e250, 8e250]]), 2.0)
    array([[3.e+00, 4.e+00],
           [6.e+99, 8.e+99]])
    """
    with np.errstate(over="ignore", invalid="ignore"):
        scaled = X / scale
        squares = np.einsum("ij,ij->i", scaled, scaled)
    usual = squares.size and squares.min() > USUAL_SQUARES[0] and squares.max() < USUAL_SQUARES[1]
    return scaled if usual else np.asarray(scaled_rows(X, scale)[0])


class ObservedRows(NamedTuple):
    """Incomplete rows, in units of a typical length: values with 0 where missing, the mask, and unit rows."""

    values: Matrix
    observed: Mask
    unit: Matrix

    @classmethod
    def of(cls, X: Matrix, scale: float) -> ObservedRows:
        """Take rows with NaN where missing."""
        observed = ~np.isnan(X)
        values, unit = scaled_rows(np.where(observed, X, 0.0), scale)
        return cls(values, observed, unit)

    def some(self, rows: slice) -> ObservedRows:
        """Some of the rows."""
        return ObservedRows(self.values[rows], self.observed[rows], self.unit[rows])


def distinct_masks(observed: Mask) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct mask comes first, and which of them every row has.

    Examples
    --------
    >>> distinct_masks(np.array([[True, False], [False, False], [True, False]]))
    (array([0, 1]), array([0, 1, 0]))
    """
    if len(observed) == 1:
        return np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64)
    found: dict[bytes, int] = {}
    # By their bytes: sorting whole rows, as np.unique does, costs more than all the rest for a single row.
    packed = np.packbits(observed, axis=1)
    which = np.array([found.setdefault(row.tobytes(), len(found)) for row in packed], dtype=np.int64)
    return np.unique(which, return_index=True)[1], which


def sorted_distinct(X: Matrix) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Where each distinct row comes first, in lexicographic order of the rows, and which of them every row is.

    As ``np.unique(X, axis=0)`` with both indices, by comparing bytes: many times faster for wide rows.

    Examples
    --------
    >>> sorted_distinct(np.array([[2.0, 1.0], [-1.0, 5.0], [2.0, 1.0]]))
    (array([1, 0]), array([1, 0, 1]))
    """
    _, first, which = np.unique(as_bytes(ordered_bytes(X)), return_index=True, return_inverse=True)
    return first.astype(np.int64), which.astype(np.int64).ravel()


def ordered_bytes(X: Matrix) -> NDArray[np.uint8]:
    """Rows as bytes whose order is that of the rows, value by value: eight in the place of each value."""
    bits = np.ascontiguousarray(X + 0.0).view(np.uint64)  # -0 and 0 become the same
    # Numbers below 0 are stored by sign and size: turned over, the order of the bits is that of the numbers.
    bits ^= np.where(bits >> np.uint64(63), np.uint64(2**64 - 1), np.uint64(2**63))
    return np.asarray(bits.astype(">u8").view(np.uint8))


def as_bytes(X: NDArray[Any]) -> NDArray[np.void]:
    """Rows as bytes, to sort and compare them whole."""
    flat = np.ascontiguousarray(X)
    return flat.view(np.dtype((np.void, flat.itemsize * flat.shape[1]))).ravel()


def take_matrix(table: Any, positions: NDArray[np.int64]) -> Matrix:
    """Some rows of a table, in NumPy and float64."""
    return np.asarray(to_numpy(table.take(positions)), dtype=np.float64)


def check_settings(effort: str, objective: str = "error") -> None:
    """Refuse settings there are not."""
    if effort not in EFFORTS:
        raise InputError(f"effort={effort!r} is unknown; use 'full', 'fast' or 'best'")
    if objective not in OBJECTIVES:
        raise InputError(f"objective={objective!r} is unknown; use 'error' or 'recall'")


@dataclass(frozen=True)
class Vectors:
    """One vector per query, and its length: 1 when everything is known."""

    u: Matrix
    length: Matrix
    match: Match | None = None

    @property
    def uncertainty(self) -> Matrix:
        """What intervals grow with: sqrt(1 - length^2), 0 where all is known."""
        return np.sqrt(np.where(self.length < 1, np.maximum(1 - self.length**2, 1e-4), 0.0))


class RowValues(NamedTuple):
    """Rows with expected values in the place of missing ones, and the standard deviation of each: 0 where observed.

    Variances would be beyond the range of numbers where values are not.
    """

    mean: Matrix
    std: Matrix

    @classmethod
    def around(cls, X: Matrix, mean: Matrix, std: Matrix) -> RowValues:
        """Keep what is observed in X bit for bit.

        Examples
        --------
        >>> RowValues.around(np.array([[0.1, np.nan]]), np.array([[0.2, 0.3]]), np.array([[1.0, 4.0]]))
        RowValues(mean=array([[0.1, 0.3]]), std=array([[0., 4.]]))
        """
        missing = np.isnan(X)
        return cls(np.where(missing, mean, X), np.where(missing, std, 0.0))


class PosteriorModel(Protocol):
    """What estimators use of a fitted model."""

    @property
    def unit(self) -> Any:
        """Vectors of the fitted rows, (n, d): unit rows where they are complete."""

    @property
    def choice(self) -> Any:
        """What was chosen; `as_dict` gives plain values."""

    def vectors(self, X: Matrix) -> Vectors:
        """Vectors of any rows, NaN where missing, each row by itself."""

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows and their deviations, in the units of the fitted rows."""


def row_energies(U: Any) -> Matrix:
    """Of rows of an array, or of a table that is read by block."""
    if isinstance(U, RowTable):
        return np.asarray(np.concatenate(U.add(lambda rows, _: [np.sum(rows * rows, axis=1)])))
    return np.asarray(np.sum(U * U, axis=1))


def diagonal_deficit(U: Any) -> Matrix:
    """What the squared lengths of rows lack to 1; exactly 0 where it is rounding."""
    deficit = 1 - row_energies(U)
    return np.where(deficit > 4 * U.shape[1] * np.finfo(np.float64).eps, deficit, 0.0)


def in_units_of(length: float, X: NDArray[Any]) -> Matrix:
    """Rows divided by a length. Those that are then not from 2^-200 to 2^200 are brought there by powers of two.

    Beside them the others are 0, or they beside the others: direction is all that counts; fourth powers stay in range.

    Examples
    --------
    >>> in_units_of(2.0, np.array([[4.0, np.nan], [2.0**300, -(2.0**299)]])) / [[1.0, 1.0], [2.0**200, 2.0**200]]
    array([[ 2. ,  nan],
           [ 1. , -0.5]])
    """
    X = np.asarray(X, dtype=np.float64)
    top = np.frexp(np.nan_to_num(np.abs(X)).max(axis=1, initial=0.0))[1] - np.frexp(length)[1]
    return np.asarray(np.ldexp(X, (np.clip(top, -LARGEST_POWER, LARGEST_POWER) - top)[:, None]) / length)


def typical_length(P: Matrix) -> float:
    """Median length of a row that is not zero, so that squares of huge or tiny values stay in range; 1 for none."""
    top = float(np.max(np.abs(P)))
    if top == 0:
        return 1.0
    with np.errstate(over="ignore"):
        return middle_length(top, np.sqrt(np.sum((P / top) ** 2, axis=1)))


def middle_length(top: float, length: Matrix) -> float:
    """The same from the largest value, and the lengths of rows in units of it."""
    if top == 0:
        return 1.0
    return max(top * float(np.median(length[length > 0])), float(np.finfo(np.float64).tiny))
