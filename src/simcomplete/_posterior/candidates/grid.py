"""One completion chosen from a grid, with its learnt lengths: `effort="full"` and `"fast"`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any, Literal

import numpy as np

from simcomplete._posterior.candidates.conditional import Fills, Queries, Space, unit_rows
from simcomplete._posterior.candidates.local import smooth
from simcomplete._posterior.candidates.moments import Matrix
from simcomplete._posterior.shared.holdout import Rehearsal, choose_delta, ratios
from simcomplete._posterior.shared.lengths import Lengths, learn
from simcomplete.metrics import recall_at

NEIGHBOURS = (5.0, 10.0, 20.0)
STRENGTHS = (0.0, 0.5, 0.75, 1.0)
TOP = 10  # neighbours that count for recall

Objective = Literal["error", "recall"]


@dataclass(frozen=True)
class Choice:
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

    def vectors(self, spaces: dict[str, Space], unit: Matrix, queries: Queries) -> tuple[Matrix, Matrix]:
        """Unit directions of completed rows, and their lengths."""
        space = spaces[self.space]
        fills = Fills(space, queries, self.delta)
        W = smooth(queries.near, self.k, len(space.rows))
        fills.add({"k": W})
        m = fills.completion("k", self.a, self.clip)
        return unit_rows(m), self.lengths.of(fills.features("k", W), np.sum(m * m, axis=1))

    def as_dict(self) -> dict[str, Any]:
        """The settings, and how well the simulated queries were found: squared error of one similarity, recall@10."""
        names = ("space", "delta", "k", "a", "clip")
        told = {name: getattr(self, name) for name in names}
        return {**told, "expected_squared_error": self.error, "expected_recall": self.recall}


def choose(rehearsal: Rehearsal, objective: Objective = "error") -> Choice:
    """Try the grid in every space: first delta on some rows, then neighbours, strength and clip on all."""
    grid = [(k, a, c) for k, a, c in product(NEIGHBOURS, STRENGTHS, (False, True)) if a or k == NEIGHBOURS[1]]
    tried = [
        choice
        for space in rehearsal.spaces.values()
        for choice in judge(rehearsal, space, choose_delta(rehearsal, space), grid)
    ]
    return best(tried, objective)


def choose_fast(rehearsal: Rehearsal, objective: Objective = "error") -> Choice:
    """Unit space, fixed settings; only lengths and clip are learnt."""
    grid = [(10.0, 1.0, False), (10.0, 1.0, True)]
    return best(judge(rehearsal, rehearsal.spaces["unit"], 0.1, grid), objective)


def best(tried: Sequence[Choice], objective: Objective) -> Choice:
    """The smallest error, or the largest recall and of those the smallest error."""
    return min(tried, key=lambda c: (c.error,) if objective == "error" else (-c.recall, c.error))


def judge(rehearsal: Rehearsal, space: Space, delta: float, grid: Iterable[tuple[float, float, bool]]) -> list[Choice]:
    """Learn the lengths of several completions of the simulated queries, and measure what error each leaves."""
    grid = list(grid)
    weights = {k: smooth(rehearsal.queries.near, k, len(space.rows)) for k in sorted({k for k, _, _ in grid})}
    fills = Fills(space, rehearsal.queries, delta)
    fills.add({str(k): W for k, W in weights.items()})
    features = {k: fills.features(str(k), W) for k, W in weights.items()}
    found = []
    for k, a, clip in grid:
        m = fills.completion(str(k), a, clip)
        S, size = unit_rows(m) @ rehearsal.others.T, np.sum(m * m, axis=1)
        lengths, error = learn(features[k], size, S, rehearsal.truth)
        length = lengths.of(features[k], size)
        quantiles = ratios(rehearsal.truth, length[:, None] * S, length)
        recall = float(recall_at(S, rehearsal.truth, k=TOP))
        found.append(Choice(space.name, delta, k, a, clip, lengths, error, recall, quantiles))
    return found


def untrained(n: int) -> Choice:
    """Settings for too few candidates to learn from: the neighbours' own variance says how much is unknown."""
    none = np.zeros(4)
    lengths = Lengths(float(np.log(0.35)), np.array([1.0, 0, 0, 0]), none, none + 1, -np.inf, np.inf)
    return Choice("raw", 0.3, min(10.0, n / 2), 1.0, False, lengths, np.nan, np.nan, np.full(1001, np.nan))
