"""Fitting a model of candidates: a pool of rows, simulated queries from it, and one pass over all candidates."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from simcomplete._posterior.candidates.candidate_pass import PassResult
from simcomplete._posterior.candidates.conditional import Queries
from simcomplete._posterior.candidates.local import RIDGE_NEIGHBOURS
from simcomplete._posterior.candidates.moments import Space, Statistics, WideStatistics, is_wide
from simcomplete._posterior.candidates.simulate import Holdout, Pool, SimulatedQueries
from simcomplete._posterior.candidates.source import Candidates, no_positions
from simcomplete._posterior.model import Effort
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, Nearest
from simcomplete._posterior.shared.rows import Mask, Matrix, ObservedRows
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.xp import on_accelerator, to_numpy

MIN_CANDIDATES = 40  # with fewer there is nothing to calibrate on
SIMULATED = 200  # held-out candidates
STREAM_ABOVE_VALUES = 2**22  # from here on passes by block are cheaper than everything at once
STREAM_ABOVE_ON_ACCELERATOR = 2**20  # fewer values are brought here
STREAM_ABOVE_SEARCHED = 2**25  # where candidates are searched again and again: effort="best", and estimators


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
    ) -> Gathered:
        """Draw a pool and simulated queries, and make the pass."""
        keep = is_kept(table, effort, growing)
        if keep:
            table = HeldRows(np.array(to_numpy(table.whole()), copy=True if growing else None))
        pool = Pool.draw(table, rng)
        trained = table.n >= MIN_CANDIDATES
        simulated = SimulatedQueries.draw(pool, masks, min(SIMULATED, len(pool.unit) // 4), rng) if trained else None
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

    def holdout(self) -> Holdout:
        """Simulated queries among the candidates that are neither held out nor copies of such."""
        simulated, excluded = self.simulated, self.result.excluded
        assert simulated is not None  # there are enough candidates
        left = max(1, min(self.result.near.ids.shape[1], self.candidates.n - len(excluded) - 1))
        near = self.result.near.some(slice(len(self.queries.values), None), left)
        neighbours = self.candidates.neighbour_rows(near, tuple(sorted({"unit", *self.result.sums})))
        return Holdout(
            {name: replace(space, statistics=self._left(name)) for name, space in self.spaces.items()},
            Queries(simulated.values, simulated.observed, neighbours, self.candidates, excluded),
            simulated.others,
            simulated.truth,
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
