"""One completion chosen from a grid, with its learnt lengths: `effort="full"` and `"fast"`.

The direction of u decides the ranking, its length the error: 1 when all is known, shorter the more stays unknown. The
length is learnt by a ridge regression on a few features of the simulated queries. These are rows whose similarities are
known, that lose values and are to be found again; they, and copies of them, are taken out of what the models see, or
they would find themselves.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np

from simcomplete._posterior.candidates.conditional import (
    LEAST_GAP,
    CandidateHoldout,
    CompletedQueries,
    ConditionalMeans,
    Queries,
    smoothing_weights,
)
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.candidates.ranked_errors import ENOUGH_QUERIES, WIDER
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
LENGTHS = (0.03, 0.9999)  # between which the best ones of simulated queries are
LENGTH_RIDGE = 0.05
# A feature that hardly differs between simulated queries says nothing of them, but it may be another for real ones: it
# also depends on all candidates, of which the simulated queries are left out.
LEAST_SD = 0.1
SMALLEST_SIZE = 1e-24  # of |m|^2; rows are in units of a typical length
QUANTILES = np.linspace(0.0, 1.0, 1001)
SAME_ERROR = 1e-9  # mean squared errors that differ by less than this part are the same
NO_ERROR = 1e-24  # and so are those below this


@dataclass(frozen=True)
class Lengths:
    """log V = g0 + g . (f - mean)/sd, clipped to the range seen; length = min(1, scale / sqrt(1 + V/|m|^2))."""

    intercept: float
    slopes: Matrix
    mean: Matrix
    sd: Matrix
    low: float
    high: float
    scale: float = 1.0

    def of(self, features: Matrix, size: Matrix) -> Matrix:
        """Length of every row, from its features and the squared size of its completion."""
        y = self.intercept + ((features - self.mean) / self.sd) @ self.slopes
        with np.errstate(over="ignore"):  # infinitely uncertain: length 0
            V = np.exp(np.clip(y, self.low, self.high))
            return np.minimum(1.0, self.scale / np.sqrt(1.0 + V / np.maximum(size, 1e-300)))


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


def best_lengths(S: Matrix, T: Matrix) -> Matrix:
    """The length b that makes b S nearest to T, row by row, kept inside (0, 1)."""
    energy = np.sum(S * S, axis=1)
    b = np.sum(S * T, axis=1) / np.where(energy > 0, energy, 1.0)
    return np.clip(np.where(energy > 0, b, LENGTHS[0]), *LENGTHS)


def learn(features: Matrix, size: Matrix, S: Matrix, T: Matrix) -> tuple[Lengths, float]:
    """Fit lengths to simulated queries; return them and the mean squared error they leave.

    Parameters
    ----------
    features : array of shape (rows, 4)
        What tells how uncertain a row is.
    size : array of shape (rows,)
        |m|^2 of each completion.
    S, T : array of shape (rows, others)
        Similarities of the unit completion to other rows, and the true ones.
    """
    b = best_lengths(S, T)
    y = np.log(1.0 / b**2 - 1.0) + np.log(np.maximum(size, SMALLEST_SIZE))
    weight = np.maximum(b**2 * (1 - b**2), 1e-3)
    mean, sd = features.mean(axis=0), features.std(axis=0)
    sd = np.maximum(sd, LEAST_SD)
    Z = np.column_stack([np.ones(len(features)), (features - mean) / sd])
    ridge = LENGTH_RIDGE * weight.sum() * np.diag([0.0, *np.ones(features.shape[1])])
    g = np.linalg.solve(Z.T @ (Z * weight[:, None]) + ridge, Z.T @ (weight * y))
    plain = Lengths(float(g[0]), g[1:], mean, sd, float(y.min()), float(y.max()))
    beta = plain.of(features, size)
    scaled = beta[:, None] * S
    energy = float(np.sum(scaled * scaled))
    scale = float(np.sum(scaled * T)) / energy if energy > 0 else 1.0
    scale = max(min(scale, 1.0 / float(beta.max())), 0.0)
    fitted = Lengths(plain.intercept, plain.slopes, mean, sd, plain.low, plain.high, scale)
    final = fitted.of(features, size)
    return fitted, float(np.mean((T - final[:, None] * S) ** 2))


def first_best(errors: Sequence[float]) -> int:
    """Where the smallest mean squared error is; of those that differ by rounding only, the first.

    Examples
    --------
    >>> first_best([2.0, 1.0 + 1e-15, 1.0, float("nan")])
    1
    """
    values = np.where(np.isnan(errors), np.inf, errors)
    return int(np.argmax(values <= values.min() * (1 + SAME_ERROR) + NO_ERROR))


def error_quantiles(truth: Matrix, estimate: Matrix, length: Matrix) -> Matrix:
    """Quantiles of |error| / sqrt(1 - length^2) over simulated pairs, for intervals."""
    scale = np.sqrt(np.maximum(1 - length**2, LEAST_GAP))[:, None]
    return widened(np.quantile(np.abs(truth - estimate) / scale, QUANTILES), len(truth))


def widened(quantiles: Matrix, rows: float) -> Matrix:
    """Quantiles of errors as they are for other rows than those, few, that settings were chosen on.

    The errors of one row go together, so it is rows that are few, not pairs. Errors of what was fitted to them are too
    small, and the largest are not among them yet: quantiles grow, the more the further out they are. From
    `ENOUGH_QUERIES` simulated queries (200 candidates) on nothing is changed.

    Examples
    --------
    >>> widened(QUANTILES, 10)[[500, 900]].round(3), widened(QUANTILES, 50)[[500, 900]]
    (array([0.657, 1.41 ]), array([0.5, 0.9]))
    """
    shortage = max(1 / np.sqrt(rows) - 1 / np.sqrt(ENOUGH_QUERIES), 0.0)
    return np.asarray(quantiles * (1 + WIDER * shortage * QUANTILES))


def untrained(n: int) -> GridChoice:
    """Settings for too few candidates to learn from: the neighbours' own variance says how much is unknown."""
    zeros = np.zeros(4)
    lengths = Lengths(float(np.log(0.35)), np.array([1.0, 0, 0, 0]), zeros, zeros + 1, -np.inf, np.inf)
    return GridChoice("raw", 0.3, min(10.0, n / 2), 1.0, False, lengths, np.nan, np.nan, np.full(1001, np.nan))
