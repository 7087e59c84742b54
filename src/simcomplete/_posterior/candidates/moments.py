"""One pass over candidates: what it gathers, and the Gaussian model that its sums make.

Statistics can be up- and downdated. Up to `WIDE` features the covariance is a matrix; beyond, a low-rank part plus a
diagonal: nothing d x d is held. Blocks are worked on in their own library and on their own device.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.covariance import Covariance, Dense, LowRank, Solve
from simcomplete._posterior.shared.neighbours import Nearest, Probes
from simcomplete._posterior.shared.rows import COPY, scaled_rows
from simcomplete._rows.partial_eigen import eigenpairs_of
from simcomplete._rows.xp import Array, astype, like, namespace, on_accelerator, symmetric_product, to_numpy
from simcomplete._types import Matrix

WIDE = 2000  # features
RANK = 96
SHRINKAGE = 0.1  # of the covariance in second moments
# What is left of sums that cancelled is rounding: no mean, and no variance. It would make a covariance that is none.
SUM_ROUNDING = 1e-14  # of a sum of squares, relative
VALUE_ROUNDING = 16 * float(np.finfo(np.float64).eps)  # of a value, relative


@dataclass(frozen=True)
class Statistics:
    """Number of rows, their sum and the sum of their outer products about a centre: all that a Gaussian needs.

    Exact to update. The centre lies among the rows, so that a strong common direction does not drown what differs.
    """

    n: float
    centre: Array
    total: Array
    outer: Array
    squares: Array  # of all values that went in or out again: rounding is a part of them
    place: Array | None = field(default=None, repr=False, compare=False)  # an array on the accelerator they came from

    @classmethod
    def of(cls, X: Array, centre: Array) -> Statistics:
        """Statistics of rows, in one pass, in their library."""
        Y = X - centre
        xp, outer = namespace(Y), symmetric_product(Y)
        return cls(float(X.shape[0]), centre, xp.sum(Y, axis=0), outer, xp.linalg.diagonal(outer))

    def plus(self, other: Statistics) -> Statistics:
        """Statistics with more rows, about the same centre."""
        total, outer, squares = self.total + other.total, self.outer + other.outer, self.squares + other.squares
        return Statistics(self.n + other.n, self.centre, total, outer, squares)

    def minus(self, other: Statistics) -> Statistics:
        """Statistics with some rows taken out again."""
        total, outer, squares = self.total - other.total, self.outer - other.outer, self.squares + other.squares
        return Statistics(self.n - other.n, self.centre, total, outer, squares)

    def in_numpy(self) -> Statistics:
        """The same in NumPy; those of an accelerator know it, because systems are factorised there."""
        there = self.centre if on_accelerator(self.centre) else None
        centre, total, outer, squares = (to_numpy(x) for x in (self.centre, self.total, self.outer, self.squares))
        return Statistics(self.n, centre, total, outer, squares, there)

    @cached_property
    def mean(self) -> Matrix:
        """Mean row."""
        mean = np.asarray(self.centre + self.total / self.n)
        rounding = SUM_ROUNDING * (np.abs(self.centre) + np.sqrt(self.squares / self.n))
        return np.where(np.abs(mean) > rounding, mean, 0.0)

    @cached_property
    def covariance(self) -> Covariance:
        """Covariance, with divisor n."""
        off = self.total / self.n
        C = self.outer / self.n - np.outer(off, off)
        C = (C + C.T) / 2
        constant = np.diag(C) <= SUM_ROUNDING * self.squares / self.n + (VALUE_ROUNDING * self.mean) ** 2
        C[constant] = 0.0
        C[:, constant] = 0.0
        if self.place is None:
            return Dense(C)
        from simcomplete._posterior.candidates.batched import BatchedDense  # needed here only

        return BatchedDense(C, place=self.place)


@dataclass(frozen=True)
class WideStatistics:
    """The same for many features: some rows themselves are kept, and the covariance is low-rank plus diagonal."""

    rows: Matrix

    @cached_property
    def mean(self) -> Matrix:
        """Mean row."""
        return np.asarray(self.rows.mean(axis=0))

    @cached_property
    def covariance(self) -> Covariance:
        """Leading directions of the centred rows, and what variance they leave to each feature."""
        X = (self.rows - self.mean) / np.sqrt(len(self.rows))
        X[:, np.sum(X * X, axis=0) <= (VALUE_ROUNDING * self.mean) ** 2] = 0.0
        rank = min(RANK, len(X))
        # Fewer rows than features: eigenvectors of the small Gram matrix give those of the large one.
        t2, E = eigenpairs_of(X @ X.T, (len(X) - rank, len(X) - 1))
        kept = t2 > 1e-12 * max(float(t2[-1]), 1e-300)
        W = X.T @ E[:, kept]
        return LowRank(W, np.maximum(np.sum(X * X, axis=0) - np.sum(W * W, axis=1), 0.0))


@dataclass(frozen=True)
class Space:
    """What is known of all candidates together, as they are ("raw") or with unit length ("unit")."""

    name: str
    statistics: Statistics | WideStatistics
    lowest: Matrix
    highest: Matrix

    @cached_property
    def second_moments(self) -> Solve:
        """B -> G^-1 B, G the mean of p p^T over the candidates p, shrunk a little."""
        return self.statistics.covariance.second_moments(self.statistics.mean, SHRINKAGE)

    def __reduce__(self) -> tuple[type[Space], tuple[object, ...]]:
        return Space, (self.name, self.statistics, self.lowest, self.highest)  # what is remembered is made again


def is_wide(d: int) -> bool:
    """Whether rows have too many features for a covariance matrix."""
    return d > WIDE


class CandidateSums(NamedTuple):
    """Of some rows in one space: the smallest and largest value of every feature and, if wanted, statistics.

    `excluded` are the statistics of the excluded rows among them, None where there are none.
    """

    lowest: Array
    highest: Array
    statistics: Statistics | None
    excluded: Statistics | None

    @classmethod
    def of(cls, X: Array, centre: Array | None, excluded: NDArray[np.int64]) -> CandidateSums:
        """Of a block; statistics about a centre, none where there is no centre."""
        xp = namespace(X)
        whole = part = None
        if centre is not None:
            whole = Statistics.of(X, centre)
            part = Statistics.of(xp.take(X, like(excluded, X), axis=0), centre) if len(excluded) else None
        return cls(xp.min(X, axis=0), xp.max(X, axis=0), whole, part)

    def plus(self, other: CandidateSums) -> CandidateSums:
        """Of these and other rows."""
        xp = namespace(self.lowest)
        return CandidateSums(
            xp.minimum(self.lowest, other.lowest),
            xp.maximum(self.highest, other.highest),
            _sum(self.statistics, other.statistics),
            _sum(self.excluded, other.excluded),
        )

    @property
    def ranges(self) -> tuple[Matrix, Matrix]:
        """Smallest and largest values, in NumPy."""
        return to_numpy(self.lowest), to_numpy(self.highest)


def _sum(a: Statistics | None, b: Statistics | None) -> Statistics | None:
    if a is None or b is None:
        return b if a is None else a
    return a.plus(b)


class PassResult(NamedTuple):
    """Sums over the rows so far by space, the nearest of them to every probe, and where excluded and zero rows are."""

    sums: dict[str, CandidateSums]
    near: Nearest
    excluded: NDArray[np.int64]
    zero: NDArray[np.int64]


@dataclass(frozen=True)
class CandidatePass:
    """What the pass does with a block of candidates.

    Attributes
    ----------
    probes : Probes
        Rows whose nearest candidates are wanted; those from `since` on are simulated queries.
    most : int
        How many neighbours to keep.
    scale : float
        Candidates are divided by it.
    centres : dict of str to array or None
        Spaces whose sums are wanted, and what their statistics are taken about; None for no statistics.
    excluded : array of int
        Positions of candidates, rising, that are no neighbours of simulated queries.
    copies_of : array of shape (held out, d) or None
        Unit rows: candidates with nearly the same direction are excluded, too.
    """

    probes: Probes
    most: int
    scale: float
    since: int
    centres: dict[str, Array | None]
    excluded: NDArray[np.int64]
    copies_of: Array | None

    def __call__(self, X: Array, start: int) -> PassResult:
        """Gather from one block."""
        xp = namespace(X)
        raw, unit = scaled_rows(astype(X, xp.float64), self.scale)
        squares = unit * unit
        gone = self._excluded(unit, start)
        where = np.flatnonzero(gone)
        near = self.probes.nearest(unit, squares, self.most, gone if len(where) else None, self.since)
        forms = {"raw": raw, "unit": unit}
        return PassResult(
            {name: CandidateSums.of(forms[name], centre, where) for name, centre in self.centres.items()},
            near._replace(ids=near.ids + start),
            where + start,
            np.flatnonzero(to_numpy(xp.sum(squares, axis=1)) == 0) + start,
        )

    def _excluded(self, unit: Array, start: int) -> NDArray[np.bool_]:
        gone = np.zeros(int(unit.shape[0]), dtype=bool)
        first, last = np.searchsorted(self.excluded, [start, start + len(gone)])
        gone[self.excluded[first:last] - start] = True
        if self.copies_of is not None:
            gone |= to_numpy(namespace(unit).any(self.copies_of @ unit.T > COPY, axis=0))
        return gone

    def merge(self, a: PassResult, b: PassResult) -> PassResult:
        """Put two results together; `a` has the lower rows."""
        return PassResult(
            {name: mine.plus(b.sums[name]) for name, mine in a.sums.items()},
            a.near.merged(b.near, self.most),
            np.concatenate([a.excluded, b.excluded]),
            np.concatenate([a.zero, b.zero]),
        )
