"""Means of rows and columns of ratings, drawn towards the mean of all: taken out before a model, put back after it."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.sparse import stored_cells
from simcomplete._types import Vector
from simcomplete.errors import InputError

BiasKind = Literal["row", "column", "both"]
KINDS = ("row", "column", "both")
ROUNDS = 12  # of alternating between rows and columns, which changes less than 1e-3 after five
SHRINKAGES = (0.5, 1.0, 2.0, 5.0, 10.0, 25.0, 50.0)  # tried, in numbers of values
DEFAULT_SHRINKAGE = 5.0  # where too few values are known to hide some
HIDDEN_SHARE = 0.1
LEAST_HIDDEN = 20  # values, to choose anything by them


@dataclass(frozen=True, eq=False)
class Biases:
    """``mean + rows[u] + columns[i]``, what is expected of a value before anything else is known of the two.

    Attributes
    ----------
    kind : {"row", "column", "both"} or None
        Which means there are besides that of all values.
    mean : float
        Of all known values.
    rows, columns : array of shape (n,) and (d,)
        Mean of what a row, or a column, has beyond the others, with so many zeros (`shrinkage`) among its values.
    shrinkage : tuple of float
        Of rows and of columns.
    """

    kind: BiasKind | None
    mean: float
    rows: Vector = field(repr=False)
    columns: Vector = field(repr=False)
    shrinkage: tuple[float, float]

    def at(self, rows: NDArray[Any], columns: NDArray[Any]) -> Vector:
        """What is expected in some cells."""
        return np.asarray(self.mean + self.rows[rows] + self.columns[columns])

    def of_rows(self, positions: NDArray[np.int64]) -> NDArray[np.float64]:
        """What is expected in every cell of some rows."""
        return np.asarray(self.mean + self.rows[positions][:, None] + self.columns[None, :])

    def __truediv__(self, size: float) -> Biases:
        """The same of values divided by a number."""
        return replace(self, mean=self.mean / size, rows=self.rows / size, columns=self.columns / size)

    def residuals(self, stored: Any) -> Any:
        """Known values less what is expected, in a sparse matrix of the same cells."""
        cells = stored.tocoo()
        return stored_cells(cells.data - self.at(cells.row, cells.col), cells.row, cells.col, stored.shape)


def check_biases(kind: Any) -> None:
    """Refuse a word there is not."""
    if kind is not None and not (isinstance(kind, str) and kind in KINDS):
        raise InputError(f"biases={kind!r} is unknown; use 'row', 'column', 'both' or None", about=("biases",))


def learn_biases(stored: Any, kind: BiasKind | None, shrinkage: tuple[float, float] | None = None) -> Biases:
    """Learn biases of known values.

    Parameters
    ----------
    stored : csr_array of shape (n, d)
        Known values; cells that are not stored are missing.
    kind : {"row", "column", "both"} or None
        Which means to learn; None for that of all values alone.
    shrinkage : tuple of float, optional
        Zeros among the values of a row, and of a column. Chosen by hiding a tenth of the values when left out.

    Examples
    --------
    Three people who each rate one point above the one before, and two films half a point apart:

    >>> from simcomplete._rows.sparse import stored_cells
    >>> X = np.array([[1.0, 1.5], [2.0, 2.5], [3.0, 3.5]])
    >>> found = learn_biases(stored_cells(X.ravel(), *np.divmod(np.arange(6), 2), (3, 2)), "both", (0.0, 0.0))
    >>> found.mean, found.rows.round(2), found.columns.round(2)
    (2.25, array([-1.,  0.,  1.]), array([-0.25,  0.25]))
    """
    cells = stored.tocoo()
    known = (cells.row, cells.col, cells.data.astype(np.float64))
    if shrinkage is None:
        shrinkage = _by_hiding(known, stored.shape, kind)
    return _alternated(known, stored.shape, kind, shrinkage)


def hidden_cells(count: int, share: float, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Which of so many known values to hide; none where they would be too few to learn from."""
    hidden = np.zeros(count, dtype=bool)
    size = int(share * count)
    if size >= LEAST_HIDDEN:
        hidden[rng.permutation(count)[:size]] = True
    return hidden


Cells = tuple[NDArray[Any], NDArray[Any], NDArray[Any]]


def _alternated(known: Cells, shape: Any, kind: BiasKind | None, shrinkage: tuple[float, float]) -> Biases:
    with np.errstate(over="ignore", invalid="ignore"):  # refused below
        found = _coordinate_descent(known, shape, kind, shrinkage)
    if not (np.isfinite(found.mean) and np.isfinite(found.rows).all() and np.isfinite(found.columns).all()):
        raise InputError("biases= needs values whose sums are finite; divide all values by a large number first")
    return found


def _coordinate_descent(known: Cells, shape: Any, kind: BiasKind | None, shrinkage: tuple[float, float]) -> Biases:
    rows, columns, values = known
    n, d = shape
    mean = float(np.mean(values)) if len(values) else 0.0
    rest = values - mean
    of_rows, of_columns = np.zeros(n), np.zeros(d)
    weight_rows = np.maximum(np.bincount(rows, minlength=n) + shrinkage[0], 1e-300)
    weight_columns = np.maximum(np.bincount(columns, minlength=d) + shrinkage[1], 1e-300)
    for _ in range(ROUNDS if kind == "both" else 1):
        if kind in ("column", "both"):
            of_columns = np.bincount(columns, rest - of_rows[rows], minlength=d) / weight_columns
        if kind in ("row", "both"):
            of_rows = np.bincount(rows, rest - of_columns[columns], minlength=n) / weight_rows
    return Biases(kind, mean, of_rows, of_columns, shrinkage)


def _by_hiding(known: Cells, shape: Any, kind: BiasKind | None) -> tuple[float, float]:
    """The shrinkages that expect a tenth of the values best: the same for both first, then each for itself."""
    hidden = hidden_cells(len(known[2]), HIDDEN_SHARE, np.random.default_rng(0))
    if kind is None or not hidden.any():
        return (DEFAULT_SHRINKAGE, DEFAULT_SHRINKAGE)
    left: Cells = tuple(part[~hidden] for part in known)  # type: ignore[assignment]
    rows, columns, truth = (part[hidden] for part in known)
    top = float(np.abs(known[2]).max()) or 1.0  # in units of which squares stay in range
    unit = 1.0 if 1e-100 < top < 1e100 else top

    def error(shrinkage: tuple[float, float]) -> float:
        found = _alternated(left, shape, kind, shrinkage)
        return float(np.mean(((truth - found.at(rows, columns)) / unit) ** 2))

    best = min(((size, size) for size in SHRINKAGES), key=error)
    if kind == "both":
        best = min(((size, best[1]) for size in SHRINKAGES), key=error)
        best = min(((best[0], size) for size in SHRINKAGES), key=error)
    return best


def without_hidden(biases: Biases, stored: Any) -> Biases:
    """The same kind of biases, with the same shrinkage, of fewer values."""
    return learn_biases(stored, biases.kind, biases.shrinkage)
