"""Candidates where they lie: what is asked of them goes to rows that are kept in memory, or becomes a pass over them.

Few candidates are kept as unit rows, whatever they came as (an array, a file, a dask array): that makes searches fast
and changes nothing else. The same questions get the same answers either way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property, reduce
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.moments import CandidatePass, PassResult
from simcomplete._posterior.shared.neighbours import Nearest, Probes
from simcomplete._posterior.shared.rows import diagonal_deficit, scaled_rows, take_matrix
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.derived import EditedRows, UnitRows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, to_numpy
from simcomplete._types import Mask, Matrix

APART = 10  # distances that tell a copy: to the best and nine others
SOURCES = 8  # likeliest candidates that enter a vector


def no_positions() -> NDArray[np.int64]:
    """No positions at all."""
    return np.zeros(0, dtype=np.int64)


@dataclass(frozen=True)
class NeighbourRows:
    """The candidates that are near to any of some queries, in the spaces asked for, and who is near whom.

    Attributes
    ----------
    rows : dict of str to array of shape (m, d)
        The neighbours in each space.
    near : Nearest
        The neighbours of every query; positions count the rows above.
    """

    rows: dict[str, Matrix]
    near: Nearest

    def some(self, queries: slice, most: int | None = None) -> NeighbourRows:
        """Those of some queries, or fewer of each."""
        return replace(self, near=self.near.some(queries, most))

    @property
    def n(self) -> int:
        """How many neighbours there are in all."""
        return len(next(iter(self.rows.values())))

    @cached_property
    def squares(self) -> dict[str, Matrix]:
        """Squared rows in each space, for the neighbours' variance."""
        return {name: rows * rows for name, rows in self.rows.items()}


class Played(NamedTuple):
    """Candidates to learn from how copies look: positions, what is seen of each, deviations of the features."""

    positions: NDArray[np.int64]
    observed: Mask
    deviations: Matrix


class Agreement(NamedTuple):
    """How far rows are from their nearest candidates on what is observed of them.

    Attributes
    ----------
    distances : array of shape (rows, k)
        Mean squared differences in units of each feature's variance, rising; inf where a row has fewer neighbours.
    apart : array of shape (rows, 10)
        The first of them, then those of candidates that are not the same as the first.
    first, rival : array of shape (rows, d)
        The nearest candidate, and the next that is not the same.
    sources : array of shape (rows, 8, d)
        The nearest, twins included.
    """

    distances: Matrix
    apart: Matrix
    first: Matrix
    rival: Matrix
    sources: Matrix

    @classmethod
    def of(
        cls,
        values: Matrix,
        observed: Mask,
        neighbours: list[Matrix],
        deviations: Matrix,
        distances: Matrix | None = None,
    ) -> Agreement:
        """Compare rows with their own neighbours, given as rows in the same units; equal distances stay in order.

        Where the distances are known, of as many neighbours each, they are taken.
        """
        rows, d = values.shape
        most = max(len(each) for each in neighbours)
        found = cls(
            np.full((rows, most), np.inf),
            np.empty((rows, APART)),
            np.empty((rows, d)),
            np.empty((rows, d)),
            np.zeros((rows, SOURCES, d)),
        )
        for row, near in enumerate(neighbours):
            given = None if distances is None else distances[row]
            e = mean_squared_gaps(values[row], observed[row], near, deviations) if given is None else given
            order = np.argsort(e, kind="stable")
            e = e[order]
            alike = int(np.searchsorted(e, e[0], side="right"))  # twins are equally far
            twin = np.zeros(len(e), dtype=bool)
            twin[:alike] = (near[order[:alike]] == near[order[0]]).all(axis=1)
            others = np.flatnonzero(~twin)
            others = others if len(others) else np.array([len(near) - 1])
            found.distances[row, : len(e)] = e
            found.apart[row] = e[np.concatenate([[0], others[np.minimum(np.arange(APART - 1), len(others) - 1)]])]
            found.first[row], found.rival[row] = near[order[0]], near[order[others[0]]]
            found.sources[row, : min(SOURCES, len(near))] = near[order[:SOURCES]]
        return found


def mean_squared_gaps(q: Matrix, observed: Mask, rows: Matrix, deviations: Matrix) -> Matrix:
    """Mean squared differences of one row and others, over what is observed of it, in the features' deviations."""
    seen = np.flatnonzero(observed)
    gap = (rows[:, seen] - q[seen]) / deviations[seen]
    return np.asarray(np.sum(gap * gap, axis=1) / max(len(seen), 1))


@dataclass(frozen=True)
class KeptRows:
    """Unit rows of all candidates and their squares, in memory."""

    unit: Matrix
    squares: Matrix

    @classmethod
    def of(cls, unit: Matrix) -> KeptRows:
        """Take unit rows."""
        return cls(unit, unit * unit)


@dataclass(frozen=True)
class Candidates:
    """Complete rows, in units of their typical length.

    Attributes
    ----------
    table : RowTable
        The rows as they came; of rows that are kept, in NumPy.
    scale : float
        What rows are divided by.
    kept : KeptRows or None
        Unit rows, where there are few enough to keep.
    zero : array of int
        Positions of candidates that are zero, where a pass has told.
    progress : bool or None
        Whether passes show how far they are.
    """

    table: RowTable
    scale: float
    kept: KeptRows | None = None
    zero: NDArray[np.int64] = field(default_factory=no_positions, repr=False)
    progress: bool | None = None

    @property
    def n(self) -> int:
        """How many candidates."""
        return self.table.n

    @property
    def unit(self) -> Matrix | UnitRows:
        """Unit rows of all candidates; where they are not kept, made when they are asked for."""
        return UnitRows(self.table) if self.kept is None else self.kept.unit

    @property
    def diagonal_deficit(self) -> Matrix:
        """What the squared lengths of unit rows lack to 1: nothing, and everything for zero rows."""
        if self.kept is not None:
            return diagonal_deficit(self.kept.unit)
        deficit = np.zeros(self.n)
        deficit[self.zero] = 1.0
        return deficit

    def rows(self, positions: NDArray[np.int64], spaces: tuple[str, ...]) -> dict[str, Matrix]:
        """Some candidates, in the spaces asked for."""
        if self.kept is not None and spaces == ("unit",):
            return {"unit": self.kept.unit[positions]}
        raw, unit = scaled_rows(take_matrix(self.table, positions), self.scale)
        return {name: {"raw": raw, "unit": unit}[name] for name in spaces}

    def neighbour_rows(self, near: Nearest, spaces: tuple[str, ...]) -> NeighbourRows:
        """Bring the neighbours of some queries here."""
        ids, place = np.unique(near.ids, return_inverse=True)
        return NeighbourRows(self.rows(ids, spaces), near._replace(ids=place.reshape(near.ids.shape)))

    def nearest(self, values: Matrix, observed: Mask, most: int, excluded: NDArray[np.int64]) -> Nearest:
        """The nearest candidates of incomplete rows by overlap cosine, all but the excluded ones.

        At most all but one of them: a candidate is never compared with itself alone.
        """
        most = max(1, min(most, self.n - len(excluded) - 1))
        if self.kept is None:
            return self.gather(values, observed, most, excluded=excluded).near
        probes, kept = Probes.of(values, observed), self.kept
        gone = np.zeros(self.n, dtype=bool)
        gone[excluded] = True

        def search(block: slice) -> Nearest:
            near = probes.nearest(kept.unit[block], kept.squares[block], most, gone[block] if len(excluded) else None)
            return near._replace(ids=near.ids + block.start)

        blocks = row_blocks(self.n, 8 * 4 * len(values))
        return reduce(lambda a, b: a.merged(b, most), map(search, blocks))

    def gather(
        self,
        values: Matrix,
        observed: Mask,
        most: int,
        *,
        since: int = 0,
        centres: dict[str, Matrix | None] | None = None,
        excluded: NDArray[np.int64],
        copies_of: Matrix | None = None,
    ) -> PassResult:
        """One pass over the candidates, see `CandidatePass`."""
        table = self.table
        double = table.xp.float64

        def there(x: Matrix | None) -> Array | None:
            return None if x is None else table.like(x, double)

        work = CandidatePass(
            Probes.of(values, observed, table),
            most,
            self.scale,
            since,
            {name: there(centre) for name, centre in (centres or {}).items()},
            excluded,
            there(copies_of),
        )
        width = 8 * (5 * table.d + 4 * len(values))
        return table.fold(work, work.merge, bytes_per_row=width, label="candidates", progress=self.progress)

    def ranges(self, spaces: tuple[str, ...]) -> dict[str, tuple[Matrix, Matrix]]:
        """The smallest and largest value of every feature in each space, block by block."""
        low: dict[str, list[Matrix]] = {name: [] for name in spaces}
        high: dict[str, list[Matrix]] = {name: [] for name in spaces}
        for block in row_blocks(self.n, 8 * 4 * self.table.d):
            rows = self.rows(np.arange(*block.indices(self.n)), spaces)
            for name in spaces:
                low[name].append(rows[name].min(axis=0))
                high[name].append(rows[name].max(axis=0))
        return {name: (np.min(low[name], axis=0), np.max(high[name], axis=0)) for name in spaces}

    def keep(self, unit: Matrix | None = None) -> Candidates:
        """The same with unit rows in memory."""
        return replace(self, kept=KeptRows.of(self._all_unit() if unit is None else unit))

    def _all_unit(self) -> Matrix:
        return np.asarray(scaled_rows(np.asarray(to_numpy(self.table.whole()), dtype=np.float64), self.scale)[1])

    def with_rows(self, X: Matrix) -> Candidates:
        """Candidates and more of them, in the units of the table; those outside memory stay there."""
        if self.kept is None:
            empty = np.flatnonzero(~X.any(axis=1)) + self.n
            return replace(self, table=EditedRows.of(self.table).plus(X), zero=np.concatenate([self.zero, empty]))
        table = HeldRows(np.concatenate([np.asarray(self.table.whole(), dtype=np.float64), X]))
        return replace(
            self, table=table, kept=KeptRows.of(np.concatenate([self.kept.unit, scaled_rows(X, self.scale)[1]]))
        )

    def without(self, gone: NDArray[np.int64]) -> Candidates:
        """The candidates but those at some positions."""
        if self.kept is None:
            left = np.setdiff1d(self.zero, gone)
            zero = left - np.searchsorted(gone, left)
            return replace(self, table=EditedRows.of(self.table).without(gone), zero=zero)
        rest = np.delete(np.arange(self.n), gone)
        kept = KeptRows(self.kept.unit[rest], self.kept.squares[rest])
        return replace(self, table=HeldRows(self.table.take(rest)), kept=kept)
