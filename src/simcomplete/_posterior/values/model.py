"""A model of missing values in the units they came in.

Cosines weigh features by their size, so features are brought to mean 0 and deviation 1 first. How expectations are
combined, and how far single values are off, is learnt from values that are hidden on purpose (see `rehearsal`).
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

import numpy as np

from simcomplete._posterior.all_rows.split import candidates_among
from simcomplete._posterior.method import fit_factors
from simcomplete._posterior.shared.rows import Effort, RowValues, nonzero_or_one
from simcomplete._posterior.values.draws import JointDraws
from simcomplete._posterior.values.members import CandidateMembers, Members, SingleMember
from simcomplete._posterior.values.rehearsal import Rehearsal
from simcomplete._types import Mask, Matrix, Vector

PATTERNS = 200  # masks to calibrate for when no row is incomplete
RATES = (0.1, 0.95)  # shares of features they hide
KEPT_ROWS = 1000  # rows that joint draws are learnt from
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
        constant = spread <= 16 * np.finfo(np.float64).eps
        return cls(mean * top, np.where(constant, 1.0, spread * top))

    def to(self, X: Matrix) -> Matrix:
        """Rows in standard units."""
        return np.asarray((X - self.mean) / self.deviation)

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
        rehearsal = Rehearsal.of(Z, masks_to_expect(Z, rng), rng)
        learnt = None if rehearsal is None else rehearsal.learn(fit_members(rehearsal.rows, rng, effort, by_whole))
        members = fit_members(Z, rng, effort, by_whole)
        if learnt is None:  # too little to learn from: all members alike
            learnt = np.full(members.count, 1 / members.count), np.ones(X.shape[1])
        kept = np.sort(rng.permutation(len(Z))[:KEPT_ROWS])
        return cls(units, members, *learnt, Z[kept])

    def values(self, X: Matrix) -> RowValues:
        """Expected values of what is missing in any rows, and their variances."""
        found = self._standard(X)
        return RowValues.around(X, self.units.back(found.mean), found.variance * self.units.deviation**2)

    def sample(self, X: Matrix, n: int, rng: np.random.Generator) -> Matrix:
        """Rows completed n times by draws, (n, rows, d): what is observed is the same in all of them."""
        found, observed = self._standard(X), ~np.isnan(X)
        deviation = np.sqrt(found.variance)
        out = np.empty((n, *X.shape))
        for drawn in out:
            drawn[...] = self.units.back(found.mean + deviation * self._draws.deviations(observed, rng))
            drawn[observed] = X[observed]
        return out

    def _standard(self, X: Matrix) -> RowValues:
        Z = self.units.to(X)
        found = self.members.expect(Z)
        return RowValues.around(Z, np.tensordot(self.weights, found.means, axes=1), found.variance * self.level**2)

    @cached_property
    def _draws(self) -> JointDraws:
        found = self._standard(self.units.back(self.rows))
        return JointDraws.learn(self.rows, found, np.random.default_rng(SEED))


def fit_members(Z: Matrix, rng: np.random.Generator, effort: Effort, by_whole: bool) -> Members:
    """Fit rows in standard units: by the complete ones where they know enough, else by a model of all."""
    return CandidateMembers.fit(Z[~np.isnan(Z).any(axis=1)]) if by_whole else SingleMember(fit_factors(Z, rng, effort))


def masks_to_expect(Z: Matrix, rng: np.random.Generator) -> Mask:
    """Masks of the incomplete rows; random ones where all are complete."""
    observed = ~np.isnan(Z)
    masks = observed[~observed.all(axis=1)]
    if len(masks):
        return masks
    hidden = rng.uniform(*RATES, size=(PATTERNS, 1))
    return np.asarray(rng.random((PATTERNS, Z.shape[1])) >= hidden)
