"""One completion chosen from a grid, with its learnt lengths: `effort="full"` and `"fast"`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from simcomplete._posterior.candidates.conditional import (
    CandidateHoldout,
    CompletedQueries,
    ConditionalMeans,
    Queries,
    smoothing_weights,
)
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.shared.lengths import Lengths, best_lengths, error_quantiles, first_best, learn
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, share_found
from simcomplete._posterior.shared.rows import Objective, rounded, unit_rows
from simcomplete._types import Matrix

# Where several do equally well, the first is taken.
DELTAS = (0.1, 0.03, 0.3, 0.005, 0.6, 0.0005)
EFFECTIVE_NEIGHBOURS = (10.0, 5.0, 20.0)
STRENGTHS = (1.0, 0.75, 0.5, 0.0)
SPACES = ("unit", "raw")
DELTA_QUERIES = 64  # simulated queries that choose delta
FEW = 2  # completions whose vectors are kept until one is chosen
SHORTEST = 1e-8  # length of a vector of which nothing is known: its variance is next to infinite, not beyond
RECALL_AT = 10  # neighbours that count for recall


@dataclass(frozen=True)
class GridChoice:
    """What was chosen, how long vectors are, and how wrong the simulated similarities were."""

    space: str
    delta: float
    k: float
    a: float
    clip: bool
    lengths: Lengths
    error: float
    recall: float
    quantiles: Matrix
    # The simulated queries as they were completed.
    holdout_vectors: CompletedQueries | None = field(default=None, repr=False, compare=False)
    # Of one that was tried: what is still to be measured once it is chosen.
    measure_later: Callable[[], dict[str, Any]] | None = field(default=None, repr=False, compare=False)

    def measured(self) -> GridChoice:
        """The same with its recall and its quantiles, which only the one that is chosen needs."""
        return self if self.measure_later is None else replace(self, measure_later=None, **self.measure_later())

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces that vectors are made from."""
        return (self.space,)

    @property
    def most(self) -> int:
        """How many neighbours every query needs."""
        return MAX_NEIGHBOURS

    def vectors(self, spaces: dict[str, Space], queries: Queries) -> CompletedQueries:
        """Complete rows."""
        means, m, length = self._completed(spaces, queries)
        return CompletedQueries(unit_rows(m), length, means)

    def values(self, spaces: dict[str, Space], queries: Queries) -> tuple[Matrix, Matrix]:
        """Completed rows, in the units of the queries, and the standard deviations of what was missing."""
        means, m, length = self._completed(spaces, queries)
        unknown = np.sum(m * m, axis=1) * (np.maximum(length, SHORTEST) ** -2.0 - 1)
        return m * means.sizes[:, None], np.sqrt(means.variances(unknown)) * means.sizes[:, None]

    def _completed(self, spaces: dict[str, Space], queries: Queries) -> tuple[ConditionalMeans, Matrix, Matrix]:
        near = queries.neighbours
        means = ConditionalMeans(spaces[self.space], queries, self.delta)
        W = smoothing_weights(near, self.k)
        means.add(near, {"k": W})
        m = means.completion("k", self.a, self.clip)
        return means, m, self.lengths.of(means.features(near, "k", W), np.sum(m * m, axis=1))

    def as_dict(self) -> dict[str, Any]:
        """The settings, and how well the simulated queries were found: squared error of one similarity, recall@10."""
        names = ("space", "delta", "k", "a", "clip")
        settings = {name: getattr(self, name) for name in names}
        return {**settings, "expected_squared_error": self.error, "expected_recall": self.recall}


def learn_grid(holdout: CandidateHoldout, objective: Objective = "error") -> GridChoice:
    """Try the grid in every space: first delta on some rows, then neighbours, strength and clip on all."""
    middle = EFFECTIVE_NEIGHBOURS[0]
    grid = [(k, a, c) for k, a, c in product(EFFECTIVE_NEIGHBOURS, STRENGTHS, (False, True)) if a or k == middle]
    tried = [
        choice
        for space in (holdout.spaces[name] for name in SPACES)
        for choice in evaluate_grid(holdout, space, choose_delta(holdout, space), grid, objective)
    ]
    chosen = best(tried, objective).measured()
    return replace(chosen, holdout_vectors=chosen.vectors(holdout.spaces, holdout.queries))


def learn_fast(holdout: CandidateHoldout, objective: Objective = "error") -> GridChoice:
    """Unit space, fixed settings; only lengths and clip are learnt."""
    grid = [(10.0, 1.0, False), (10.0, 1.0, True)]
    return best(evaluate_grid(holdout, holdout.spaces["unit"], 0.1, grid, objective), objective).measured()


def best(tried: Sequence[GridChoice], objective: Objective) -> GridChoice:
    """The smallest error, or the largest recall and of those the smallest error."""
    if objective == "recall":
        most = max(choice.recall for choice in tried)
        tried = [choice for choice in tried if choice.recall == most]
    return tried[first_best([choice.error for choice in tried])]


def choose_delta(holdout: CandidateHoldout, space: Space) -> float:
    """Pick the shrinkage that leaves the least error on some simulated queries, with or without neighbours."""
    queries = holdout.queries.some(slice(0, DELTA_QUERIES), MAX_NEIGHBOURS)
    T = holdout.truth[:DELTA_QUERIES]
    weights = {"k10": smoothing_weights(queries.neighbours, 10.0)}
    errors: list[float] = []
    for delta in DELTAS:
        means = ConditionalMeans(space, queries, delta)
        means.add(queries.neighbours, weights)
        for a in (0.0, 1.0):
            S = unit_rows(means.completion("k10", a)) @ holdout.others.T
            errors.append(float(np.mean((T - best_lengths(S, T)[:, None] * S) ** 2)))
    return DELTAS[first_best(errors) // 2]


def evaluate_grid(
    holdout: CandidateHoldout,
    space: Space,
    delta: float,
    grid: Iterable[tuple[float, float, bool]],
    objective: Objective = "error",
) -> list[GridChoice]:
    """Learn the lengths of several completions of the simulated queries, and measure what error each leaves.

    Recall, too, where that is the objective; else it is left to `GridChoice.measured`, as quantiles are.
    """
    grid, near = list(grid), holdout.queries.neighbours
    weights = {k: smoothing_weights(near, k) for k in sorted({k for k, _, _ in grid})}
    means = ConditionalMeans(space, holdout.queries, delta)
    means.add(near, {str(k): W for k, W in weights.items()})
    features = {k: means.features(near, str(k), W) for k, W in weights.items()}
    tried = []
    for k, a, clip in grid:
        m = means.completion(str(k), a, clip)
        direction = unit_rows(m)
        S, size = direction @ holdout.others.T, np.sum(m * m, axis=1)
        lengths, error = learn(features[k], size, S, holdout.truth)
        length = lengths.of(features[k], size)
        kept = CompletedQueries(direction, length, means) if len(grid) <= FEW else None  # many would take much memory
        measure = partial(_found, holdout, means, (str(k), a, clip), length)
        recall = measure()["recall"] if objective == "recall" else np.nan
        tried.append(
            GridChoice(space.name, delta, k, a, clip, lengths, error, recall, np.full(1001, np.nan), kept, measure)
        )
    return tried


def _found(
    holdout: CandidateHoldout, means: ConditionalMeans, setting: tuple[str, float, bool], length: Matrix
) -> dict[str, Any]:
    """Recall of one completion of the simulated queries, and the quantiles of its errors."""
    S = unit_rows(means.completion(*setting)) @ holdout.others.T
    quantiles = error_quantiles(holdout.truth, length[:, None] * S, length)
    return {"recall": share_found(rounded(S), rounded(holdout.truth.copy()), RECALL_AT), "quantiles": quantiles}


def untrained(n: int) -> GridChoice:
    """Settings for too few candidates to learn from: the neighbours' own variance says how much is unknown."""
    zeros = np.zeros(4)
    lengths = Lengths(float(np.log(0.35)), np.array([1.0, 0, 0, 0]), zeros, zeros + 1, -np.inf, np.inf)
    return GridChoice("raw", 0.3, min(10.0, n / 2), 1.0, False, lengths, np.nan, np.nan, np.full(1001, np.nan))
