"""Candidates where they lie: what is asked of them goes to rows that are kept in memory, or becomes a pass over them.

Few candidates are kept as unit rows, whatever they came as (an array, a file, a dask array): that makes searches fast
and changes nothing else. The same questions get the same answers either way.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.moments import CandidatePass, PassResult
from simcomplete._posterior.shared.near_narrow import nearest_narrow
from simcomplete._posterior.shared.neighbours import KeptRows, Nearest, Probes, smoothing
from simcomplete._posterior.shared.rows import diagonal_deficit, rows_in_units, scaled_rows, take_matrix, typical_length
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.derived import EditedRows, UnitRows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import Array, to_numpy
from simcomplete._types import Mask, Matrix

FEW_ROWS, FEW_VALUES = 8, 2**22  # so many queries are taken one by one where there are more candidates: less is read
POOL_VALUES = 2**22  # all candidates are in the pool up to so many values
POOL_ROWS = 2000  # rows of a pool at least
MAX_DRAWN_ROWS = 4000  # rows of a pool that is a part of the candidates, at most


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
    _squares: dict[str, Matrix] = field(default_factory=dict, repr=False, compare=False)
    _smoothed: dict[float, Matrix] = field(default_factory=dict, repr=False, compare=False)

    def smoothed(self, k: float) -> Matrix:
        """Smoothing weights with k effective neighbours, computed once."""
        if k not in self._smoothed:
            self._smoothed[k] = smoothing(self.near.cosines, k)
        return self._smoothed[k]

    def some(self, queries: slice, most: int | None = None) -> NeighbourRows:
        """Those of some queries, or fewer of each."""
        return NeighbourRows(self.rows, self.near.some(queries, most))

    @property
    def n(self) -> int:
        """How many neighbours there are in all."""
        return len(next(iter(self.rows.values())))

    def squares(self, space: str) -> Matrix:
        """Squared rows in a space, for the neighbours' variance."""
        if space not in self._squares:
            self._squares[space] = self.rows[space] * self.rows[space]
        return self._squares[space]


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
        Positions of candidates that are zero, where a pass has found them.
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
        rows = take_matrix(self.table, positions)
        if spaces == ("raw",):
            return {"raw": rows_in_units(rows, self.scale)}
        if self.kept is None:
            raw, unit = scaled_rows(rows, self.scale)
        else:
            raw, unit = rows_in_units(rows, self.scale), self.kept.unit[positions]
        return {name: {"raw": raw, "unit": unit}[name] for name in spaces}

    def neighbour_rows(self, near: Nearest, spaces: tuple[str, ...]) -> NeighbourRows:
        """Bring the neighbours of some queries here."""
        if len(near.ids) == 1:  # whose neighbours differ
            order = np.argsort(near.ids[0])
            ids, place = near.ids[0, order], np.empty(len(order), dtype=np.int64)
            place[order] = np.arange(len(order))
        else:
            ids, place = np.unique(near.ids, return_inverse=True)
        return NeighbourRows(self.rows(ids, spaces), near._replace(ids=place.reshape(near.ids.shape)))

    def nearest(self, values: Matrix, observed: Mask, most: int, excluded: NDArray[np.int64]) -> Nearest:
        """The nearest candidates of incomplete rows by overlap cosine, all but the excluded ones.

        At most all but one of them: a candidate is never compared with itself alone.
        """
        most = max(1, min(most, self.n - len(excluded) - 1))
        if self.kept is None:
            return self.gather(values, observed, most, excluded=excluded).near
        kept = self.kept
        if kept.many and not len(excluded):
            near, undecided = nearest_narrow(Probes.of(values, observed), kept.narrow, most)
            if len(undecided):
                found = self._compared(values[undecided], observed[undecided], most, excluded)
                for mine, theirs in zip(near, found, strict=True):
                    mine[undecided] = theirs
            return near
        return self._compared(values, observed, most, excluded)

    def _compared(self, values: Matrix, observed: Mask, most: int, excluded: NDArray[np.int64]) -> Nearest:
        """The nearest candidates among unit rows in memory, all compared in float64."""
        kept = self.kept
        assert kept is not None
        probes = Probes.of(values, observed)
        gone = np.zeros(self.n, dtype=bool)
        gone[excluded] = True

        def search(block: slice) -> Nearest:
            near = probes.nearest(kept.unit[block], kept.squares(block), most, gone[block] if len(excluded) else None)
            return near._replace(ids=near.ids + block.start)

        few = len(values) == 1 or (len(values) <= FEW_ROWS and kept.unit.size > FEW_VALUES)
        if few and not len(excluded) and kept.reads_columns:
            if len(values) == 1:
                return probes.nearest(kept.unit, None, most, columns=kept.columns)
            alone = [self._compared(values[i : i + 1], observed[i : i + 1], most, excluded) for i in range(len(values))]
            return Nearest(*(np.concatenate(parts) for parts in zip(*alone, strict=True)))
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
        return replace(self, kept=KeptRows(self._all_unit() if unit is None else unit))

    def _all_unit(self) -> Matrix:
        return np.asarray(scaled_rows(np.asarray(to_numpy(self.table.whole()), dtype=np.float64), self.scale)[1])

    def with_rows(self, X: Matrix) -> Candidates:
        """Candidates and more of them, in the units of the table; those outside memory stay there."""
        if self.kept is None:
            empty = np.flatnonzero(~X.any(axis=1)) + self.n
            return replace(self, table=EditedRows.of(self.table).plus(X), zero=np.concatenate([self.zero, empty]))
        table = HeldRows(np.concatenate([np.asarray(self.table.whole(), dtype=np.float64), X]))
        return replace(
            self, table=table, kept=KeptRows(np.concatenate([self.kept.unit, scaled_rows(X, self.scale)[1]]))
        )

    def without(self, gone: NDArray[np.int64]) -> Candidates:
        """The candidates but those at some positions."""
        if self.kept is None:
            left = np.setdiff1d(self.zero, gone)
            zero = left - np.searchsorted(gone, left)
            return replace(self, table=EditedRows.of(self.table).without(gone), zero=zero)
        rest = np.delete(np.arange(self.n), gone)
        kept = KeptRows(self.kept.unit[rest])
        return replace(self, table=HeldRows(self.table.take(rest)), kept=kept)


@dataclass(frozen=True)
class Pool:
    """Candidates for all that is done with rows at random.

    Attributes
    ----------
    positions : array of int
        Where they are among the candidates.
    raw, unit : array of shape (m, d)
        The rows, divided by `scale` and by their own length.
    scale : float
        The typical length of a candidate.
    whole : bool
        Whether these are all candidates.
    """

    positions: NDArray[np.int64]
    raw: Matrix
    unit: Matrix
    scale: float
    whole: bool

    @classmethod
    def draw(cls, table: RowTable, rng: np.random.Generator) -> Pool:
        """Take all candidates, or as many as the pool holds."""
        n, size = table.n, pool_size(table.n, table.d)
        whole = size == n
        positions = np.arange(n) if whole else np.sort(rng.choice(n, size, replace=False))
        rows = take_matrix(table, positions)
        scale = typical_length(rows)
        return cls(positions, *scaled_rows(rows, scale), scale, whole)

    def rows(self, space: str) -> Matrix:
        """The rows in one space."""
        return self.raw if space == "raw" else self.unit


def pool_size(n: int, d: int) -> int:
    """How many of n rows of d values the pool holds: all, or some thousand, which little memory is enough for."""
    size = max(POOL_ROWS, POOL_VALUES // d)
    return n if n <= size else min(size, MAX_DRAWN_ROWS)
