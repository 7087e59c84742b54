"""Fitting a model of candidates: a pool of rows, simulated queries from it, and one pass over all candidates.

Simulated queries are candidates that lose what real queries lack, so that it is known what should be found. They, and
the rows they are compared with, come from a pool of rows: all candidates where there are few, else some of them, drawn
at random.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import CandidateHoldout, CompletedQueries, Queries
from simcomplete._posterior.candidates.copies import (
    MAX_EXAMPLES,
    MIN_EXAMPLES,
    CopyDetector,
    learn_copies,
    moved_if_harmless,
)
from simcomplete._posterior.candidates.moments import PassResult, Space, Statistics, WideStatistics, is_wide
from simcomplete._posterior.candidates.ridge import RIDGE_NEIGHBOURS
from simcomplete._posterior.candidates.source import Candidates, Pool, no_positions
from simcomplete._posterior.shared.copy_classes import Prior
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, Nearest
from simcomplete._posterior.shared.rows import (
    COPY,
    Effort,
    ObservedRows,
    rounded,
    sorted_distinct,
)
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import on_accelerator, to_numpy
from simcomplete._types import Mask, Matrix

OTHERS = 500  # rows that simulated queries are compared with
MIN_CANDIDATES = 40  # with fewer there is nothing to calibrate on
SIMULATED = 200  # held-out candidates
STREAM_ABOVE_VALUES = 2**22  # from here on passes by block are cheaper than everything at once
STREAM_ABOVE_ON_ACCELERATOR = 2**20  # fewer values are brought here
STREAM_ABOVE_SEARCHED = 2**25  # where candidates are searched again and again: effort="best", and estimators


@dataclass(frozen=True)
class SimulatedQueries:
    """Held-out candidates with values hidden, and the similarities that should be found.

    Attributes
    ----------
    values, observed : array of shape (rows, d)
        Values with 0 where they are hidden, and the mask.
    raw, unit : array of shape (rows, d)
        The held-out rows with nothing hidden, as they are and made unit.
    repeated : float
        Share of them that have a copy in the pool.
    others, at : array of shape (m, d), array of int
        Unit rows of other candidates, and where these are.
    truth : array of shape (rows, m)
        Similarities with them.
    gone : array of bool
        Rows of the pool that are held out, or copies of such.
    excluded : array of int
        Positions of candidates that are held out, or known to be copies of such.
    copies_of : array of shape (rows, d) or None
        Unit rows whose copies among all candidates are still to be found and excluded.
    """

    values: Matrix
    observed: Mask
    raw: Matrix
    unit: Matrix
    repeated: float
    others: Matrix
    at: NDArray[np.int64]
    truth: Matrix
    gone: Mask
    excluded: NDArray[np.int64]
    copies_of: Matrix | None

    @classmethod
    def draw(
        cls, pool: Pool, masks: Mask, count: int, rng: np.random.Generator, centred: bool = False
    ) -> SimulatedQueries:
        """Hold out candidates and hide what real queries lack.

        Parameters
        ----------
        pool : Pool
            Rows to choose from.
        masks : array of bool, shape (n_q, d)
            What real queries show (True).
        count : int
            How many candidates to hold out.
        rng : Generator
            Chooses them, their masks and the rows they are compared with.
        centred : bool
            Take off the mean of what is left, as was done with real queries.
        """
        unit = pool.unit
        # From the sorted distinct rows, so that the order of the candidates does not matter; to so many digits, so that
        # those do not that depend on how the rows were scaled or summed.
        distinct, place = sorted_distinct(rounded(unit.copy()))
        held = distinct[rng.choice(len(distinct), min(count, len(distinct)), replace=False)]
        gone, repeated = _copies(unit, unit[held])
        few = bool(gone.sum() > len(unit) / 2)  # without all copies too few candidates would be left
        if few:
            gone[:] = False
        gone[held] = True
        rest = np.flatnonzero(~gone)
        ordered = rest[np.argsort(place[rest], kind="stable")]
        shown = masks[rng.integers(len(masks), size=len(held))]
        at = ordered[rng.choice(len(rest), min(OTHERS, len(rest)), replace=False)]
        others = unit[at]
        values = np.where(shown, pool.raw[held], 0.0)
        if centred:
            values -= shown * (values.sum(axis=1) / np.maximum(shown.sum(axis=1), 1))[:, None]
        return cls(
            values,
            shown,
            pool.raw[held],
            unit[held],
            repeated,
            others,
            pool.positions[at],
            unit[held] @ others.T,
            gone,
            np.sort(pool.positions[gone]),
            None if pool.whole or few else unit[held],
        )


def _copies(unit: Matrix, held: Matrix) -> tuple[Mask, float]:
    """Which unit rows have nearly the same direction as one of the held-out rows; the share of those with others."""
    blocks = row_blocks(len(unit), 8 * 2 * max(len(held), 1))
    gone, count = np.empty(len(unit), dtype=bool), np.zeros(len(held), dtype=np.int64)
    for block in blocks:
        same = unit[block] @ held.T > COPY
        gone[block] = same.any(axis=1)
        count += same.sum(axis=0)
    return gone, float(np.mean(count > 1))


@dataclass(frozen=True)
class Gathered:
    """What one pass over the candidates brought.

    Attributes
    ----------
    candidates : Candidates
        The candidates; kept in memory where there are few.
    pool : Pool
        Candidates drawn at random, or all.
    queries : ObservedRows
        Real queries that went along, in the candidates' units.
    simulated : SimulatedQueries or None
        Held-out candidates, where there are enough candidates to calibrate on.
    result : PassResult
        Sums over all candidates, and the nearest of every query, the real ones first.
    """

    candidates: Candidates
    pool: Pool
    queries: ObservedRows
    simulated: SimulatedQueries | None
    result: PassResult

    @classmethod
    def of(
        cls,
        table: RowTable,
        masks: Mask,
        queries: Matrix | None,
        rng: np.random.Generator,
        effort: Effort,
        *,
        growing: bool,
        progress: bool | None,
        centred: bool = False,
    ) -> Gathered:
        """Draw a pool and simulated queries, and make the pass."""
        keep = is_kept(table, effort, growing)
        if keep:
            # Row after row, as files have them and frames do not: the same rows give the same digits.
            table = HeldRows(np.array(to_numpy(table.whole()), copy=True if growing else None, order="C"))
        pool = Pool.draw(table, rng)
        trained = table.n >= MIN_CANDIDATES
        count = min(SIMULATED, len(pool.unit) // 4)
        simulated = SimulatedQueries.draw(pool, masks, count, rng, centred) if trained else None
        candidates = Candidates(table, pool.scale, progress=progress)
        real = ObservedRows.of(np.zeros((0, table.d)) if queries is None else queries, pool.scale)
        values, observed = real.values, real.observed
        if simulated is not None:
            values = np.concatenate([values, simulated.values])
            observed = np.concatenate([observed, simulated.observed])
        names = ("raw",) if not trained else ("unit",) if effort == "fast" else ("raw", "unit")
        result = candidates.gather(
            values,
            observed,
            max(1, min(RIDGE_NEIGHBOURS if effort == "best" else MAX_NEIGHBOURS, table.n - 1)),
            since=len(real.values),
            centres={name: None if is_wide(table.d) else pool.rows(name).mean(axis=0) for name in names},
            excluded=no_positions() if simulated is None else simulated.excluded,
            copies_of=None if simulated is None else simulated.copies_of,
        )
        candidates = replace(candidates, zero=result.zero)
        if keep:
            candidates = candidates.keep(pool.unit if pool.whole else None)
        return cls(candidates, pool, real, simulated, result)

    @property
    def near(self) -> Nearest:
        """The nearest candidates of the real queries."""
        return self.result.near.some(slice(0, len(self.queries.values)))

    @property
    def spaces(self) -> dict[str, Space]:
        """What is known of all candidates."""
        return {
            name: Space(
                name,
                WideStatistics(self.pool.rows(name)) if sums.statistics is None else sums.statistics.in_numpy(),
                *sums.ranges,
            )
            for name, sums in self.result.sums.items()
        }

    def copies(
        self, done: CompletedQueries, holdout: CandidateHoldout, effort: Effort, unit_space: Space, prior: Prior
    ) -> CopyDetector:
        """Learn how copies look, and whether to move their vectors, from the completed simulated queries."""
        simulated = self.simulated
        assert simulated is not None  # there are enough candidates
        examples = min(MAX_EXAMPLES, max(MIN_EXAMPLES, len(simulated.raw) // 2)) if effort == "fast" else MAX_EXAMPLES
        found = learn_copies(simulated.raw, holdout.queries, done.means, self.pool.raw, simulated.repeated, examples)
        near = self.result.near.some(slice(len(self.queries.values), None))
        return moved_if_harmless(found, holdout, done, near, unit_space, prior, examples)

    def holdout(self, spaces: tuple[str, ...] = ()) -> CandidateHoldout:
        """Simulated queries among the candidates that are neither held out nor copies of such.

        Their neighbours are there in the spaces that were summed, and in `spaces`.
        """
        simulated, excluded = self.simulated, self.result.excluded
        assert simulated is not None  # there are enough candidates
        left = max(1, min(self.result.near.ids.shape[1], self.candidates.n - len(excluded) - 1))
        near = self.result.near.some(slice(len(self.queries.values), None), left)
        neighbours = self.candidates.neighbour_rows(near, tuple(sorted({"unit", *self.result.sums, *spaces})))
        return CandidateHoldout(
            {name: replace(space, statistics=self._left(name)) for name, space in self.spaces.items()},
            Queries(simulated.values, simulated.observed, neighbours, self.candidates, excluded),
            simulated.others,
            simulated.truth,
            simulated.unit,
            np.stack([np.isin(simulated.at, ids) for ids in near.ids]),
        )

    def _left(self, name: str) -> Statistics | WideStatistics:
        """Statistics of the candidates that are not excluded."""
        sums = self.result.sums[name]
        if sums.statistics is None:
            assert self.simulated is not None  # as in holdout
            return WideStatistics(self.pool.rows(name)[~self.simulated.gone])
        left = sums.statistics if sums.excluded is None else sums.statistics.minus(sums.excluded)
        return left.in_numpy()


def is_kept(table: RowTable, effort: Effort, growing: bool) -> bool:
    """Whether candidates are few enough to be kept in memory: their number decides, not where they lie."""
    limit = STREAM_ABOVE_ON_ACCELERATOR if on_accelerator(table) else STREAM_ABOVE_VALUES
    if growing or effort == "best":
        limit = STREAM_ABOVE_SEARCHED
    return table.n * table.d <= limit
