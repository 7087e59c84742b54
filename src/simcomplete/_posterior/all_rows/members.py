"""Several models of the same incomplete rows: over rows and over features, in raw, unit and standard units.

A model over rows has loadings and noise per feature; one over features (the table transposed) has loadings and noise
per row: better where rows are few, where noise differs by row, or where some features have few values.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple, Protocol

import numpy as np

from simcomplete._posterior.all_rows.calibrate import RowModel
from simcomplete._posterior.all_rows.em import FLOOR, KAPPA, MEAN_RIDGE, FactorProblem, Factors
from simcomplete._posterior.all_rows.packing import (
    BLOCK,
    IncompleteRows,
    from_triangles,
    to_triangles,
    triangle,
)
from simcomplete._types import Matrix, Vector

RATIOS = (1e-100, 1e100)  # of the lengths of rows in two spaces, so that squares stay in the range of numbers
PRIOR_ROWS = 2.0  # rows that the mean variance counts for beside those of a feature


class MemberValues(NamedTuple):
    """Expected values of rows and their variances, in unit space; the way to neighbours and the misfit, if any."""

    mean: Matrix
    variance: Matrix
    misfit: Vector | None = None
    shift: Matrix | None = None


class RowMember(Protocol):
    """A fitted model that completes any rows, each alone."""

    def expect(self, X: Matrix, size: Vector) -> MemberValues:
        """Complete rows, NaN where missing, and divide them by `size`."""


@dataclass(frozen=True)
class OverRows:
    """A factor model whose samples are the rows."""

    model: RowModel = field(repr=False)

    def expect(self, X: Matrix, size: Vector) -> MemberValues:
        """Complete rows."""
        done = self.model.fill(X)
        ratio = np.clip(self.model.scaling.sizes(X) / size, *RATIOS)[:, None]
        shift = None if isinstance(done.shift, float) else done.shift * ratio
        return MemberValues(done.values * ratio, done.variance * ratio**2, done.misfit, shift)


@dataclass(frozen=True)
class FeatureUnits:
    """Mean and deviation of the observed values of every feature; deviations of few values are drawn to the mean."""

    mean: Vector
    deviation: Vector
    count: Vector
    low: Vector
    high: Vector

    @classmethod
    def of(cls, Y: Matrix) -> FeatureUnits:
        """Take rows with NaN where missing; every feature has a value.

        Examples
        --------
        >>> FeatureUnits.of(np.array([[1.0, 5.0], [3.0, np.nan]])).deviation.round(2)
        array([0.87, 0.58])
        """
        known = ~np.isnan(Y)
        count = known.sum(axis=0).astype(np.float64)
        mean = np.nan_to_num(Y).sum(axis=0) / np.maximum(count, 1.0)
        squares = np.sum(np.where(known, Y - mean, 0.0) ** 2, axis=0)
        common = float(np.mean(squares / np.maximum(count, 1.0)))
        variance = (squares + PRIOR_ROWS * common) / (count + PRIOR_ROWS)
        floor = max(float(np.max(np.abs(mean), initial=0.0)), 1e-150) * 1e-8
        low, high = (np.where(known, Y, edge) for edge in (np.inf, -np.inf))
        return cls(mean, np.maximum(np.sqrt(variance), floor), count, low.min(axis=0), high.max(axis=0))


@dataclass(frozen=True)
class OverFeatures:
    """A factor model whose samples are the features: every row has a mean, loadings and a noise of its own.

    A row alone is one system of r + 1 unknowns, its values against the factors of the features it has.
    """

    units: FeatureUnits | None = field(repr=False)
    factors: Factors = field(repr=False)
    scores: Matrix = field(repr=False)  # (d, r + 1), expected factors of the features, and 1
    spread: Matrix = field(repr=False)  # (d, r(r+1)/2), their covariance
    moments: Matrix = field(repr=False)  # (d, (r+1)(r+2)/2)
    variance: float

    @staticmethod
    def rows(Y: Matrix, units: FeatureUnits | None) -> IncompleteRows:
        """Rows in unit space as a table of features, standardised by `units` where they are given."""
        return IncompleteRows.of(np.ascontiguousarray(_to(Y, units).T))

    @classmethod
    def of(cls, rows: IncompleteRows, units: FeatureUnits | None, factors: Factors) -> OverFeatures:
        """Take what was fitted to such a table."""
        parts = [factors.expect(some) for _, some in rows.blocks(factors.row_bytes)]
        scores = np.concatenate([np.column_stack([part.z, np.ones(len(part.z))]) for part in parts])
        spread, moments = (np.concatenate(each) for each in ([p.spread for p in parts], [p.moments() for p in parts]))
        return cls(units, factors, scores, spread, moments, FactorProblem.of(rows, False, True).variance)

    def expect(self, X: Matrix, size: Vector) -> MemberValues:
        """Complete rows."""
        Y = _to(X / size[:, None], self.units)
        mean, variance = np.empty_like(Y), np.empty_like(Y)
        r = self.factors.rank
        step = max(1, BLOCK // (8 * (4 * (r + 1) ** 2 + 4 * Y.shape[1])))
        for at in range(0, len(Y), step):
            mean[at : at + step], variance[at : at + step] = self._block(Y[at : at + step])
        if self.units is not None:
            mean = mean * self.units.deviation + self.units.mean
            variance = variance * self.units.deviation**2
        known = ~np.isnan(X)
        return MemberValues(np.where(known, X / size[:, None], mean), np.where(known, 0.0, variance))

    def _block(self, Y: Matrix) -> tuple[Matrix, Matrix]:
        """The M step of single variables of the transposed table, and what it says of all features."""
        known, r = ~np.isnan(Y), self.factors.rank
        ridge = self.factors.ridge
        assert ridge is not None  # fitted models have one
        M, count = known.astype(np.float64), known.sum(axis=1).astype(np.float64)
        centre = np.where(known, Y, 0.0).sum(axis=1) / np.maximum(count, 1.0)
        gap = np.where(known, Y - centre[:, None], 0.0)
        A = from_triangles(M @ self.moments, r + 1)
        A[:, np.arange(r + 1), np.arange(r + 1)] += np.append(ridge, MEAN_RIDGE)
        inverse = np.linalg.inv(A)
        cross = gap @ self.scores
        both = np.matmul(inverse, cross[:, :, None])[:, :, 0]
        residual = np.maximum(np.sum(gap * gap, axis=1) - np.sum(cross * both, axis=1), 0.0)
        noise = np.maximum((residual + KAPPA * self.variance) / (count + KAPPA), FLOOR * self.variance)
        i, j = triangle(r).upper
        factors = (both[:, i] * both[:, j] * triangle(r).times) @ self.spread.T
        loadings = (to_triangles(inverse) * triangle(r + 1).times) @ self.moments.T
        variance = noise[:, None] * (1.0 + loadings) + factors
        return centre[:, None] + both @ self.scores.T, np.maximum(variance, 0.0)


def _to(Y: Matrix, units: FeatureUnits | None) -> Matrix:
    return Y if units is None else np.asarray((Y - units.mean) / units.deviation)
