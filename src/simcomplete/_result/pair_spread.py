"""The uncertainty of the similarity of two incomplete rows, from the uncertainties of both rows.

With x_i = m_i + e_i, N_i the expected square of a row's length and u_i = m_i / sqrt(N_i), the error of a similarity s
is to first order the sum of e_i . (u_j - s u_i) / sqrt(N_i), the same for j, and e_i . e_j / sqrt(N_i N_j). Its
variance has three parts: independent errors of single values, errors along the loadings of a factor model, and errors
of the length of a row, which do not average out over features. The weights of the three are learnt from hidden values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._types import Matrix

PARTS = 3  # variances by errors of single values, along the loadings, and of lengths
PER_PAIR = 12  # numbers held per pair while its parts are computed


class UncertainRows(NamedTuple):
    """Expected values and variances of rows, and which features count for them (0 or 1); None means all."""

    mean: Matrix
    variance: Matrix
    counted: Matrix | None = None

    @classmethod
    def over(cls, mean: Matrix, variance: Matrix, count: Matrix | None) -> UncertainRows:
        """Restrict rows to the features that count for each of them."""
        return cls(mean, variance, None) if count is None else cls(mean * count, variance * count, count)

    def sums(self, values: Matrix, other: UncertainRows) -> Matrix:
        """Return sums of values of these rows over the features that count for both rows of a pair, (rows, others)."""
        if other.counted is None:
            return np.broadcast_to(values.sum(axis=1)[:, None], (len(values), len(other.mean)))
        return np.asarray(values @ other.counted.T)


class PairVariance(NamedTuple):
    """Expected cosines of pairs, and the parts of their variance, of shape (3, rows, others)."""

    similarity: Matrix
    parts: Matrix


def pair_variance(one: UncertainRows, other: UncertainRows, loadings: Matrix) -> PairVariance:
    """Return similarities of rows over the features that count for both, and the parts of their variance.

    Parameters
    ----------
    one, other : UncertainRows
        With means and variances 0 where a feature does not count.
    loadings : array of shape (d, directions)
        Directions of correlated errors, scaled to their standard deviations.

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
    """Return the contribution of the errors of one row of every pair."""
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
        Rows divided by the root of their expected squared length, and the variances of their values divided by it.
    loadings : array of shape (d, directions)
        Directions of correlated errors.
    weights : array of shape (3,)
        Weights of the parts of `pair_variance`.
    doubt : array of shape (n,)
        Variance that is added to every pair of a row.
    """

    vectors: Matrix = field(repr=False)
    variances: Matrix = field(repr=False)
    loadings: Matrix = field(repr=False)
    weights: Matrix
    doubt: Matrix = field(repr=False)

    def between(self, rows: NDArray[np.int64], cols: NDArray[np.int64]) -> Matrix:
        """Return deviations of pairs, by position; columns of shape (rows, columns) are the columns of each row."""
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
        """Return deviations of pairs of given rows, with the `doubt` of the fitted rows at some positions."""
        squared = np.tensordot(self.weights, pair_variance(one, other, self.loadings).parts, 1)
        if doubted:
            squared = squared + self.doubt[rows][:, None] + self.doubt[cols]
        return np.asarray(np.sqrt(squared))
