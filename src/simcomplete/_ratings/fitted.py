"""What a completion of ratings tells of its values."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
from numpy.typing import NDArray

from simcomplete._ratings.biases import Biases, learn_biases
from simcomplete._ratings.model import RatingModel
from simcomplete._rows.sparse import known_cells
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import to_numpy

SAFE = (1e-50, 1e50)  # fourth powers of sums of such values are far from the smallest and the largest number
Values = tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]


@dataclass(frozen=True, eq=False)
class FittedRatings:
    """Rows as they were given, and the model of their values, which is fitted when it is first asked for."""

    tables: tuple[RowTable, ...] = field(repr=False)
    biases: Biases | None = None

    @property
    def d(self) -> int:
        """How many features."""
        return self.tables[0].d

    @cached_property
    def stored(self) -> Any:
        """Known cells of all tables."""
        return scipy.sparse.csr_array(scipy.sparse.vstack([known_cells(table) for table in self.tables]))

    @cached_property
    def size(self) -> float:
        """What values are divided by for the model: 1, unless their squares would be beyond the range of numbers."""
        top = float(np.abs(self.stored.data).max(initial=0.0))
        return 1.0 if top == 0 or SAFE[0] <= top <= SAFE[1] else float(np.ldexp(1.0, np.frexp(top)[1] - 1))

    @cached_property
    def model(self) -> RatingModel:
        """The model."""
        stored = self.stored.copy()
        stored.data = stored.data / self.size  # of the smallest numbers SciPy's division would multiply by infinity
        return RatingModel.fit(stored, learn_biases(stored, None) if self.biases is None else self.biases / self.size)

    def imputed(self, positions: NDArray[np.int64]) -> Values:
        """Values of some rows, observed ones bit for bit, and their standard deviations."""
        if not self.stored.nnz:  # nothing is known, of any value
            return (nothing := rows_at(self.tables, positions)), nothing
        values, std = self.model.values(positions)
        return with_observed(rows_at(self.tables, positions), values * self.size, std * self.size)

    def _replace(self, **changes: Any) -> FittedRatings:
        return replace(self, **changes)


@dataclass(frozen=True, eq=False)
class BiasedValues:
    """Values of a model of what is left without biases, with these put back."""

    inner: Any = field(repr=False)
    biases: Biases
    tables: tuple[RowTable, ...] = field(repr=False)

    @property
    def d(self) -> int:
        """How many features."""
        return self.tables[0].d

    def imputed(self, positions: NDArray[np.int64]) -> Values:
        """Values of some rows, observed ones bit for bit, and their standard deviations."""
        values, std = self.inner.imputed(positions)
        values = np.where(np.isnan(values), 0.0, values)  # of a column that no row has, its bias alone
        return with_observed(rows_at(self.tables, positions), values + self.biases.of_rows(positions), std)


def rows_at(tables: tuple[RowTable, ...], positions: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
    """Some rows of several tables, counted through."""
    out, first = np.empty((len(positions), tables[0].d), to_numpy(tables[0].read(0, 1)).dtype), 0
    for table in tables:
        inside = np.flatnonzero((positions >= first) & (positions < first + table.n))
        if len(inside):
            out[inside] = to_numpy(table.take(positions[inside] - first))
        first += table.n
    return out


def with_observed(rows: NDArray[np.floating[Any]], values: NDArray[Any], std: NDArray[Any]) -> Values:
    """Observed values where there are some, which have no deviation; in the type of the rows."""
    missing = np.isnan(rows)
    return np.where(missing, values.astype(rows.dtype), rows), np.where(missing, std, 0.0).astype(rows.dtype)
