"""Several expectations of the same missing values, to be combined: conditional means given complete rows.

What finds similarities best need not find values best: here rows stay as long as they are, several shrinkages of the
covariance stand beside each other, with and without neighbours, and how they are combined is learnt from hidden values.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from simcomplete._posterior.all_rows.mixture import RowsMixture
from simcomplete._posterior.all_rows.select import RowsCompletion
from simcomplete._posterior.candidates.conditional import (
    ConditionalMeans,
    Queries,
    smoothing_weights,
)
from simcomplete._posterior.candidates.covariance import conditional_variances
from simcomplete._posterior.candidates.moments import Space, Statistics, WideStatistics, is_wide
from simcomplete._posterior.candidates.ridge import ridge_weights
from simcomplete._posterior.candidates.source import Candidates, no_positions
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS
from simcomplete._posterior.shared.rows import ObservedRows, PosteriorModel, scaled_rows, typical_length
from simcomplete._rows.table import HeldRows
from simcomplete._types import Mask, Matrix

DELTAS = (0.3, 0.1, 0.03, 0.005)  # shrinkages in raw space
UNIT_DELTA = 0.1
NEIGHBOURS = (5.0, 20.0)  # effective numbers
VARIANCE_DELTA = 0.1
BATCH = 256  # rows at a time


class Expectations(NamedTuple):
    """Expected values of rows by every member, (members, rows, d), and their variances, (rows, d)."""

    means: Matrix
    variance: Matrix


class Members(Protocol):
    """What gives several expectations of the same values."""

    @property
    def count(self) -> int:
        """How many."""

    @property
    def calibrated(self) -> bool:
        """Whether variances were learnt from hidden values when the members were fitted."""

    def expect(self, Z: Matrix) -> Expectations:
        """Of any rows, NaN where missing."""


@dataclass(frozen=True)
class SingleMember:
    """A posterior model of rows of which all may be incomplete, and where it is a mixture, the single model in it."""

    model: PosteriorModel
    count: int = 1

    @classmethod
    def of(cls, model: PosteriorModel) -> SingleMember:
        """Take a model."""
        return cls(model, 2 if isinstance(model, RowsMixture) else 1)

    @property
    def calibrated(self) -> bool:
        """Those of a mixture were."""
        return isinstance(self.model, RowsMixture)

    def expect(self, Z: Matrix) -> Expectations:
        """Of any rows, NaN where missing."""
        found = self.model.values(Z)
        if self.count == 1 or not isinstance(self.model, RowsMixture):
            return Expectations(found.mean[None], np.square(found.std))
        return Expectations(np.stack([found.mean, RowsCompletion.values(self.model, Z).mean]), np.square(found.std))


@dataclass(frozen=True)
class CandidateMembers:
    """Conditional means given complete rows: by several shrinkages, with and without neighbours, raw and unit."""

    candidates: Candidates = field(repr=False)
    spaces: dict[str, Space] = field(repr=False)

    @classmethod
    def fit(cls, P: Matrix) -> CandidateMembers:
        """Take complete rows."""
        scale = typical_length(P)
        forms = dict(zip(("raw", "unit"), scaled_rows(P, scale), strict=True))
        spaces = {
            name: Space(
                name,
                WideStatistics(rows) if is_wide(P.shape[1]) else Statistics.of(rows, rows.mean(axis=0)),
                rows.min(axis=0),
                rows.max(axis=0),
            )
            for name, rows in forms.items()
        }
        return cls(Candidates(HeldRows(P), scale).keep(forms["unit"]), spaces)

    def expect(self, Z: Matrix) -> Expectations:
        """Of any rows, NaN where missing; what is observed stays as it is."""
        means = np.repeat(Z[None], self.count, axis=0)
        variance = np.zeros(Z.shape)
        lacking = np.flatnonzero(np.isnan(Z).any(axis=1))
        scale = self.candidates.scale
        for start in range(0, len(lacking), BATCH):
            place = lacking[start : start + BATCH]
            rows = ObservedRows.of(Z[place], scale)
            most = min(MAX_NEIGHBOURS, self.candidates.n)
            near = self.candidates.nearest(rows.values, rows.observed, most, no_positions())
            neighbours = self.candidates.neighbour_rows(near, ("raw", "unit"))
            queries = Queries(rows.values, rows.observed, neighbours, self.candidates)
            for member, m in enumerate(self._means(queries)):
                means[member, place] = m * scale
            variance[place] = self._variances(rows.observed) * scale**2
        return Expectations(means, variance)

    @property
    def count(self) -> int:
        """How many members."""
        return len(DELTAS) * (1 + len(NEIGHBOURS)) + 2 + len(NEIGHBOURS)

    @property
    def calibrated(self) -> bool:
        """They are those of a Gaussian."""
        return False

    def _means(self, queries: Queries) -> Iterator[Matrix]:
        near = queries.neighbours
        weights = {str(k): smoothing_weights(near, k) for k in NEIGHBOURS}
        ridge = {"ridge": ridge_weights(near, queries.observed)}
        for space, delta in (*(("raw", delta) for delta in DELTAS), ("unit", UNIT_DELTA)):
            own = weights if space == "raw" else weights | ridge
            means = ConditionalMeans(self.spaces[space], queries, delta)
            means.add(near, own)
            yield means.completion("", 0.0, clip=True) * means.sizes[:, None]
            for name in own:
                yield means.completion(name, 1.0, clip=True) * means.sizes[:, None]

    def _variances(self, observed: Mask) -> Matrix:
        return conditional_variances(self.spaces["raw"].statistics.covariance.shrunk(VARIANCE_DELTA), observed)
