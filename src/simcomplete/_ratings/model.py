"""Predicted ratings: biases, neighbours among rows and columns, and factors, weighed by values that are hidden."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import nnls

from simcomplete._ratings.biases import Biases, hidden_cells, without_hidden
from simcomplete._ratings.factors import RatingFactors, factorised, mask_factors, on_features, side_features
from simcomplete._ratings.neighbours import (
    PairSums,
    Weights,
    best_shrinkage,
    by_neighbours,
    mask_of,
    neighbour_weights,
    neighbours_at,
    pair_sums,
)
from simcomplete._rows.sparse import stored_cells
from simcomplete._types import Matrix, Vector

POWERS = (1.0, 3.0)  # of similarities, as weights: many neighbours, and few
RANKS = (8, 24)
HIDDEN_VALUES = 0.1  # share of known values to learn weights by
PRIOR_ERRORS = 20.0  # mean errors that stand beside those of a row or column
DEFAULT_SHRINKAGE_OF_PAIRS = 30.0  # where nothing can be hidden


class RatingMembers(NamedTuple):
    """What was fitted to residuals, each of which predicts every cell."""

    Z: Any
    row_weights: tuple[Weights, ...]
    column_weights: tuple[Weights, ...]
    factors: tuple[RatingFactors, ...]
    on_columns: RatingFactors
    on_rows: RatingFactors

    def of(self, positions: NDArray[np.int64]) -> list[Matrix]:
        """Predictions of some rows by each member."""
        some = self.Z[positions]
        mask = mask_of(some)
        found = [by_neighbours(weights, positions, self.Z) for weights in self.row_weights]
        found += [np.asarray((some @ W) / ((mask @ W) + base)) for W, base in self.column_weights]
        found += [member.of(positions) for member in (*self.factors, self.on_columns)]
        return [*found, np.asarray(self.on_rows.columns[positions] @ self.on_rows.rows.T)]

    def at(self, rows: NDArray[Any], columns: NDArray[Any]) -> Matrix:
        """Predictions of some cells, one column for each member, in the same order."""
        ZT = self.Z.T.tocsr()
        found = [neighbours_at(weights, ZT, rows, columns) for weights in self.row_weights]
        found += [neighbours_at(weights, self.Z, columns, rows) for weights in self.column_weights]
        found += [member.at(rows, columns) for member in (*self.factors, self.on_columns)]
        return np.column_stack([*found, self.on_rows.at(columns, rows)])


class Shrinkages(NamedTuple):
    """Of similarities of rows and of columns."""

    rows: float
    columns: float


@dataclass(frozen=True, eq=False)
class RatingModel:
    """Expected values of all cells of a table of which a few are known.

    Attributes
    ----------
    biases : Biases
        Means of rows and columns.
    weights : array
        Of the members, at least 0.
    shrinkages : Shrinkages
        Of similarities of rows, and of columns.
    spread : float
        Root mean squared error of hidden values.
    """

    members: RatingMembers = field(repr=False)
    biases: Biases
    weights: Vector
    shrinkages: Shrinkages
    spread: float
    row_errors: Vector = field(repr=False)
    column_errors: Vector = field(repr=False)
    bounds: tuple[float, float]

    @classmethod
    def fit(cls, stored: Any, biases: Biases) -> RatingModel:
        """Fit members to known values without a tenth of them, learn weights by these, and fit them to all."""
        rng = np.random.default_rng(0)
        cells = stored.tocoo()
        hidden = hidden_cells(len(cells.data), HIDDEN_VALUES, rng)
        left = stored_cells(cells.data[~hidden], cells.row[~hidden], cells.col[~hidden], stored.shape)
        own = without_hidden(biases, left)
        rows, columns = cells.row[hidden], cells.col[hidden]
        truth = cells.data[hidden] - own.at(rows, columns)
        Z = own.residuals(left)
        sides = pair_sums(Z), pair_sums(Z.T.tocsr())
        shrinkages = Shrinkages(DEFAULT_SHRINKAGE_OF_PAIRS, DEFAULT_SHRINKAGE_OF_PAIRS)
        if len(truth):
            shrinkages = Shrinkages(
                best_shrinkage(sides[0], Z.T.tocsr(), rows, columns, truth),
                best_shrinkage(sides[1], Z, columns, rows, truth),
            )
        first = _members(Z, own, sides, shrinkages, rng)
        found = first.at(rows, columns)
        weights = nnls(found, truth)[0] if len(truth) else np.full(found.shape[1], 1 / found.shape[1])
        errors = (truth - found @ weights) ** 2
        del found, sides
        Z = biases.residuals(stored)
        members = _members(Z, biases, (pair_sums(Z), pair_sums(Z.T.tocsr())), shrinkages, rng, first.factors)
        mean = float(np.mean(errors)) if len(errors) else float(np.mean(Z.data**2)) if Z.nnz else 0.0
        return cls(
            members,
            biases,
            weights,
            shrinkages,
            float(np.sqrt(mean)),
            _relative(errors, rows, stored.shape[0], mean),
            _relative(errors, columns, stored.shape[1], mean),
            (float(cells.data.min()), float(cells.data.max())) if len(cells.data) else (0.0, 0.0),
        )

    def values(self, positions: NDArray[np.int64]) -> tuple[Matrix, Matrix]:
        """Expected values of all cells of some rows, within the range of known ones, and standard deviations."""
        mean = self.biases.of_rows(positions)
        for weight, found in zip(self.weights, self.members.of(positions), strict=True):
            if weight > 0:
                mean += weight * found
        std = self.spread * np.sqrt(self.row_errors[positions][:, None] * self.column_errors[None, :])
        return np.clip(mean, *self.bounds), std


def _members(
    Z: Any,
    biases: Biases,
    sides: tuple[PairSums, PairSums],
    shrinkages: Shrinkages,
    rng: np.random.Generator,
    start: tuple[RatingFactors, ...] | None = None,
) -> RatingMembers:
    M = mask_of(Z)
    n, d = Z.shape
    S, T = (side.shrunk(size) for side, size in zip(sides, shrinkages, strict=True))
    ranks = sorted({min(rank, max(1, (min(n, d) - 1) // 2)) for rank in RANKS})
    of_rows, of_columns = mask_factors(M)
    counts = [np.asarray(M.sum(axis=axis)).ravel() for axis in (1, 0)]
    column_features = side_features(counts[1], biases.columns, of_columns)
    row_features = side_features(counts[0], biases.rows, of_rows)
    return RatingMembers(
        Z,
        tuple(neighbour_weights(S, power) for power in POWERS),
        tuple(neighbour_weights(T, power) for power in POWERS),
        tuple(factorised(Z, rank, rng, start[k] if start else None) for k, rank in enumerate(ranks)),
        on_features(Z, column_features),
        on_features(Z.T.tocsr(), row_features),
    )


def _relative(errors: Vector, places: NDArray[Any], size: int, mean: float) -> Vector:
    """Mean squared errors of rows or columns over that of all, with the latter some times among them."""
    if mean <= 0 or not len(errors):
        return np.ones(size)
    sums, counts = np.bincount(places, errors, minlength=size), np.bincount(places, minlength=size)
    return np.asarray((sums / mean + PRIOR_ERRORS) / (counts + PRIOR_ERRORS))
