"""What people look at beside answers: candidates by id, samples to try, and the range of every feature."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.shared.rows import take_matrix
from simcomplete._serve.answers import Served

MOST_SHOWN = 256  # rows in one answer
RANGED = 10_000  # candidates that ranges of features are taken from
DEVIATIONS = 3.0  # from the mean, that the range of a feature of an imputer reaches


@dataclass(frozen=True)
class Samples:
    """Rows to try a model on: held out, or its own candidates.

    Attributes
    ----------
    rows : array of shape (n, d), or None
        NaN where missing; None for the candidates.
    names : list of str
        What they are called; empty for numbers.
    """

    rows: NDArray[np.float64] | None = None
    names: tuple[str, ...] = ()

    def some(self, served: Served, start: int, count: int) -> dict[str, Any]:
        """Rows from a place on, with their names; with their ids where they are candidates."""
        if self.rows is not None:
            part = slice(start, start + count)
            places = range(*part.indices(len(self.rows)))
            names = [self.names[i] if i < len(self.names) else f"sample {i}" for i in places]
            return {"n": len(self.rows), "rows": self.rows[part], "names": names, "ids": None}
        if not served.searches:
            return {"n": 0, "rows": np.zeros((0, served.d)), "names": [], "ids": None}
        ids = served.ids.values[start : start + count].tolist()
        rows = candidate_rows(served, np.arange(start, start + len(ids)))
        return {"n": len(served.ids), "rows": rows, "names": [str(key) for key in ids], "ids": ids}


def candidate_rows(served: Served, positions: NDArray[np.int64]) -> NDArray[np.float64]:
    """Candidates in the units they came in; under "pearson" less their own mean, which is not kept."""
    fitted: Any = served.candidates()
    return served.in_own_units(take_matrix(fitted._rows, positions))


def candidates_by_id(served: Served, ids: list[Any]) -> dict[str, Any]:
    """Candidates and their payloads, in the order asked for."""
    rows = candidate_rows(served, served.ids.positions(ids))
    return {"rows": rows, "payloads": [served.payloads.get(key) for key in ids]}


def feature_ranges(served: Served) -> dict[str, Any]:
    """Names of features, and between which values they usually lie; NaN for one without any value."""
    low, high = np.full(served.d, np.nan), np.full(served.d, np.nan)
    if served.searches:
        rows = candidate_rows(served, np.arange(min(len(served.ids), RANGED)))
        some = ~np.isnan(rows).all(axis=0)
        low[some], high[some] = np.nanmin(rows[:, some], axis=0), np.nanmax(rows[:, some], axis=0)
    elif served.model._model is not None:
        some, units = served.model._with_values, served.model._model.units
        low[some], high[some] = (units.mean + sign * DEVIATIONS * units.deviation for sign in (-1, 1))
    return {"names": served.names, "low": low, "high": high}
