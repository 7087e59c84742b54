"""One drawn problem: plain values, so that it can be written down, made smaller and run again."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.float64]
VIEWS = ("unit_diagonal", "keep_candidates", "clip")


@dataclass(frozen=True, eq=False)
class Case:
    """What is completed, how, and what is looked at besides.

    Attributes
    ----------
    form : {"queries", "rows", "matrix", "tools", "repair"}
        Candidates and queries; rows of which every one may be incomplete; a similarity matrix; functions without a
        method; a correlation or covariance matrix to repair.
    method : str
        A name from `sc.methods()`, or "auto"; of a repair the function.
    rows : array of shape (n_p, d)
        The candidates, or all rows, or the matrix.
    queries : array of shape (n_q, d) or None
        The queries.
    dtype : str
        Type that rows are given in; one that cannot hold them is left out by `given`.
    settings : dict
        Keyword arguments of the call.
    looks : tuple of str
        What is looked at besides what always is: names in `calls.LOOKS`.
    """

    form: str
    method: str
    rows: Rows
    queries: Rows | None = None
    dtype: str = "float64"
    settings: dict[str, Any] = field(default_factory=dict)
    looks: tuple[str, ...] = ()

    def given(self) -> tuple[Any, Any]:
        """Rows and queries in the type that was drawn, where it can hold them."""
        return _typed(self.rows, self.dtype), None if self.queries is None else _typed(self.queries, self.dtype)

    def as_json(self) -> dict[str, Any]:
        """Plain values; NaN is null."""
        queries = None if self.queries is None else _plain(self.queries)
        return {**vars(self), "rows": _plain(self.rows), "queries": queries, "looks": list(self.looks)}

    @classmethod
    def from_json(cls, values: dict[str, Any]) -> Case:
        """The case that `as_json` wrote."""
        names = ("form", "method", "dtype", "settings")
        queries = None if values["queries"] is None else _array(values["queries"])
        return cls(
            rows=_array(values["rows"]),
            queries=queries,
            looks=tuple(values["looks"]),
            **{name: values[name] for name in names},
        )

    def __str__(self) -> str:
        return json.dumps(self.as_json())


def _typed(rows: Rows, dtype: str) -> Any:
    if dtype == "list":
        return rows.tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        typed = rows.astype(dtype)
        # Whole numbers and booleans have no NaN, and single precision no 1e300: such rows stay what they are.
        same = np.array_equal(typed.astype(np.float64), rows, equal_nan=True)
        fits = np.array_equal(np.isfinite(typed), np.isfinite(rows))
    return typed if same or (dtype == "float32" and fits) else rows


def _plain(rows: Rows) -> list[list[float | None]]:
    return [[None if np.isnan(value) else float(value) for value in row] for row in rows]


def _array(values: list[list[float | None]]) -> Rows:
    return np.array([[np.nan if value is None else value for value in row] for row in values], dtype=np.float64)
