"""Out of sample: vectors of new rows by a fitted posterior model."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.table import RowTable
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.overlap import overlap_with


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
        return np.asarray(self.model.vectors(np.asarray(X, dtype=np.float64) / self.scale).u)

    def overlap(self, X: NDArray[Any], progress: bool | None = None) -> NDArray[np.float64]:
        """Cosines over common features of new rows with the fitted ones."""
        return np.asarray(overlap_with(X, self.rows, self.measure, progress))

    def among(self, X: NDArray[Any]) -> NDArray[np.float64]:
        """Expected cosines of new rows among each other; every row has cosine 1 with itself."""
        U = self.transform(X)
        S = np.clip(U @ U.T, -1.0, 1.0)
        np.fill_diagonal(S, 1.0)
        return S
