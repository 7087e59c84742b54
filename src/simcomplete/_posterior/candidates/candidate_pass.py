"""What one pass over candidates gathers, block by block, in the library and on the device of the block."""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.moments import Statistics
from simcomplete._posterior.shared.holdout import COPY
from simcomplete._posterior.shared.neighbours import Nearest, Probes
from simcomplete._posterior.shared.rows import Matrix, scaled_rows
from simcomplete._rows.xp import Array, astype, like, namespace, to_numpy


class Sums(NamedTuple):
    """Of some rows in one space: the smallest and largest value of every feature and, if wanted, statistics.

    `excluded` are the statistics of the excluded rows among them, None where there are none.
    """

    lowest: Array
    highest: Array
    statistics: Statistics | None
    excluded: Statistics | None

    @classmethod
    def of(cls, X: Array, centre: Array | None, excluded: NDArray[np.int64]) -> Sums:
        """Of a block; statistics about a centre, none where there is no centre."""
        xp = namespace(X)
        whole = part = None
        if centre is not None:
            whole = Statistics.of(X, centre)
            part = Statistics.of(xp.take(X, like(excluded, X), axis=0), centre) if len(excluded) else None
        return cls(xp.min(X, axis=0), xp.max(X, axis=0), whole, part)

    def plus(self, other: Sums) -> Sums:
        """Of these and other rows."""
        xp = namespace(self.lowest)
        return Sums(
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

    sums: dict[str, Sums]
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
            {name: Sums.of(forms[name], centre, where) for name, centre in self.centres.items()},
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
