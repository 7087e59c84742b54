"""A model of missing values in the units they came in.

Cosines weigh features by their size, so features are brought to mean 0 and deviation 1 first. How expectations are
combined, and how far single values are off, is learnt from values that are hidden on purpose (see `holdout`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simcomplete._posterior.all_rows.split import candidates_among
from simcomplete._posterior.incomplete_rows import fit_all_rows
from simcomplete._posterior.shared.rows import Effort, RowValues, nonzero_or_one
from simcomplete._posterior.values.draws import JointDraws
from simcomplete._posterior.values.holdout import ValueHoldout
from simcomplete._posterior.values.members import CandidateMembers, Members, SingleMember
from simcomplete._types import Mask, Matrix, Vector

PATTERNS = 200  # masks to calibrate for when no row is incomplete
RATES = (0.1, 0.95)  # shares of features they hide
KEPT_ROWS = 1000  # rows that joint draws are learnt from
FARTHEST = 1e60  # standard deviations from the mean: beyond, squares and their sums leave the range of numbers
SEED = 0  # of what is learnt for draws, so that it does not depend on who asks first


@dataclass(frozen=True)
class StandardUnits:
    """Mean and deviation of the observed values of every feature.

    Examples
    --------
    >>> units = StandardUnits.of(np.array([[1.0, 5.0], [3.0, 5.0], [np.nan, np.nan]]))
    >>> units.mean, units.deviation
    (array([2., 5.]), array([1., 1.]))
    """

    mean: Vector
    deviation: Vector

    @classmethod
    def of(cls, X: Matrix) -> StandardUnits:
        """Take rows in which every feature has a value."""
        known = ~np.isnan(X)
        count = np.maximum(known.sum(axis=0), 1)
        whole = np.where(known, X, 0.0)
        top = nonzero_or_one(np.max(np.abs(whole), axis=0, initial=0.0))  # squares of huge values stay in range
        mean = np.sum(whole / top, axis=0) / count
        gap = np.where(known, whole / top - mean, 0.0)
        spread = np.sqrt(np.sum(gap * gap, axis=0) / count)
        deviation = spread * top  # 0 where the smallest numbers differ by less than there are numbers
        constant = (spread <= 16 * np.finfo(np.float64).eps) | (deviation == 0)
        return cls(mean * top, np.where(constant, 1.0, deviation))

    def to(self, X: Matrix) -> Matrix:
        """Rows in standard units; values that are farther than any data would go are taken for less far."""
        with np.errstate(over="ignore"):
            return np.clip((X - self.mean) / self.deviation, -FARTHEST, FARTHEST)

    def back(self, Z: Matrix) -> Matrix:
        """Rows in their own units again."""
        return Z * self.deviation + self.mean


@dataclass(frozen=True)
class ValueModel:
    """What the missing values of rows are expected to be, and how far off that may be.

    Attributes
    ----------
    units : StandardUnits
        Of the features.
    members : Members
        Expectations of rows in standard units.
    weights : array of shape (members,)
        How they are combined.
    level : array of shape (d,)
        What the deviations of the model are multiplied by.
    rows : array of shape (m, d)
        Some of the fitted rows, in standard units, that joint draws are learnt from.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = 100 + rng.standard_normal((200, 1)) * [1.0, 20.0, 300.0]
    >>> X[::2, 1] = np.nan
    >>> found = ValueModel.fit(X, rng).values(np.array([[101.0, np.nan, 400.0]]))
    >>> found.mean.round().tolist()
    [[101.0, 120.0, 400.0]]
    """

    units: StandardUnits
    members: Members = field(repr=False)
    weights: Vector
    level: Vector = field(repr=False)
    rows: Matrix = field(repr=False)

    @classmethod
    def fit(cls, X: Matrix, rng: np.random.Generator, effort: Effort = "full") -> ValueModel:
        """Fit rows, NaN where missing; every feature needs a value."""
        units = StandardUnits.of(X)
        Z = units.to(X)
        by_whole = not np.isnan(Z).any() or candidates_among(Z) is not None
        holdout = ValueHoldout.of(Z, masks_to_expect(Z, rng), rng)
        learnt = None if holdout is None else holdout.learn(fit_members(holdout.rows, rng, effort, by_whole))
        members = fit_members(Z, rng, effort, by_whole)
        weights, level = learnt or (np.empty(0), np.ones(X.shape[1]))
        if len(weights) != members.count:  # too little to learn from, or another model was chosen: all members alike
            weights = np.full(members.count, 1 / members.count)
        kept = np.sort(rng.permutation(len(Z))[:KEPT_ROWS])
        return cls(units, members, weights, level, Z[kept])

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows, and their standard deviations."""
        found = self._standard(X)
        return RowValues.around(X, self.units.back(found.mean), found.std * self.units.deviation)

    def sample(self, X: Matrix, n: int, rng: np.random.Generator) -> Matrix:
        """Rows completed n times by draws, (n, rows, d): what is observed is the same in all of them."""
        found, observed = self._standard(X), ~np.isnan(X)
        out = np.empty((n, *X.shape))
        for drawn in out:
            drawn[...] = self.units.back(found.mean + found.std * self._draws.deviations(observed, rng))
            drawn[observed] = X[observed]
        return out

    def _standard(self, X: Matrix) -> RowValues:
        Z = self.units.to(X)
        found = self.members.expect(Z)
        mean = np.tensordot(self.weights, found.means, axes=1)
        return RowValues.around(Z, mean, np.sqrt(np.maximum(found.variance, 0.0)) * self.level)

    @cached_property
    def _draws(self) -> JointDraws:
        found = self._standard(self.units.back(self.rows))
        return JointDraws.learn(self.rows, found, np.random.default_rng(SEED))


def fit_members(Z: Matrix, rng: np.random.Generator, effort: Effort, by_whole: bool) -> Members:
    """Fit rows in standard units: by the complete ones where they know enough, else by the models of all rows."""
    if by_whole:
        return CandidateMembers.fit(Z[~np.isnan(Z).any(axis=1)])
    return SingleMember.of(fit_all_rows(Z, rng, effort, mechanism="random"))


def masks_to_expect(Z: Matrix, rng: np.random.Generator) -> Mask:
    """Masks of the incomplete rows; random ones where all are complete."""
    observed = ~np.isnan(Z)
    masks = observed[~observed.all(axis=1)]
    if len(masks):
        return masks
    hidden = rng.uniform(*RATES, size=(PATTERNS, 1))
    return np.asarray(rng.random((PATTERNS, Z.shape[1])) >= hidden)
