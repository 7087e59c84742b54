"""A stack instead of a choice: everything good is combined, still one vector per query (`effort="best"`).

Every completion (space, neighbour weights, strength, clip) gets its own learnt lengths. Their soft average, by
simulated error, is the first of sixteen directions; a ridge regression towards it combines them, its strength chosen by
cross-validation over the simulated queries.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from simcomplete._posterior.candidates.conditional import (
    CandidateHoldout,
    CompletedQueries,
    ConditionalMeans,
    Queries,
    smoothing_weights,
)
from simcomplete._posterior.candidates.grid import (
    NO_ERROR,
    RECALL_AT,
    SHORTEST,
    SPACES,
    Lengths,
    choose_delta,
    error_quantiles,
    first_best,
    learn,
)
from simcomplete._posterior.candidates.moments import Space
from simcomplete._posterior.candidates.ridge import RIDGE_NEIGHBOURS, ridge_weights
from simcomplete._posterior.shared.neighbours import MAX_NEIGHBOURS, share_found
from simcomplete._posterior.shared.rows import Objective, nonzero_or_one, rounded, unit_rows
from simcomplete._types import Matrix

SOFTNESS = 0.02
NEGLIGIBLE = 0.001
RIDGES = (3e-5, 1e-4, 3e-4, 1e-3, 3e-3, 1e-2, 3e-2, 0.1, 1.0, 10.0)
FOLDS = 5
# Where several are perfect, the first is taken.
AVERAGED = (*((k, a) for k in ("k10", "k5", "k20") for a in (1.0, 0.75)), ("r", 1.0), ("r", 0.75), ("k10", 0.0))
STACKED = (("k10", 0.0), ("k5", 1.0), ("k20", 1.0), ("r", 1.0), ("p", 1.0))

ConditionalKey = tuple[str, str, float, bool]  # space, neighbour weights, strength, clip


@dataclass(frozen=True)
class Stack:
    """Shrinkage per space, lengths per completion, weights of the soft average, coefficients of the stack."""

    deltas: dict[str, float]
    lengths: dict[ConditionalKey, Lengths]
    average: dict[ConditionalKey, float]
    singles: tuple[ConditionalKey, ...]
    coefficients: Matrix
    strength: float
    error: float
    recall: float
    quantiles: Matrix
    # The simulated queries as they were completed.
    holdout_vectors: CompletedQueries | None = field(default=None, repr=False, compare=False)

    @property
    def spaces(self) -> tuple[str, ...]:
        """The spaces that vectors are made from."""
        return tuple(self.deltas)

    @property
    def most(self) -> int:
        """How many neighbours every query needs."""
        return RIDGE_NEIGHBOURS

    def vectors(self, spaces: dict[str, Space], queries: Queries) -> CompletedQueries:
        """Complete rows."""
        parts = complete_all(spaces, queries, self.deltas)
        calibrated = {key: parts.calibrated(key, self.lengths[key]) for key in {*self.average, *self.singles}}
        B = directions_to_combine(parts, calibrated, self.average, self.singles, spaces)
        u = np.tensordot(self.coefficients, B, axes=1)
        length = np.sqrt(np.sum(u * u, axis=1))
        return CompletedQueries(unit_rows(u), np.minimum(length, 1.0), parts.means["unit"])

    def values(self, spaces: dict[str, Space], queries: Queries) -> tuple[Matrix, Matrix]:
        """The soft average of completed rows, in the units of the queries, and the deviations of what was missing.

        The stack itself combines directions, which have no units.
        """
        parts = complete_all(spaces, queries, self.deltas)
        mean, variance = np.zeros_like(queries.values), np.zeros_like(queries.values)
        size_of = {key: parts.means[key[0]].sizes[:, None] for key in self.average}
        largest = nonzero_or_one(np.max(list(size_of.values()), axis=0))
        for key, weight in self.average.items():
            means, m = parts.means[key[0]], parts.raw(key)
            size = np.sum(m * m, axis=1)
            length = self.lengths[key].of(parts.features[key[0]], size)
            unknown = size * (np.maximum(length, SHORTEST) ** -2.0 - 1)
            mean += weight * m * size_of[key]
            variance += weight * means.variances(unknown) * (size_of[key] / largest) ** 2
        return mean, np.sqrt(variance) * largest

    def as_dict(self) -> dict[str, Any]:
        """The settings and the expected squared error of one similarity."""
        settings: dict[str, Any] = {f"delta_{name}": delta for name, delta in self.deltas.items()}
        settings |= {"expected_squared_error": self.error, "expected_recall": self.recall}
        return {"stack": len(self.coefficients), "ridge": self.strength, **settings}


@dataclass(frozen=True)
class CompletionsBySpace:
    """All completions of some rows, by space."""

    means: dict[str, ConditionalMeans]
    features: dict[str, Matrix]

    def calibrated(self, key: ConditionalKey, lengths: Lengths) -> Matrix:
        """One completion as vectors of learnt length."""
        m = self.raw(key)
        length = lengths.of(self.features[key[0]], np.sum(m * m, axis=1))
        return np.asarray(unit_rows(m) * length[:, None])

    def raw(self, key: ConditionalKey) -> Matrix:
        """One completion as it is."""
        space, name, a, clip = key
        return self.means[space].completion(name, a, clip)


def complete_all(spaces: dict[str, Space], queries: Queries, deltas: dict[str, float]) -> CompletionsBySpace:
    """Complete rows in every space with every local prior, the last ones from the answer of the first."""
    near, count = queries.neighbours, len(queries.values)
    nearest = near.some(slice(None), MAX_NEIGHBOURS)
    weights = {f"k{k}": smoothing_weights(nearest, float(k)) for k in (5, 10, 20)}
    weights["r"] = ridge_weights(near, queries.observed)
    means, features = {}, {}
    for name, space in spaces.items():
        means[name] = ConditionalMeans(space, queries, deltas[name])
        means[name].add(near, weights)
        features[name] = means[name].features(near, "k10", weights["k10"])
    # The candidates nearest to a first completion, for all spaces in one search.
    first = np.concatenate([each.completion("k10", 0.75, clip=True) for each in means.values()])
    second = queries.source.nearest(first, np.ones(first.shape, dtype=bool), RIDGE_NEIGHBOURS, queries.excluded)
    for place, name in enumerate(spaces):
        own = second.some(slice(place * count, (place + 1) * count), None if name == "unit" else MAX_NEIGHBOURS)
        rows = queries.source.neighbour_rows(own, (name,))
        last = {"p": smoothing_weights(rows.some(slice(None), MAX_NEIGHBOURS), 5.0)}
        if name == "unit":
            last["q"] = ridge_weights(rows, np.ones_like(queries.observed))
        means[name].add(rows, last)
    return CompletionsBySpace(means, features)


def directions_to_combine(
    parts: CompletionsBySpace,
    calibrated: dict[ConditionalKey, Matrix],
    average: dict[ConditionalKey, float],
    singles: tuple[ConditionalKey, ...],
    spaces: dict[str, Space],
) -> Matrix:
    """The vectors to combine, (directions, rows, d), the soft average first."""
    middle = sum(weight * calibrated[key] for key, weight in average.items())
    unit = parts.means["unit"]
    mean = unit_rows(spaces["unit"].statistics.mean[None])
    return np.stack(
        [
            np.asarray(middle),
            np.where(unit.observed, middle, 0.0),
            np.broadcast_to(mean, unit.values.shape),
            *(calibrated[key] for key in singles),
            unit.means["r"],
            unit.means["k10"],
        ]
    )


def learn_stack(holdout: CandidateHoldout, objective: Objective = "error") -> Stack:
    """Learn lengths, the soft average and the stack on simulated queries.

    With objective "recall" one direction alone takes the place of the stack where it finds more of the nearest.
    """
    spaces, T = holdout.spaces, holdout.truth
    deltas = {name: choose_delta(holdout, space) for name, space in spaces.items()}
    parts = complete_all(spaces, holdout.queries, deltas)
    wanted = dict.fromkeys((*AVERAGED, *STACKED))
    keys = [(space, name, a, clip) for space in SPACES for name, a in wanted for clip in (False, True)]
    keys += [("unit", "q", 1.0, clip) for clip in (False, True)]
    lengths, errors = {}, {}
    for key in keys:
        m = parts.raw(key)
        S, size = unit_rows(m) @ holdout.others.T, np.sum(m * m, axis=1)
        lengths[key], errors[key] = learn(parts.features[key[0]], size, S, T)
    average = soft({key: e for key, e in errors.items() if key[1:3] in AVERAGED})
    singles = tuple(
        (space, name, a, bool(first_best([errors[space, name, a, clip] for clip in (False, True)])))
        for space in spaces
        for name, a in (*STACKED, *((("q", 1.0),) if space == "unit" else ()))
    )
    calibrated = {key: parts.calibrated(key, lengths[key]) for key in {*average, *singles}}
    B = directions_to_combine(parts, calibrated, average, singles, spaces)
    coefficients, strength, outside = combine(B @ holdout.others.T, T)
    recall = _recall(outside, T)
    if objective == "recall":
        alone = [_recall(S, T) for S in B @ holdout.others.T]
        if max(alone) > recall:
            recall, first = max(alone), int(np.argmax(alone))
            coefficients, outside = np.eye(len(B))[first], B[first] @ holdout.others.T
    u = np.tensordot(coefficients, B, axes=1)
    length = np.minimum(np.sqrt(np.sum(u * u, axis=1)), 1.0)
    error = float(np.mean((T - outside) ** 2))
    quantiles = error_quantiles(T, outside, length)
    done = CompletedQueries(unit_rows(u), length, parts.means["unit"])
    return Stack(deltas, lengths, average, singles, coefficients, strength, error, recall, quantiles, done)


def _recall(S: Matrix, T: Matrix) -> float:
    return share_found(rounded(S.copy()), rounded(T.copy()), RECALL_AT)


def soft(errors: dict[ConditionalKey, float]) -> dict[ConditionalKey, float]:
    """Weights that fall with the error beyond the best, negligible ones dropped, summing to 1.

    Of completions without any error the first alone counts.

    Examples
    --------
    >>> soft({("unit", "k5", 1.0, False): 2.0, ("unit", "k10", 1.0, False): 1.0})
    {('unit', 'k10', 1.0, False): 1.0}
    """
    best = min(errors.values())
    if best <= NO_ERROR:
        return {next(key for key, e in errors.items() if e <= NO_ERROR): 1.0}
    weights = {key: float(np.exp(-(e / best - 1) / SOFTNESS)) for key, e in errors.items()}
    total = sum(weights.values())
    kept = {key: w / total for key, w in weights.items() if w / total >= NEGLIGIBLE}
    return {key: w / sum(kept.values()) for key, w in kept.items()}


def combine(A: Matrix, T: Matrix) -> tuple[Matrix, float, Matrix]:
    """Coefficients that bring sum_j c_j A_j near T, ridged towards the first direction alone.

    Returns the coefficients, the ridge chosen by cross-validation, and the estimates from outside each row's fold.
    """
    count, rows, _ = A.shape
    grams = np.einsum("ihp,jhp->hij", A, A, optimize=True)
    sides = np.einsum("ihp,hp->hi", A, T, optimize=True)
    size = np.mean(grams[:, np.arange(count), np.arange(count)], axis=0)
    size = np.maximum(size, 1e-6 * (float(size.max()) or 1.0))  # directions that are zero everywhere stay solvable
    start = np.eye(count)[0]

    def fit(which: Any, strength: float) -> Matrix:
        penalty = strength * len(grams[which]) * size
        left = grams[which].sum(axis=0) + np.diag(penalty)
        return np.asarray(np.linalg.solve(left, sides[which].sum(axis=0) + penalty * start))

    folds = np.arange(rows) % FOLDS

    def outside(strength: float) -> Matrix:
        estimate = np.empty_like(T)
        for fold in range(min(FOLDS, rows)):
            c = fit(folds != fold, strength) if rows > 1 else start
            estimate[folds == fold] = np.tensordot(c, A[:, folds == fold], axes=1)
        return estimate

    best = RIDGES[first_best([float(np.mean((T - outside(strength)) ** 2)) for strength in RIDGES])]
    return fit(np.ones(rows, dtype=bool), best), best, outside(best)
