"""Samples as users bring them, as variables in standard units; and matrices over these in the kind that came in."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from simcomplete._rows.budget import require
from simcomplete._rows.frames import FrameRows
from simcomplete._rows.frames_out import as_given
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._rows.validate import as_rows
from simcomplete._rows.xp import to_numpy
from simcomplete._types import Mask, Matrix, Vector
from simcomplete.errors import InputError

CONSTANT = 1e-13  # of the largest value: a smaller deviation is rounding


@dataclass(frozen=True)
class Variables:
    """Samples of variables, NaN where missing.

    Attributes
    ----------
    observed : array of bool, shape (n, d)
        Which values there are.
    Z : array of shape (n, k)
        Variables that change, less their means and divided by their deviations.
    alive : array of bool, shape (d,)
        Which these are.
    mean, size : arrays of shape (d,)
        Means and standard deviations of the observed values.
    table : RowTable
        One row per variable, of their labels.
    notes : tuple of str
        What the data are to be read with.
    """

    observed: Mask
    Z: Matrix
    alive: Mask
    mean: Vector
    size: Vector
    table: RowTable
    notes: tuple[str, ...]

    def wrap(self, M: Matrix) -> Any:
        """A matrix over the variables in the kind of the samples."""
        return as_given(M, self.table, self.table)

    @property
    def labels(self) -> list[str] | None:
        """Names of the variables, where they have some."""
        return self.table.labels


def read_variables(X: Any, by: str) -> Variables:
    """Check samples: variables with fewer than two values are refused by name.

    Examples
    --------
    >>> found = read_variables([[1.0, 5.0], [3.0, 5.0], [None, 5.0]], "columns")
    >>> found.Z.ravel(), found.notes
    (array([-1.,  1., nan]), ('1 variable never changes (1): its correlations are 0',))
    """
    if by not in ("columns", "rows"):
        raise InputError(f"by={by!r} is unknown; use 'columns' where every column is a variable, or 'rows'")
    rows = as_rows(X, "X")
    n, d = rows.shape if by == "columns" else rows.shape[::-1]
    require(
        8 * (20 * d * d + 12 * n * d), f"a matrix of {d} variables from {n} samples", "use fewer variables or samples"
    )
    values = np.array(to_numpy(rows.whole()), dtype=np.float64)
    values = values if by == "columns" else values.T
    table = rows if by == "rows" else _columns(rows, d)
    notes = []
    seen = ~np.isnan(values)
    has_values = seen.any(axis=1)
    if not has_values.all():
        notes.append(f"{_count(int(np.sum(~has_values)), 'sample')} without any value left out")
        values, seen = values[has_values], seen[has_values]
    few = np.flatnonzero(seen.sum(axis=0) < 2)
    if len(few):
        raise InputError(
            f"{'variable' if len(few) == 1 else 'variables'} {_names(table, few)} of X "
            f"{'has' if len(few) == 1 else 'have'} fewer than 2 values, of which nothing can "
            "be estimated; leave out such variables"
            + ("" if by == "rows" else ", or give by='rows' if the variables are in rows")
        )
    top = np.max(np.where(seen, np.abs(values), 0.0), axis=0)
    top = np.where(top > 0, top, 1.0)
    scaled = values / top
    mean = np.nanmean(scaled, axis=0)
    size = np.sqrt(np.nanmean(np.square(scaled - mean), axis=0))
    alive = size > CONSTANT
    if not alive.all():
        still = np.flatnonzero(~alive)
        verb, its = ("never changes", "its") if len(still) == 1 else ("never change", "their")
        notes.append(f"{_count(len(still), 'variable')} {verb} ({_names(table, still)}): {its} correlations are 0")
    Z = (scaled - mean)[:, alive] / size[alive]
    return Variables(seen, Z, alive, mean * top, np.where(alive, size, 0.0) * top, table, tuple(notes))


def _columns(rows: RowTable, d: int) -> RowTable:
    """The columns of a table as rows without values."""
    none = np.empty((d, 0))
    if not isinstance(rows, FrameRows):
        return HeldRows(none)
    names = rows.columns
    header = getattr(rows.header, "columns", None)
    index = header if rows.library == "pandas" else names
    labels = None if names is None else [str(name) for name in names]
    dims = None if rows.dims is None else rows.dims[::-1]
    return FrameRows(none, labels, None, rows.library, index=index, label_name="column", dims=dims)


def _count(k: int, what: str) -> str:
    return f"{k} {what}{'s' * (k != 1)}"


def _names(table: RowTable, which: Any) -> str:
    names = [str(i) if table.labels is None else repr(table.labels[i]) for i in which[:3]]
    return ", ".join(names) + (f" and {len(which) - 3} more" if len(which) > 3 else "")
