"""How long the vector of an incomplete row is, and how wrong its similarities are.

A row's vector is u = m / sqrt(|m|^2 + V): m its completion, V the variance of what is missing, more for rows that the
model fits badly where they are observed. How much more, and what error is left, is learnt from some rows that lose
further values, by the masks of other rows; and so is how far a row is drawn to its neighbours.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.all_rows.em import Factors
from simcomplete._posterior.all_rows.local import LANDMARKS, Local
from simcomplete._posterior.all_rows.packing import IncompleteRows, Scaling, group_numbers, keys
from simcomplete._posterior.shared.rows import nonzero_or_one, row_energies, unit_rows
from simcomplete._types import Matrix, Vector

POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
STRENGTHS = (0.0, 0.5, 0.75)  # of the local prior
HIDDEN_ROWS, OTHERS = 200, 500  # rows that lose values, and rows they are compared with
MIN_HIDDEN_ROWS = 10  # rows that lose values, to learn anything from
RATES = (0.1, 0.95)  # of missing values, where no masks are known
LEAST_UNCERTAINTY = 1e-4  # of 1 - |u|^2 in an error's scale
QUANTILES = np.linspace(0.0, 1.0, 1001)


class FilledRows(NamedTuple):
    """Completed rows in a model's units: without neighbours, their variances, misfits, and the way to neighbours."""

    values: Matrix
    variance: Matrix
    misfit: Matrix
    shift: Matrix | float


@dataclass(frozen=True)
class RowModel:
    """A fitted model that gives any incomplete row its vector, each row alone.

    V is the variance of what is missing times ``level * misfit**power``, misfit the squared distance of the observed
    values from the model, per value: a row that varies more than most where it is seen does so elsewhere.
    """

    factors: Factors
    scaling: Scaling
    local: Local | None = None
    strength: float = 0.0
    power: float = 0.0
    level: float = 1.0

    def with_local(self, X: Matrix, rng: np.random.Generator) -> RowModel:
        """Let neighbours among some rows draw others."""
        return self.with_landmarks(X[drawn_landmarks(len(X), rng)])

    def with_landmarks(self, X: Matrix) -> RowModel:
        """Let these rows draw others."""
        return replace(self, local=Local.of(self.factors.complete(self._scaled(X))))

    def fill(self, X: Matrix) -> FilledRows:
        """Completed rows, in the model's units."""
        rows = self._scaled(X)
        filled = self.factors.complete(rows)
        return FilledRows(*filled, 0.0 if self.local is None else self.local.shift(self.factors, rows, filled))

    def _scaled(self, X: Matrix) -> IncompleteRows:
        return IncompleteRows.of(X / self.scaling.sizes(X)[:, None])

    def values(self, done: FilledRows) -> Matrix:
        """What rows are completed to."""
        return np.asarray(done.values + self.strength * done.shift)

    def factor(self, done: FilledRows) -> Matrix:
        """What the variances of each row are taken times."""
        return np.asarray(self.level * done.misfit**self.power)

    def vectors(self, done: FilledRows) -> Matrix:
        """u = m / sqrt(|m|^2 + V); unit for complete rows."""
        m = self.values(done)
        # In units of the largest value, so that neither tiny nor huge rows leave the range of numbers.
        top = nonzero_or_one(np.max(np.abs(m), axis=1, initial=0.0))
        m = m / top[:, None]
        with np.errstate(over="ignore"):  # beside what is not known of them, values next to 0 are 0
            rest = np.sqrt(done.variance.sum(axis=1) * self.factor(done)) / top
        return np.asarray(m / nonzero_or_one(np.hypot(np.sqrt(np.sum(m * m, axis=1)), rest))[:, None])

    def tuned(self, strength: float, power: float, done: FilledRows) -> RowModel:
        """Take other settings; the sum of the variances over some rows stays what it is without a power."""
        return self.at_level_of(strength, power, done.variance.sum(axis=1), done.misfit)

    def at_level_of(self, strength: float, power: float, V: Vector, misfit: Vector) -> RowModel:
        """The same from what the variances of each row add up to, and its misfit."""
        scaled = float(np.sum(V * misfit**power))
        level = float(V.sum()) / scaled if scaled > 0 else 1.0
        return replace(self, strength=strength, power=power, level=level)


@dataclass(frozen=True)
class RowsHoldout:
    """Rows of which some lost further values; what they had is the truth."""

    X: Matrix  # after the loss
    hidden_rows: NDArray[np.int64]
    known: NDArray[np.bool_]  # of the hidden_rows rows, before it
    truth: Matrix  # their unit vectors over what was known
    others: NDArray[np.int64]
    half: NDArray[np.bool_]  # of the features

    @classmethod
    def of(cls, X: Matrix, masks: NDArray[np.bool_] | None, rng: np.random.Generator) -> RowsHoldout | None:
        """Let a quarter of the distinct rows, 200 at most, lose what other rows lack; None for too few rows."""
        known = ~np.isnan(X)
        copies = group_numbers(keys(X))
        first = rng.permutation(np.unique(copies, return_index=True)[1])
        whole = np.nan_to_num(X)
        if masks is None:
            masks = known[~known.all(axis=1)]
        for shown in (_drawn(masks, len(first), rng), _random(len(first), X.shape[1], rng)):
            if shown is None:
                continue
            lost, left = known[first] & ~shown, known[first] & shown
            usable = np.flatnonzero(lost.any(axis=1) & left.any(axis=1) & (whole[first] != 0).any(axis=1))
            usable = usable[: min(HIDDEN_ROWS, len(first) // 4)]
            if len(usable) >= MIN_HIDDEN_ROWS:
                break
        else:
            return None
        hidden_rows = first[usable]
        # Copies lose the same values, or they would tell them.
        table = np.zeros((int(copies.max()) + 1, X.shape[1]), dtype=bool)
        table[copies[hidden_rows]] = lost[usable]
        half = np.zeros(X.shape[1], dtype=bool)
        half[rng.permutation(X.shape[1])[: X.shape[1] // 2]] = True
        others = rng.permutation(first)[:OTHERS]
        left = np.where(table[copies], np.nan, X)
        return cls(left, hidden_rows, known[hidden_rows], unit_rows(whole[hidden_rows]), others, half)

    def calibrate(self, model: RowModel) -> Calibration:
        """Choose strength and power for a model fitted to `X`, and measure the errors it leaves.

        The truth is a row's direction over the features that were known of it, fewer than all: errors of cosines over
        fewer features are larger. By how much is seen when only half of those features count.
        """
        done = model.fill(self.X[self.hidden_rows])
        others = replace(model, local=None).fill(self.X[self.others]).values
        pairs = self.hidden_rows[:, None] != self.others
        every = np.ones(len(self.half), dtype=bool)
        strengths = STRENGTHS if model.local is not None else (0.0,)
        best: tuple[float, RowModel, Matrix] | None = None
        for strength, power in product(strengths, POWERS):
            tried = self._errors(model.tuned(strength, power, done), done, others, every, pairs)
            if best is None or tried[0] < best[0]:
                best = tried
        assert best is not None  # there is at least one strength and power
        _, chosen, ratios = best
        halved = self._errors(chosen, done, others, self.half, pairs)[2]
        growth = float(np.mean(halved[pairs] ** 2)) / max(float(np.mean(ratios[pairs] ** 2)), 1e-300)
        exponent = min(max(np.log2(max(growth, 1e-300)), 0.0), 1.0)
        share = self.known.sum(axis=1) / len(self.half)
        ratios = (ratios * (share ** (exponent / 2))[:, None])[pairs]
        return Calibration(chosen.strength, chosen.power, float(np.mean(ratios**2)), np.quantile(ratios, QUANTILES))

    def _errors(
        self,
        model: RowModel,
        done: FilledRows,
        others: Matrix,
        features: NDArray[np.bool_],
        pairs: NDArray[np.bool_],
    ) -> tuple[float, RowModel, Matrix]:
        """Mean squared error over some features, the model again, and |errors| over sqrt(1 - |u|^2)."""
        count = self.known & features
        m = np.where(count, model.values(done), 0.0)
        size = np.sum(m * m, axis=1)
        whole = nonzero_or_one(size + np.sum(np.where(count, done.variance, 0.0), axis=1) * model.factor(done))
        length = nonzero_or_one(np.sqrt(count.astype(np.float64) @ (others * others).T))
        gap = m / np.sqrt(whole)[:, None] - unit_rows(np.where(count, self.truth, 0.0))
        errors = np.abs(gap @ others.T) / length
        scale = np.sqrt(np.maximum(1 - size / whole, LEAST_UNCERTAINTY))
        return float(np.mean(errors[pairs] ** 2)), model, errors / scale[:, None]


@dataclass(frozen=True)
class Calibration:
    """How strongly neighbours draw, how misfit scales variances, and what error is left.

    Errors are over sqrt(1 - |u|^2): their mean square, and their quantiles.
    """

    strength: float
    power: float
    square: float
    quantiles: Matrix

    def expected(self, U: Any) -> float:
        """Expected squared error of a similarity between two of these rows: of the size of 1 - |u_i|^2 |u_j|^2."""
        b = row_energies(U)
        both = (b.sum() ** 2 - np.sum(b * b)) / max(len(b) * (len(b) - 1), 1)
        return float(self.square * max(1.0 - both, 0.0))


def drawn_landmarks(n: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Positions of the rows that neighbours are looked for among, rising."""
    return np.sort(rng.permutation(n)[:LANDMARKS])


def _drawn(masks: NDArray[np.bool_], count: int, rng: np.random.Generator) -> NDArray[np.bool_] | None:
    return masks[rng.integers(len(masks), size=count)] if len(masks) else None


def _random(count: int, d: int, rng: np.random.Generator) -> NDArray[np.bool_]:
    return np.asarray(rng.random((count, d)) > rng.uniform(*RATES, size=(count, 1)))
