"""How uncertain the similarity of each pair of incomplete rows is, from what is uncertain of either row.

With x_i = m_i + e_i, N_i the expected square of a row's length and u_i = m_i / sqrt(N_i), the error of a similarity s
is to first order e_i . (u_j - s u_i) / sqrt(N_i), the same for j, and e_i . e_j / sqrt(N_i N_j). Errors of values have
a part of their own and one in common along the loadings of a factor model; and the length of a row may be wrong as a
whole, which does not average out over features. How much each of the three counts is learnt from values hidden on
purpose.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._types import Matrix

PARTS = 3  # errors of single values, along common directions, of lengths
PER_PAIR = 12  # numbers that a pair takes while its parts are computed


class UncertainRows(NamedTuple):
    """Expected values and variances of rows, and how much each feature counts for them, 0 or 1; None: all of them."""

    mean: Matrix
    variance: Matrix
    counted: Matrix | None = None

    @classmethod
    def over(cls, mean: Matrix, variance: Matrix, count: Matrix | None) -> UncertainRows:
        """Take rows, each over the features that count for it."""
        return cls(mean, variance, None) if count is None else cls(mean * count, variance * count, count)

    def sums(self, values: Matrix, other: UncertainRows) -> Matrix:
        """Sums of values of these rows over the features that count for both rows of a pair, (rows, others)."""
        if other.counted is None:
            return np.broadcast_to(values.sum(axis=1)[:, None], (len(values), len(other.mean)))
        return np.asarray(values @ other.counted.T)


class PairVariance(NamedTuple):
    """Expected cosines of pairs, and the parts of their variance, of shape (3, rows, others)."""

    similarity: Matrix
    parts: Matrix


def pair_variance(one: UncertainRows, other: UncertainRows, loadings: Matrix) -> PairVariance:
    """Similarities of rows with others, over the features that count for both, and the parts of their variance.

    Parameters
    ----------
    one, other : UncertainRows
        With means and variances 0 where a feature does not count.
    loadings : array of shape (d, directions)
        Along which errors of values go together, in their deviations.

    Examples
    --------
    A complete row, and one of which the second of two values is unknown:

    >>> known = UncertainRows(np.array([[0.6, 0.8]]), np.zeros((1, 2)))
    >>> half = UncertainRows(np.array([[1.0, 0.0]]), np.array([[0.0, 1.0]]))
    >>> found = pair_variance(half, known, np.zeros((2, 1)))
    >>> found.similarity.round(3), found.parts[:, 0, 0].round(3)
    (array([[0.424]]), array([0.32 , 0.   , 0.045]))
    """
    own = one.sums(one.mean**2 + one.variance, other)
    others = other.sums(other.mean**2 + other.variance, one).T
    own, others = (np.where(each > 0, each, 1.0) for each in (own, others))
    root = np.sqrt(own * others)
    s = one.mean @ other.mean.T / root
    parts = _of_side(one, other, loadings, s, own, others)
    parts += _of_side(other, one, loadings, s.T, others.T, own.T).transpose(0, 2, 1)
    parts[0] += one.variance @ other.variance.T / root**2
    return PairVariance(s, parts)


def _of_side(
    one: UncertainRows, other: UncertainRows, loadings: Matrix, s: Matrix, own: Matrix, others: Matrix
) -> Matrix:
    """What the errors of one row of every pair contribute."""
    parts, root = np.zeros((PARTS, *s.shape)), np.sqrt(own * others)
    if not one.variance.any():
        return parts
    v, m = one.variance, one.mean
    single = v @ (other.mean**2).T / (own * others) - 2 * s * (v * m @ other.mean.T) / (own * root)
    parts[0] = np.maximum(single + s**2 * one.sums(v * m * m, other) / own**2, 0.0)
    for direction in loadings.T:
        along = np.sqrt(v) * direction
        parts[1] += (along @ other.mean.T / root - s * one.sums(along * m, other) / own) ** 2
    parts[2] = (s * one.sums(v, other) / own) ** 2
    return parts


@dataclass(frozen=True)
class PairSpread:
    """Standard deviations of the similarities of fitted rows, pair by pair.

    Attributes
    ----------
    vectors, variances : array of shape (n, d)
        Rows and the variances of their values, over the root of a row's expected square, and over that.
    loadings : array of shape (d, directions)
        Along which errors go together.
    weights : array of shape (3,)
        Of the parts of `pair_variance`.
    doubt : array of shape (n,)
        What is added to the variances of every pair of a row.
    """

    vectors: Matrix = field(repr=False)
    variances: Matrix = field(repr=False)
    loadings: Matrix = field(repr=False)
    weights: Matrix
    doubt: Matrix = field(repr=False)

    def between(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Matrix:
        """Of pairs, by positions; columns of shape (rows, columns) are those of each row, and one row is for all."""
        if cols.ndim == 2 and len(cols) > 1:
            return np.concatenate([self.between(rows[i : i + 1], each) for i, each in enumerate(cols)])
        cols = cols.reshape(-1)
        one, other = (UncertainRows(self.vectors[which], self.variances[which]) for which in (rows, cols))
        return self.deviations(one, other, rows, cols)

    def deviations(
        self,
        one: UncertainRows,
        other: UncertainRows,
        rows: NDArray[np.int64],
        cols: NDArray[np.int64],
        doubted: bool = True,
    ) -> Matrix:
        """Of pairs of rows as they are given, with the doubts of the fitted rows at some positions."""
        squared = np.tensordot(self.weights, pair_variance(one, other, self.loadings).parts, 1)
        if doubted:
            squared = squared + self.doubt[rows][:, None] + self.doubt[cols]
        return np.asarray(np.sqrt(squared))
