"""The posterior model of complete candidates: fitted once, then incomplete rows become vectors to search with.

One pass over the candidates sums what the Gaussian needs and finds the nearest candidates of every query, real and
simulated. All that comes after looks at those neighbours' rows only, so that it does not matter where the candidates
lie, or how many there are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import CandidateHoldout, Queries
from simcomplete._posterior.candidates.copies import CopyDetector
from simcomplete._posterior.candidates.fitting import Gathered
from simcomplete._posterior.candidates.grid import GridChoice, learn_fast, learn_grid, untrained
from simcomplete._posterior.candidates.moments import Space, Statistics, WideStatistics
from simcomplete._posterior.candidates.source import Candidates, no_positions, pool_size
from simcomplete._posterior.candidates.stack import Stack, learn_stack
from simcomplete._posterior.shared.copy_classes import Prior
from simcomplete._posterior.shared.neighbours import Nearest
from simcomplete._posterior.shared.rows import (
    Effort,
    Objective,
    ObservedRows,
    RowValues,
    Vectors,
    check_settings,
)
from simcomplete._result.intervals import Match, RankedErrors
from simcomplete._result.thresholds import Correction
from simcomplete._rows.budget import scipy_on_one_thread
from simcomplete._rows.table import RowTable
from simcomplete._types import Mask, Matrix

FEW = 20_000  # candidates for whose errors by rank one waits until they are asked for
PASS_QUERIES = 1024  # queries in one pass
ALMOST = float(np.nextafter(1.0, 0.0))  # the longest vector of a row that is not complete
BATCH = 256  # queries whose neighbours are in memory at a time
Learnt = Callable[[Gathered, Matrix], object]  # is told what was gathered, and vectors of the simulated queries
LEARN: dict[str, Callable[[CandidateHoldout, Objective], GridChoice | Stack]] = {
    "full": learn_grid,
    "fast": learn_fast,
    "best": learn_stack,
}


@dataclass(frozen=True)
class CandidateModel:
    """Candidates, what is known of them in each space, and what was chosen for them.

    Attributes
    ----------
    candidates : Candidates
        The candidates where they lie.
    spaces : dict of str to Space
        Statistics and ranges of all candidates, raw and unit.
    choice : GridChoice or Stack
        How queries are completed.
    errors : RankedErrors or None
        How wrong the simulated queries' similarities were, by rank; None where there was nothing to learn from.
    copying : CopyDetector or None
        How copies of candidates look; None where they are not looked for.
    prior : float, three floats or None
        Share of queries that are copies, or exact, near and rough ones; None for what is usual.

    Examples
    --------
    >>> from simcomplete._rows.table import HeldRows
    >>> rng = np.random.default_rng(0)
    >>> P = HeldRows(rng.random((60, 5)))
    >>> model = CandidateModel.fit(P, rng.random((20, 5)) < 0.5, rng=rng)
    >>> u = model.vectors(np.array([[0.2, np.nan, 0.4, np.nan, np.nan]])).u
    >>> u.shape, bool(np.linalg.norm(u) <= 1)
    ((1, 5), True)
    """

    candidates: Candidates
    spaces: dict[str, Space]
    choice: GridChoice | Stack
    errors: RankedErrors | None = field(default=None, repr=False)
    copying: CopyDetector | None = field(default=None, repr=False)
    prior: Prior = None
    # Of probabilities, once it was learnt. A change makes another model, which starts without.
    corrections: list[Correction | None] = field(default_factory=list, init=False, repr=False, compare=False)

    @classmethod
    def fit(
        cls,
        table: RowTable,
        masks: Mask,
        *,
        rng: np.random.Generator,
        effort: Effort = "full",
        objective: Objective = "error",
        growing: bool = False,
        progress: bool | None = False,
        centred: bool = False,
        copies: bool = False,
        prior: Prior = None,
    ) -> CandidateModel:
        """Take complete candidates and calibrate on some of them that lose what `masks` (True = observed) lack.

        Parameters
        ----------
        table : RowTable
            Candidates, wherever they lie.
        masks : array of bool, shape (n_masks, d)
            What queries will show.
        rng : Generator
            Chooses what is held out.
        effort, objective : str
            How much is tried, and what for.
        growing : bool
            Keep more candidates in memory, because some are to be added and removed.
        progress : bool, optional
            None shows progress on a terminal, False never.
        centred : bool
            Rows are less their own mean, over what was observed of them.
        copies, prior
            Whether queries may be copies of candidates, and how many are.
        """
        check_settings(effort, objective)
        gathered = Gathered.of(table, masks, None, rng, effort, growing=growing, progress=progress, centred=centred)
        return cls._calibrated(gathered, effort, objective, centred, copies, prior)

    @classmethod
    def fit_transform(
        cls,
        table: RowTable,
        queries: Matrix,
        *,
        rng: np.random.Generator,
        effort: Effort = "full",
        objective: Objective = "error",
        progress: bool | None = False,
        centred: bool = False,
        copies: bool = False,
        prior: Prior = None,
        learnt: Learnt | None = None,
    ) -> tuple[CandidateModel, Vectors]:
        """Calibrate for the masks of queries (NaN where missing), and turn them into vectors on the way."""
        check_settings(effort, objective)
        masks, first = ~np.isnan(queries), queries[:PASS_QUERIES]
        gathered = Gathered.of(table, masks, first, rng, effort, growing=False, progress=progress, centred=centred)
        model = cls._calibrated(gathered, effort, objective, centred, copies, prior, learnt)
        done = model._in_batches(gathered.queries, gathered.near)
        rest = queries[PASS_QUERIES:]
        return model, _joined([done, model.vectors(rest)]) if len(rest) else done

    @classmethod
    @scipy_on_one_thread()  # thousands of small systems, between products that are NumPy's
    def _calibrated(
        cls,
        gathered: Gathered,
        effort: Effort,
        objective: Objective,
        centred: bool,
        copies: bool,
        prior: Prior,
        learnt: Learnt | None = None,
    ) -> CandidateModel:
        if gathered.simulated is None:
            return cls(gathered.candidates, gathered.spaces, untrained(gathered.candidates.n))
        holdout, spaces = gathered.holdout(("raw",) if copies else ()), gathered.spaces
        choice = LEARN[effort](holdout, objective)
        done = choice.holdout_vectors
        assert done is not None  # as all that is learnt on simulated queries
        copying = gathered.copies(done, holdout, effort, spaces["unit"], prior) if copies else None
        u = done.u
        if centred:  # as the vectors of real queries will be: see `without_constant_part`
            u = u - u.mean(axis=1, keepdims=True)
        if learnt is not None:
            learnt(gathered, u)
        choice = replace(choice, holdout_vectors=None)
        # Beside a pass over many rows it takes no time, and where there are many there may be no memory for it later.
        errors = holdout.ranked(u, deferred=gathered.candidates.n <= FEW)
        return cls(gathered.candidates, spaces, choice, errors, copying, prior)

    @property
    def unit(self) -> Any:
        """Unit rows of the candidates: an array, or a table where they are not kept in memory."""
        return self.candidates.unit

    @property
    def in_memory(self) -> bool:
        """Whether the candidates are kept in memory; then some can be added and removed."""
        return self.candidates.kept is not None

    @property
    def trained(self) -> bool:
        """Whether there were enough candidates to calibrate on; without, there are no intervals."""
        return not bool(np.isnan(self.choice.error))

    def vectors(self, Q: Matrix) -> Vectors:
        """Turn rows with NaN into vectors whose products with unit candidates are expected similarities."""
        return _joined([self._in_batches(rows, near) for rows, near in self._searched(Q)])

    def values(self, Q: Matrix) -> RowValues:
        """Expected values of what is missing in rows with NaN, and their deviations, in the units of the candidates."""
        mean, std = np.array(Q, copy=True), np.zeros(Q.shape)
        lacking = np.flatnonzero(np.isnan(Q).any(axis=1))
        start, scale = 0, self.candidates.scale
        for rows, near in self._searched(Q[lacking]):
            for first in range(0, len(rows.values), BATCH):
                some = slice(first, first + BATCH)
                place = lacking[start + first : start + first + len(rows.values[some])]
                m, s = self.choice.values(self.spaces, self._queries(rows.some(some), near.some(some)))
                mean[place], std[place] = m * scale, s * scale
            start += len(rows.values)
        return RowValues.around(Q, mean, std)

    def _searched(self, Q: Matrix) -> Iterator[tuple[ObservedRows, Nearest]]:
        """Rows and their nearest candidates, one pass of them at a time."""
        for start in range(0, max(len(Q), 1), PASS_QUERIES):
            rows = ObservedRows.of(Q[start : start + PASS_QUERIES], self.candidates.scale)
            yield rows, self.candidates.nearest(rows.values, rows.observed, self.choice.most, no_positions())

    def _queries(self, rows: ObservedRows, near: Nearest) -> Queries:
        spaces = self.choice.spaces if self.copying is None else ("raw", "unit")
        neighbours = self.candidates.neighbour_rows(near, spaces)
        return Queries(rows.values, rows.observed, neighbours, self.candidates)

    @scipy_on_one_thread()
    def _in_batches(self, rows: ObservedRows, near: Nearest) -> Vectors:
        """Vectors of queries whose neighbours are known, some at a time, so that memory does not grow with them."""
        batches = [slice(start, start + BATCH) for start in range(0, max(len(rows.values), 1), BATCH)]
        return _joined([self._vectors(rows.some(batch), near.some(batch, self.choice.most)) for batch in batches])

    def _vectors(self, rows: ObservedRows, near: Nearest) -> Vectors:
        queries = self._queries(rows, near)
        u, length, means = self.choice.vectors(self.spaces, queries)
        complete = rows.observed.all(axis=1)
        length = np.minimum(length, ALMOST)
        u[complete] = rows.unit[complete]  # known exactly
        length[complete] = 1.0
        length[~u.any(axis=1)] = 0.0  # a row of zeros points nowhere
        found = Vectors(u * length[:, None], length)
        if self.copying is None:
            return found
        return self.copying.vectors(found, rows, near, queries.neighbours, means, self.spaces["unit"], self.prior)

    def with_rows(self, X: Matrix) -> CandidateModel:
        """The model with more candidates, by exact updates; what was chosen stays."""
        candidates = self.candidates.with_rows(X)
        added = np.arange(self.candidates.n, candidates.n)
        forms = candidates.rows(added, tuple(self.spaces))
        spaces = {}
        for name, space in self.spaces.items():
            rows, known = forms[name], space.statistics
            spaces[name] = replace(
                space,
                statistics=known.plus(Statistics.of(rows, known.centre))
                if isinstance(known, Statistics)
                else _wide_statistics(candidates, name),
                lowest=np.minimum(space.lowest, rows.min(axis=0)),
                highest=np.maximum(space.highest, rows.max(axis=0)),
            )
        return replace(self, candidates=candidates, spaces=spaces)

    def without(self, gone: NDArray[np.int64]) -> CandidateModel:
        """The model with some candidates removed, by exact downdates; what was chosen stays."""
        forms = self.candidates.rows(gone, tuple(self.spaces))
        candidates = self.candidates.without(gone)
        ranges = candidates.ranges(tuple(self.spaces))
        spaces = {}
        for name, space in self.spaces.items():
            known = space.statistics
            spaces[name] = replace(
                space,
                statistics=known.minus(Statistics.of(forms[name], known.centre))
                if isinstance(known, Statistics)
                else _wide_statistics(candidates, name),
                lowest=ranges[name][0],
                highest=ranges[name][1],
            )
        return replace(self, candidates=candidates, spaces=spaces)


def _joined(parts: list[Vectors]) -> Vectors:
    u, length = np.concatenate([part.u for part in parts]), np.concatenate([part.length for part in parts])
    matches = [part.match for part in parts if part.match is not None]
    match = Match(*(np.concatenate(both) for both in zip(*matches, strict=True))) if matches else None
    return Vectors(u, length, match)


def _wide_statistics(candidates: Candidates, space: str) -> WideStatistics:
    """Statistics of wide rows after a change: of all candidates, or of as many as a pool holds, evenly spaced."""
    n = candidates.n
    count = pool_size(n, candidates.table.d)
    return WideStatistics(candidates.rows(np.linspace(0, n - 1, count).astype(np.int64), (space,))[space])
