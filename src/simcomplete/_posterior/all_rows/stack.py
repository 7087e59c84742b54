"""One completion of incomplete rows from several members: weights, variances and a tilt, learnt from lost values."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from simcomplete._posterior.all_rows.combine import value_weights, variance_slope, variance_weights
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.all_rows.members import FeatureUnits, MemberValues, RowMember
from simcomplete._posterior.all_rows.packing import Scaling
from simcomplete._posterior.all_rows.tilt import Tilt, clearer_tilt
from simcomplete._types import Mask, Matrix, Vector

BEYOND = 3.0  # deviations beyond the known values of a feature that completed ones may lie, where few are known
BEYOND_COUNT = 10.0  # known values at which that has halved
LARGEST_T = 2.5  # deviations from the mean up to which variances grow or fall
LEAST_VARIANCE = 1e-12  # in mean variances of the features
FURTHEST = 1e50  # what a lost value counts for at most, in units of what is left of its row: squares stay in range
BLOCK_VALUES = 2**21  # of rows that are completed at a time


class StackValues(NamedTuple):
    """Completed rows in unit space, their variances, and how far the tilt moved them."""

    mean: Matrix
    variance: Matrix
    tilted: Matrix


@dataclass(frozen=True)
class Recipe:
    """What was learnt from lost values.

    Attributes
    ----------
    weights : array of shape (members + 1,)
        Of the members' distances from the mean, and of the way to the neighbours.
    variances : array of shape (2 members,)
        Of the members' variances, and of these times the misfit of the row.
    slope, level : float
        Variances are multiplied by ``level * exp(slope * t)``, t the distance from the mean in deviations.
    pairs : float
        What variances are multiplied by for the sake of similarities: not where they tell how far values move.
    tilt : Tilt
        For values missing because of what they are.
    """

    weights: Vector
    variances: Vector
    slope: float = 0.0
    level: float = 1.0
    pairs: float = 1.0
    tilt: Tilt = field(default_factory=Tilt)


@dataclass(frozen=True)
class RowStack:
    """Fitted members, and how they are combined."""

    members: Sequence[RowMember] = field(repr=False)
    scaling: Scaling = field(repr=False)
    units: FeatureUnits = field(repr=False)  # of rows of a common length
    raw_deviation: Vector = field(repr=False)
    recipe: Recipe

    @classmethod
    def of(cls, X: Matrix, members: Sequence[RowMember], recipe: Recipe | None = None) -> RowStack:
        """Combine members that were fitted to rows; all alike unless a recipe is given."""
        scaling = Scaling.of(X, "unit")
        K = len(members)
        recipe = recipe or Recipe(np.append(np.full(K, 1 / K), 0.0), np.append(np.full(K, 1 / K), np.zeros(K)))
        units = FeatureUnits.of(X / scaling.sizes(X)[:, None])
        return cls(members, scaling, units, FeatureUnits.of(X).deviation, recipe)

    def at_random(self) -> RowStack:
        """The same for values that are missing at random: without the tilt."""
        return replace(self, recipe=replace(self.recipe, tilt=self.recipe.tilt._replace(beta=0.0)))

    def values(self, X: Matrix) -> StackValues:
        """Complete any rows, each alone."""
        parts = [self._values(X[at : at + step]) for step in [self._step] for at in range(0, len(X), step)]
        if not parts:
            return StackValues(*(np.empty(X.shape) for _ in range(3)))
        return StackValues(*(np.concatenate(part) for part in zip(*parts, strict=True)))

    @property
    def _step(self) -> int:
        return max(1, BLOCK_VALUES // len(self.units.mean))

    def _values(self, X: Matrix) -> StackValues:
        size, known = self.scaling.sizes(X), ~np.isnan(X)
        expected = self._expect(X, size)
        mean = self._mean(expected, known)
        variance = self._variance(expected, mean, known)
        tilt = self.recipe.tilt
        if tilt.beta == 0:
            return StackValues(mean, variance, np.zeros_like(mean))
        deviation = self.raw_deviation / size[:, None] if tilt.raw else np.broadcast_to(self.units.deviation, X.shape)
        to = np.where(known, mean, np.clip(mean + tilt.shift(variance / self.recipe.pairs, deviation), *self._range))
        return StackValues(to, variance, to - mean)

    def _expect(self, X: Matrix, size: Vector) -> list[MemberValues | None]:
        """What members expect; None of those that count for nothing."""
        K, by = len(self.members), self.recipe
        used = (by.weights[:K] > 0) | (by.variances[:K] > 0) | (by.variances[K:] > 0)
        used[0] |= by.weights[K] > 0
        used[0] |= not used.any()
        return [m.expect(X, size) if use else None for m, use in zip(self.members, used, strict=True)]

    def _mean(self, expected: Sequence[MemberValues | None], known: Mask) -> Matrix:
        centre, first = self.units.mean, next(e for e in expected if e is not None)
        mean = np.zeros(known.shape) + centre
        for weight, member in zip(self.recipe.weights[:-1], expected, strict=True):
            if member is not None and weight > 0:
                mean += weight * (member.mean - centre)
        if self.recipe.weights[-1] > 0 and expected[0] is not None and expected[0].shift is not None:
            mean += self.recipe.weights[-1] * expected[0].shift
        return np.where(known, first.mean, np.clip(mean, *self._range))

    def _variance(self, expected: Sequence[MemberValues | None], mean: Matrix, known: Mask) -> Matrix:
        K, by = len(expected), self.recipe
        variance = np.zeros(known.shape)
        for k, member in enumerate(expected):
            if member is not None:
                misfit = 0.0 if member.misfit is None else member.misfit[:, None]
                variance += (by.variances[k] + by.variances[K + k] * misfit) * member.variance
        variance = np.maximum(variance, LEAST_VARIANCE * float(np.mean(self.units.deviation**2)))
        return np.where(known, 0.0, by.level * by.pairs * variance * np.exp(by.slope * self._t(mean)))

    def _t(self, mean: Matrix) -> Matrix:
        return np.clip((mean - self.units.mean) / self.units.deviation, -LARGEST_T, LARGEST_T)

    @property
    def _range(self) -> tuple[Vector, Vector]:
        """Where completed values may lie: a little beyond the known ones of a feature, never beyond those of all."""
        units = self.units
        more = BEYOND * units.deviation * BEYOND_COUNT / (units.count + BEYOND_COUNT)
        return np.maximum(units.low - more, units.low.min()), np.minimum(units.high + more, units.high.max())

    def learn(self, lost: HiddenValues, tilt: bool, features: Vector | None = None) -> RowStack:
        """Learn how members fitted without the lost values are combined; features count alike unless given."""
        X, H = lost.X[lost.scored], lost.lost
        size, known = self.scaling.sizes(X), ~np.isnan(X)
        expected = [member.expect(X, size) for member in self.members]
        with np.errstate(over="ignore"):
            truth = np.clip(lost.truth / size[:, None], -FURTHEST, FURTHEST)
        centre = self.units.mean
        typical = np.mean([e.variance for e in expected], axis=0)[H]
        shift = expected[0].shift
        columns = [(e.mean - centre)[H] for e in expected] + ([] if shift is None else [shift[H]])
        floor = max(float(typical.mean()), LEAST_VARIANCE * float(np.mean(self.units.deviation**2)))
        counted = H * (np.ones(H.shape[1]) if features is None else features)
        weights = value_weights(np.column_stack(columns), (truth - centre)[H], counted[H] / (typical + floor))
        weights = weights if shift is not None else np.append(weights, 0.0)
        found = replace(self, recipe=replace(self.recipe, weights=weights))
        mean = found._mean(expected, known)
        squares = np.where(H, (truth - mean) ** 2, 0.0)
        misfits = [e.variance * e.misfit[:, None] for e in expected if e.misfit is not None]
        each = variance_weights(np.stack([*(e.variance for e in expected), *misfits]), squares, counted)
        variances = np.zeros(2 * len(expected))
        with_misfit = [k for k, e in enumerate(expected) if e.misfit is not None]
        variances[[*range(len(expected)), *(len(expected) + k for k in with_misfit)]] = each
        found = replace(found, recipe=Recipe(weights, variances))
        variance, t = found._variance(expected, mean, known), found._t(mean)
        slope = variance_slope(squares[H] / variance[H], t[H])
        level = float(variance[H].sum() / np.sum((variance * np.exp(slope * t))[H]))
        by = Recipe(weights, variances, slope, level)
        if tilt:
            missing = ~lost.known
            raw = FeatureUnits.of(lost.X)
            inside = (mean - centre) / self.units.deviation
            outside = (mean * size[:, None] - raw.mean) / raw.deviation
            by = replace(by, tilt=clearer_tilt(inside, outside, missing, missing | H))
        return replace(self, recipe=by)
