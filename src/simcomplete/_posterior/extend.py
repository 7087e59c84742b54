"""What a fitted posterior model tells of rows: vectors of new ones, values of those it was fitted to."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.all_rows.split import CompleteRowsModel
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.centred import CentredModel
from simcomplete._posterior.shared.rows import Effort, in_units_of, nonzero_or_one
from simcomplete._result.completion import Completion
from simcomplete._result.pair_spread import UncertainRows
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.overlap import overlap_with

LEARNT_VALUES = 2**22  # of a table whose missing values are asked for, to learn from
LEARNT_ROWS = 2000  # of it at least


@dataclass(frozen=True)
class PosteriorExtension:
    """A fitted model and the rows it was fitted to.

    Attributes
    ----------
    model : object
        With `unit`, vectors of the fitted rows, and `vectors(X)`, those of others; values are divided by `scale`.
    rows : RowTable
        The fitted rows, NaN where missing.
    scale : float
        What values are divided by.
    measure : Measure
        The cosine, or the correlation: then the model takes rows as they come, and centres them.
    """

    model: Any = field(repr=False)
    rows: RowTable = field(repr=False)
    scale: float = 1.0
    measure: Measure = field(default_factory=Measure)

    @property
    def factor(self) -> Any:
        """Vectors of the fitted rows."""
        return self.model.unit

    def transform(self, X: NDArray[Any], progress: bool | None = None) -> NDArray[np.float64]:
        """Vectors of new rows, each by itself; their products with those of fitted rows are expected cosines."""
        return np.asarray(self.model.vectors(as_fitted(self.model, self.scale, X)).u)

    def overlap(self, X: NDArray[Any], progress: bool | None = None) -> NDArray[np.float64]:
        """Cosines over common features of new rows with the fitted ones."""
        return np.asarray(overlap_with(X, self.rows, self.measure, progress))

    def among(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Expected cosines of new rows among each other; every row has cosine 1 with itself."""
        U = self.transform(X)
        S = np.clip(U @ U.T, -1.0, 1.0)
        np.fill_diagonal(S, 1.0)
        return S


def as_fitted(model: Any, scale: float, X: NDArray[Any]) -> NDArray[np.float64]:
    """Rows as a model takes them: one of all rows in units of its scale, one of candidates as they come.

    The latter has units of its own, those of its candidates.
    """
    inner = model.model if isinstance(model, CentredModel) else model
    if isinstance(inner, CandidateModel | CompleteRowsModel):
        return np.asarray(X, dtype=np.float64)
    return in_units_of(scale, X)


class RestrictedCosines(NamedTuple):
    """Expected cosines over some features, and what their intervals grow with: 0 where all of these are known."""

    similarity: NDArray[np.float64]
    spread: NDArray[np.float64]


class FittedRows(NamedTuple):
    """A fitted model, the scale of its rows, and the rows it completed: one table, or candidates and queries."""

    model: Any
    scale: float
    tables: tuple[RowTable, ...]
    effort: Effort

    @property
    def d(self) -> int:
        """How many features."""
        return self.tables[0].d

    @property
    def columns(self) -> list[Any] | None:
        """Names of the features, if they have names."""
        return self.tables[0].columns

    def imputed(self, positions: NDArray[np.int64]) -> tuple[NDArray[np.floating[Any]], NDArray[np.floating[Any]]]:
        """Values of some rows, observed ones bit for bit, and their standard deviations."""
        from simcomplete._posterior.values.model import ValueModel  # it stands above the method

        rows = self._rows(positions)
        fitted = self._rows(self._some()).astype(np.float64)
        known = ~np.isnan(fitted).all(axis=0)
        values, std = np.full(rows.shape, np.nan), np.full(rows.shape, np.nan)
        if known.any():
            model = ValueModel.fit(fitted[:, known], np.random.default_rng(0), self.effort)
            values[:, known], std[:, known] = model.values(rows[:, known].astype(np.float64))
        return np.where(np.isnan(rows), values.astype(rows.dtype), rows), std.astype(rows.dtype)

    def to_arrays(self, parts: Any) -> Any:
        """Plain values, with arrays in `parts`: what a saved completion keeps of its model."""
        from simcomplete._posterior.layout import FITTED_ROWS  # only needed to save

        return FITTED_ROWS.write(self, "model", parts)

    def query(self, done: Any, Q: Any) -> Any:
        """A completion of the same candidates with other queries, see `_posterior.query`."""
        from simcomplete._posterior.query import answer_queries  # it stands above the method

        return answer_queries(self, done, Q)

    def restricted(
        self,
        rows: NDArray[np.int64],
        cols: NDArray[np.int64],
        features: NDArray[np.bool_] | None,
        mechanism: str = "auto",
    ) -> RestrictedCosines:
        """Expected cosines over some features of every pair."""
        by_value = mechanism == "auto"
        every = []
        for positions in (rows, cols):
            X = as_fitted(self.model, self.scale, self._rows(positions))
            if features is None:
                count = ~np.isnan(X)
            else:
                count = features[positions] if features.ndim == 2 else np.broadcast_to(features, X.shape)
            if hasattr(self.model, "moments"):
                mean, square = self.model.moments(X, by_value)
            else:
                mean, std = (np.nan_to_num(part) for part in self.model.values(X))
                mean, std = mean * count, std * count
                top = np.max(np.maximum(np.abs(mean), std), axis=1, initial=0.0)
                top = np.where(top > 0, top, 1.0)[:, None]  # squares of huge values stay in range
                mean = mean / top
                square = mean * mean + np.square(std / top)
            every.append((mean * count, square * count, count.astype(np.float64)))
        (a, a2, A), (b, b2, B) = every
        own, others = a2 @ B.T, A @ b2.T
        whole = np.sqrt(np.maximum(own, 0.0)) * np.sqrt(np.maximum(others, 0.0))
        safe = np.where(whole > 0, whole, 1.0)
        sure = ((a * a) @ B.T / nonzero_or_one(own)) * (A @ (b * b).T / nonzero_or_one(others))
        same = rows[:, None] == cols[None, :]
        spread = np.sqrt(np.maximum(1 - sure, 0.0))
        if hasattr(self.model, "pairs"):
            sides = [UncertainRows(m, np.maximum(m2 - m * m, 0.0), count) for m, m2, count in every]
            spread = self.model.pairs.deviations(*sides, rows, cols, doubted=by_value)
        spread = np.where(same, 0.0, spread)
        spread = np.where(A @ B.T > 0, spread, np.inf)  # nothing is claimed of pairs without a feature that counts
        return RestrictedCosines(np.where(same & (whole > 0), 1.0, np.clip(a @ b.T / safe, -1.0, 1.0)), spread)

    def _some(self) -> NDArray[np.int64]:
        """Positions of rows to learn values from: of every table at most as many as hold LEARNT_VALUES."""
        rng, some, first = np.random.default_rng(0), [], 0
        for table in self.tables:
            some.append(first + np.sort(rng.permutation(table.n)[: max(LEARNT_VALUES // self.d, LEARNT_ROWS)]))
            first += table.n
        return np.concatenate(some)

    def _rows(self, positions: NDArray[np.int64]) -> NDArray[np.floating[Any]]:
        parts, first = [], 0
        place = np.argsort(np.argsort(positions, kind="stable"), kind="stable")
        rising = np.sort(positions)
        for table in self.tables:
            own = rising[(rising >= first) & (rising < first + table.n)] - first
            parts.append(to_numpy(table.take(own)))
            first += table.n
        return np.asarray(np.concatenate(parts)[place])


def posterior_extension(done: Completion, rows: RowTable, measure: Measure) -> PosteriorExtension:
    """What adds rows to a completion: the model that made it."""
    fitted = done.model
    model = CentredModel(fitted.model) if measure.metric == "pearson" else fitted.model
    return PosteriorExtension(model, rows, fitted.scale, measure)
