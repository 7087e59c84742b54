"""Conditional means of incomplete rows in one space: a global one, and how far each local prior moves it.

Everything is linear in the strength a of the local prior: m = m_global + a * shift, so several strengths and several
neighbour weights share one factorisation.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Conditioner, Covariance, conditional_variances
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.candidates.source import Candidates, NeighbourRows, no_positions
from simcomplete._posterior.shared.lengths import LEAST_GAP, DeferredErrors, rank_table
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, sparse_weights
from simcomplete._posterior.shared.rows import USUAL_SQUARES, nonzero_or_one, unit_rows
from simcomplete._result.intervals import RankedErrors
from simcomplete._types import Mask, Matrix

NeighbourWeights = Any  # (rows, neighbours), sparse, or an array for one row
NOTHING = 1e-14  # values that are smaller, in units of the candidates' length, come from rounding
LARGEST_NOISE = 1e100  # in the scale of a row, which may be far below the others': its square stays in range
MIDDLE = 10.0  # effective number of neighbours that sets the scale of a row
RIDGE_NEIGHBOURS = 100  # of the kernel ridge
RIDGE = 0.3


@dataclass(frozen=True)
class Queries:
    """Incomplete rows, in units of the candidates' typical length, and their nearest candidates.

    Attributes
    ----------
    values, observed : array of shape (rows, d)
        Values with 0 where missing, and the mask.
    neighbours : NeighbourRows
        Their nearest candidates.
    source : Candidates
        All candidates, to search among.
    excluded : array of int
        Positions of candidates that must not be found.
    """

    values: Matrix
    observed: Mask
    neighbours: NeighbourRows
    source: Candidates = field(repr=False)
    excluded: NDArray[np.int64] = field(default_factory=no_positions, repr=False)

    def some(self, rows: slice, most: int) -> Queries:
        """Some of the rows, with fewer neighbours each."""
        neighbours = self.neighbours.some(rows, most)
        return replace(self, values=self.values[rows], observed=self.observed[rows], neighbours=neighbours)


@dataclass(frozen=True)
class CandidateHoldout:
    """Simulated queries among the other candidates, and their true similarities.

    Attributes
    ----------
    spaces : dict of str to Space
        The candidates without the held-out ones and their copies.
    queries : Queries
        What is seen of the held-out candidates.
    others, truth : array
        Unit rows of other candidates, and the true similarities with them.
    unit : array of shape (rows, d)
        The held-out candidates themselves, made unit.
    repeated : array of bool, shape (rows, m)
        Which of the others are among a row's neighbours.
    """

    spaces: dict[str, Space]
    queries: Queries
    others: Matrix
    truth: Matrix
    unit: Matrix
    repeated: Mask

    def ranked(self, u: Matrix, *, deferred: bool) -> RankedErrors:
        """The errors that vectors of the simulated queries make, by rank, now or when asked for; see `rank_table`."""
        spread = np.sqrt(np.maximum(1 - np.sum(u * u, axis=1), LEAST_GAP))
        make, residuals = partial(self._rank_table, u, spread), (self.unit - u) / spread[:, None]
        return DeferredErrors(make, residuals, u) if deferred else RankedErrors(*make(), residuals, u)

    def _rank_table(self, u: Matrix, spread: Matrix) -> tuple[Matrix, Matrix]:
        """A row's neighbours are all there; of the remaining candidates some stand for all."""
        near, rows = self.queries.neighbours, self.queries.neighbours.rows["unit"]
        found: Matrix = np.empty((2, *near.near.ids.shape))
        for row, ids in enumerate(near.near.ids):
            found[:, row] = np.stack([u[row], self.unit[row]]) @ rows[ids].T
        S, T = found
        n = self.queries.source.n - len(self.queries.excluded)
        rest = np.sum(~self.repeated, axis=1, keepdims=True)
        weights = np.where(self.repeated, 0.0, np.maximum(n - S.shape[1], rest) / np.maximum(rest, 1))
        return rank_table(
            np.hstack([S, u @ self.others.T]),
            np.hstack([T, self.truth]),
            spread,
            np.hstack([np.ones_like(S), weights]),
        )


class CompletedQueries(NamedTuple):
    """Unit directions of completed rows, their lengths, and what they were made of."""

    direction: Matrix
    length: Matrix
    means: ConditionalMeans

    @property
    def u(self) -> Matrix:
        """Vectors: directions times lengths."""
        return np.asarray(self.direction * self.length[:, None])


class ConditionalMeans:
    """Completions of rows in a space with one shrinkage: m = m_global + a * shift of a local prior.

    Parameters
    ----------
    space : Space
        What is known of all candidates.
    queries : Queries
        What to complete.
    delta : float
        Shrinkage of the covariance.
    """

    def __init__(self, space: Space, queries: Queries, delta: float) -> None:
        self.space = space
        self.observed = queries.observed
        raw = space.name == "raw"
        self.sizes = np.ones(len(queries.values)) if raw else unit_sizes(queries)
        self.values = queries.values if raw else queries.values / self.sizes[:, None]
        self._shrunk = space.statistics.covariance.shrunk(delta)
        self._conditioner = Conditioner(self._shrunk, self.observed)
        self._offsets: dict[str, Matrix] = {}
        self._alphas: dict[str, Matrix] = {}
        self.means: dict[str, Matrix] = {}
        self.shifts: dict[str, Matrix] = {}
        mu = space.statistics.mean
        self._global = np.where(self.observed, self.values - mu, 0.0)
        (self._alpha,) = self._conditioner.weigh(self._global[None])
        self.filled = mu + self._conditioner.times(self._alpha)

    def add(self, neighbours: NeighbourRows, weights: Mapping[str, NeighbourWeights]) -> None:
        """Compute the shifts of local priors, given as weights over neighbours."""
        mu, rows = self.space.statistics.mean, neighbours.rows[self.space.name]
        for name, W in weights.items():
            self.means[name] = W @ rows
            self._offsets[name] = self.means[name] - np.asarray(W.sum(axis=1))[:, None] * mu
        sides = np.stack([np.where(self.observed, self._offsets[name], 0.0) for name in weights])
        for name, alpha in zip(weights, self._conditioner.weigh(sides), strict=True):
            self._alphas[name] = alpha
            self.shifts[name] = self._offsets[name] - self._conditioner.times(alpha)

    def outlying(self, noise: Matrix | None = None) -> Matrix:
        """Squared distances by the covariance to the mean of all candidates, per value that is observed.

        Parameters
        ----------
        noise : array of shape (kinds, m, d), optional
            What is added to the values of the first m rows; then the answer is (kinds, m).
        """
        count = np.maximum(self.observed.sum(axis=1), 1)
        plain = np.sum(self._global * self._alpha, axis=1) / count
        if noise is None:
            return np.asarray(plain)
        m = noise.shape[1]
        noise = np.clip(noise / self.sizes[:m, None], -LARGEST_NOISE, LARGEST_NOISE)
        more = 2 * np.einsum("kmd,md->km", noise, self._alpha[:m])  # which is 0 where nothing is observed
        for row, o, solve in self._conditioner.by_row(m):
            added = noise[:, row].take(o, axis=1)
            more[:, row] += np.vecdot(added, solve(added.T).T)
        return np.asarray(plain[:m] + more / count[:m])

    def completion(self, name: str, a: float, clip: bool = False) -> Matrix:
        """m = m_global + a * shift; observed values stay, others are clipped to the candidates' range on request."""
        m = self.filled + a * self.shifts[name] if a else self.filled
        if clip:
            m = np.clip(m, self.space.lowest, self.space.highest)
        return np.where(self.observed, self.values, np.where(np.abs(m) > NOTHING, m, 0.0))

    def variances(self, total: Matrix) -> Matrix:
        """Conditional variances of what is missing, brought to a given sum for every row where that is above 0."""
        own = conditional_variances(self._shrunk, self.observed)
        whole = own.sum(axis=1)
        return own * np.where((whole > 0) & (total > 0), total / nonzero_or_one(whole), 1.0)[:, None]

    def features(self, neighbours: NeighbourRows, name: str, W: NeighbourWeights) -> Matrix:
        """Features that tell how uncertain rows are, by a local prior whose weights sum to 1."""
        gap = np.where(self.observed, self._global - self._offsets[name], 0.0)
        return uncertainty(
            self.values,
            self.observed,
            self.means[name],
            W @ neighbours.squares(self.space.name),
            np.sum(gap * (self._alpha - self._alphas[name]), axis=1),
            self.space.statistics.covariance,
        )


def unit_sizes(queries: Queries) -> Matrix:
    """What brings queries to the scale of unit rows: by the energy their neighbours have on the same features."""
    nearest = queries.neighbours
    if nearest.near.ids.shape[1] > MAX_NEIGHBOURS:
        nearest = nearest.some(slice(None), MAX_NEIGHBOURS)
    expected = np.sqrt(np.maximum(np.sum(nearest.smoothed(MIDDLE) * nearest.near.energies, axis=1), 0.0))
    own = np.sqrt(np.sum(queries.values**2, axis=1))
    # Neighbours with nothing on these features tell no scale: then that of a typical candidate, which is 1.
    c = np.where(expected > 0, own / np.where(expected > 0, expected, 1.0), 1.0)
    return np.where(c > 0, c, 1.0)


def uncertainty(q: Matrix, o: Mask, mean: Matrix, second: Matrix, distance: Matrix, C: Covariance) -> Matrix:
    """Four cheap logarithms that tell how much of a row stays unknown, (rows, 4).

    Neighbours' variance on what is missing; distance to their mean on what is observed, plain and by the model;
    variance of all candidates on what is missing.
    """
    variances = C.variances
    d = len(variances)
    trace = max(float(variances.sum()), 1e-300)
    count = np.maximum(o.sum(axis=1), 1)
    f1 = np.sum(np.where(o, 0.0, second - mean * mean), axis=1)  # a difference: below NOTHING it is rounding
    f2 = np.sum(np.where(o, (q - mean) ** 2, 0.0), axis=1) / count
    f3 = distance / count
    f4 = np.sum(np.where(o, 0.0, variances), axis=1)
    return np.column_stack(
        [
            np.log(np.maximum(f1, 1e-12 * trace + NOTHING)),
            np.log(np.maximum(f2, 1e-9 * trace / d + NOTHING**2)),
            np.log(np.maximum(f3, 0.0) + 1e-3),
            np.log(np.maximum(f4, 1e-12 * trace)),
        ]
    )


def smoothing_weights(neighbours: NeighbourRows, k: float) -> NeighbourWeights:
    """Smoothing weights with k effective neighbours; an array for one row, which all of them are neighbours of."""
    if len(neighbours.near.ids) == 1:
        W = np.zeros((1, neighbours.n))
        W[0, neighbours.near.ids[0]] = neighbours.smoothed(k)[0]
        return W
    return sparse_weights(neighbours.near.ids, neighbours.smoothed(k), neighbours.n)


def ridge_weights(neighbours: NeighbourRows, observed: Mask) -> NeighbourWeights:
    """Kernel-ridge weights over the nearest, compared on the row's own features.

    w = (exp(-D/s) + 0.3 I)^-1 exp(-d/s) with D = 2 - 2 cos among neighbours, d = 2 - 2 cos to the row and s its median.
    They need not sum to 1 and may be negative: kernel ridge regression of what the global model leaves.
    """
    unit, near = neighbours.rows["unit"], neighbours.near
    weights = np.empty(near.ids.shape)
    # Complete rows share the products of their neighbours, where these are fewer than the pairs of all of them.
    fewer = observed.all() and neighbours.n**2 <= near.ids.size * near.ids.shape[1]
    shared = unit @ unit.T if fewer else np.zeros((1, 1))
    usual = shared.diagonal().min() > USUAL_SQUARES[0]
    for row, (ids, cosines) in enumerate(zip(near.ids, near.cosines, strict=True)):
        o = observed[row]
        X = unit if usual else unit[ids] if o.all() else unit[np.ix_(ids, np.flatnonzero(o))]
        weights[row] = _solve(X, cosines, shared[np.ix_(ids, ids)] if usual else X @ X.T)
    return sparse_weights(near.ids, weights, neighbours.n)


def _solve(X: Matrix, cosines: Matrix, K: Matrix) -> Matrix:
    """Weights of neighbours X of a row, whose cosines with it and products K (overwritten) are known.

    Examples
    --------
    >>> bool(_solve(np.eye(1), np.ones(1), np.eye(1))[0] == 1 / 1.3)  # exp(0) / (exp(0) + 0.3)
    True
    """
    squares = K.diagonal()
    if squares.min() > USUAL_SQUARES[0]:
        length = np.sqrt(squares)
        K /= length
        K /= length[:, None]
    else:  # too short for squares
        X = unit_rows(X)
        K = X @ X.T
    d = 2.0 - 2.0 * cosines
    s = max(float(np.median(d)), 1e-3)
    np.clip(K, -1.0, 1.0, out=K)
    K -= 1.0
    K *= 2.0 / s
    np.exp(K, out=K)
    np.fill_diagonal(K, 1.0 + RIDGE)
    _, weights, failed = scipy.linalg.lapack.dposv(K, np.exp(-d / s))
    return np.asarray(np.linalg.solve(K, np.exp(-d / s)) if failed else weights)
