"""How the model behind a completion is saved, see `_result.layout`."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.extend import FittedRows
from simcomplete._posterior.shared.rows import EFFORTS
from simcomplete._posterior.values.layout import POSTERIOR_MODEL
from simcomplete._result.layout import Each, Layout, Maybe, Parts, Record, Several, need
from simcomplete._result.layout_values import TableOf, Value
from simcomplete._rows.budget import row_blocks
from simcomplete._rows.table import RowTable
from simcomplete._rows.xp import to_numpy

# One table of rows, or candidates and queries; the latter have as many columns.
ONE, TWO = Each((TableOf(("all", "d")),)), Each((TableOf(("given", "d")), TableOf(("queries", "d"))))


class _Tables:
    """One table or two."""

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        return self._of(len(value)).write(value, at, parts)

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        need(isinstance(stored, list) and len(stored) in (1, 2), at, "is neither one table nor two")
        return self._of(len(stored)).read(stored, at, parts)

    def _of(self, count: int) -> Layout:
        return ONE if count == 1 else TWO


def _made(model: Any, scale: float, tables: tuple[RowTable, ...], effort: Any, columns: Any) -> FittedRows:
    first = tables[0]
    if columns is not None:
        need(len(columns) == first.d, "columns", f"are {len(columns)} names of {first.d} features")
        first.columns = list(columns)
    return FittedRows(model, scale, tables, effort)


def _taken(fitted: FittedRows) -> dict[str, Any]:
    names = fitted.tables[0].columns
    named = names is not None and all(isinstance(name, str) for name in names)
    return {**fitted._asdict(), "model": _with_given_rows(fitted), "columns": names if named else None}


def _with_given_rows(fitted: FittedRows) -> Any:
    """The model; candidates that it read from a file, as they are there, are stored once."""
    model, given = fitted.model, fitted.tables[0]
    if not (isinstance(model, CandidateModel) and model.in_memory and given.held is None):
        return model
    kept = model.candidates.table
    blocks = row_blocks(given.n, 3 * 8 * given.d) if kept.shape == given.shape else ()
    if not blocks or not all(np.array_equal(kept[rows, :], to_numpy(given[rows, :])) for rows in blocks):
        return model
    return replace(model, candidates=replace(model.candidates, table=given))


FITTED_ROWS = Record(
    FittedRows,
    {
        "model": POSTERIOR_MODEL,
        "scale": Value(float, low=5e-324),
        "tables": _Tables(),
        "effort": Value(str, tuple(EFFORTS)),
        "columns": Maybe(Several(Value(str))),
    },
    _made,
    _taken,
)


def completion_model(stored: Any, arrays: dict[str, Any]) -> FittedRows:
    """The model behind a completion, of what was stored of it, and of all arrays that were stored."""
    fitted: FittedRows = FITTED_ROWS.read(stored, "model", Parts(dict(arrays)))
    return fitted
