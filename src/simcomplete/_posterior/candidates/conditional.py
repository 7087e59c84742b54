"""Completions of incomplete rows in one space: a global one, and how far each local prior moves it.

Everything is linear in the strength a of the local prior: m = m_global + a * shift, so several strengths and several
neighbour weights share one factorisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Conditioner, Covariance
from simcomplete._posterior.candidates.moments import Matrix, Statistics, WideStatistics, statistics
from simcomplete._posterior.shared.neighbours import MOST, Nearest, smoothing

MIDDLE = 10  # effective number of neighbours that sets the scale of a row


@dataclass(frozen=True)
class Space:
    """Candidates as rows, raw or with unit length, and what is known of them together."""

    name: str
    rows: Matrix
    statistics: Statistics | WideStatistics
    lowest: Matrix
    highest: Matrix
    typical: float  # median length of a raw row

    @cached_property
    def squares(self) -> Matrix:
        """Squared rows, for the neighbours' variance."""
        return self.rows * self.rows

    @classmethod
    def of(cls, name: str, P: Matrix) -> Space:
        """Take candidates raw or unit."""
        X = P if name == "raw" else unit_rows(P)
        typical = float(np.median(np.sqrt(np.sum(P * P, axis=1))))
        return cls(name, X, statistics(X), X.min(axis=0), X.max(axis=0), typical)

    def without(self, rest: NDArray[np.int64], gone: NDArray[np.int64], *, bounds: bool = False) -> Space:
        """The same space with rows taken out: statistics are downdated, no second pass over the others.

        With `bounds` the range of features is that of the rest, too.
        """
        rows = self.rows[rest]
        known = self.statistics
        left = known.without(self.rows[gone]) if isinstance(known, Statistics) else WideStatistics(rows)
        space = replace(self, rows=rows, statistics=left)
        return replace(space, lowest=rows.min(axis=0), highest=rows.max(axis=0)) if bounds else space

    def over(self, rows: Matrix, squares: Matrix, known: Statistics | WideStatistics) -> Space:
        """The same space with other rows to be neighbours, their squares, and statistics of its own."""
        space = replace(self, rows=rows, statistics=known)
        space.__dict__["squares"] = squares  # at hand already
        return space

    def with_rows(self, P: Matrix) -> Space:
        """The same space with more candidates, given raw."""
        X = P if self.name == "raw" else unit_rows(P)
        rows = np.concatenate([self.rows, X])
        known = self.statistics
        return replace(
            self,
            rows=rows,
            statistics=known.with_rows(X) if isinstance(known, Statistics) else WideStatistics(rows),
            lowest=np.minimum(self.lowest, X.min(axis=0)),
            highest=np.maximum(self.highest, X.max(axis=0)),
        )


@dataclass(frozen=True)
class Queries:
    """Incomplete rows: values with 0 where missing, the mask, and their nearest candidates."""

    values: Matrix
    observed: NDArray[np.bool_]
    near: Nearest

    def some(self, rows: slice, most: int) -> Queries:
        """Some of the rows, with fewer neighbours each."""
        return Queries(self.values[rows], self.observed[rows], self.near.some(rows, most))


def unit_rows(X: Matrix) -> Matrix:
    """Rows divided by their length; zero rows stay."""
    length = np.sqrt(np.sum(X * X, axis=1, keepdims=True))
    return X / np.where(length > 0, length, 1.0)


class Fills:
    """Completions of rows in a space with one shrinkage: m = m_global + a * shift of a local prior.

    Parameters
    ----------
    space : Space
        Candidates.
    queries : Queries
        What to complete; their neighbours are positions in `space.rows`.
    delta : float
        Shrinkage of the covariance.
    """

    def __init__(self, space: Space, queries: Queries, delta: float) -> None:
        self.space = space
        self.observed = queries.observed
        self.values = queries.values if space.name == "raw" else rescaled(space, queries)
        self._shrunk = space.statistics.covariance.shrunk(delta)
        self._conditioner = Conditioner(self._shrunk, self.observed)
        self._sides: dict[str, Matrix] = {}
        self._alphas: dict[str, Matrix] = {}
        self.means: dict[str, Matrix] = {}
        self.shifts: dict[str, Matrix] = {}
        mu = space.statistics.mean
        self._global = np.where(self.observed, self.values - mu, 0.0)
        (self._alpha,) = self._conditioner.weigh(self._global[None])
        self.filled = mu + self._shrunk.times(self._alpha)

    def add(self, priors: Mapping[str, scipy.sparse.csr_array]) -> None:
        """Compute the shifts of local priors, given as weights over the candidates."""
        mu = self.space.statistics.mean
        for name, W in priors.items():
            self.means[name] = W @ self.space.rows
            offset = self.means[name] - np.asarray(W.sum(axis=1))[:, None] * mu
            self._sides[name] = offset
        names = list(priors)
        sides = np.stack([np.where(self.observed, self._sides[name], 0.0) for name in names])
        for name, alpha in zip(names, self._conditioner.weigh(sides), strict=True):
            self._alphas[name] = alpha
            self.shifts[name] = self._sides[name] - self._shrunk.times(alpha)

    def completion(self, name: str, a: float, clip: bool = False) -> Matrix:
        """m = m_global + a * shift; observed values stay, others are clipped to the candidates' range on request."""
        m = self.filled + a * self.shifts[name] if a else self.filled
        if clip:
            m = np.clip(m, self.space.lowest, self.space.highest)
        return np.where(self.observed, self.values, m)

    def features(self, name: str, W: scipy.sparse.csr_array) -> Matrix:
        """Features that tell how uncertain rows are, by a local prior whose weights sum to 1."""
        gap = np.where(self.observed, self._global - self._sides[name], 0.0)
        return uncertainty(
            self.values,
            self.observed,
            self.means[name],
            W @ self.space.squares,
            np.sum(gap * (self._alpha - self._alphas[name]), axis=1),
            self.space.statistics.covariance,
        )


def rescaled(space: Space, queries: Queries) -> Matrix:
    """Queries brought to the scale of unit rows: by the energy their neighbours have on the same features."""
    near = queries.some(slice(None), MOST).near
    expected = np.sqrt(np.maximum(np.sum(smoothing(near.cosines, MIDDLE) * near.energies, axis=1), 0.0))
    own = np.sqrt(np.sum(queries.values**2, axis=1))
    # Neighbours with nothing on these features tell no scale: then that of a typical candidate.
    c = np.where(expected > 0, own / np.where(expected > 0, expected, 1.0), space.typical)
    return queries.values / np.where(c > 0, c, 1.0)[:, None]


def uncertainty(
    q: Matrix, o: NDArray[np.bool_], mean: Matrix, second: Matrix, distance: Matrix, C: Covariance
) -> Matrix:
    """Four cheap logarithms that tell how much of a row stays unknown, (rows, 4).

    Neighbours' variance on what is missing; distance to their mean on what is observed, plain and by the model;
    variance of all candidates on what is missing.
    """
    variances = C.variances
    d = len(variances)
    trace = max(float(variances.sum()), 1e-300)
    count = np.maximum(o.sum(axis=1), 1)
    f1 = np.sum(np.where(o, 0.0, second - mean * mean), axis=1)
    f2 = np.sum(np.where(o, (q - mean) ** 2, 0.0), axis=1) / count
    f3 = distance / count
    f4 = np.sum(np.where(o, 0.0, variances), axis=1)
    return np.column_stack(
        [
            np.log(np.maximum(f1, 1e-12 * trace)),
            np.log(np.maximum(f2, 1e-9 * trace / d)),
            np.log(np.maximum(f3, 0.0) + 1e-3),
            np.log(np.maximum(f4, 1e-12 * trace)),
        ]
    )
