"""Candidates whose similarities are known exactly: what must not be lost, and what checks measure against."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from simcomplete._rows.derived import UnitRows
from simcomplete._rows.table import RowTable, as_row_table
from simcomplete._rows.validate import check_measure
from simcomplete._rows.xp import Array, astype, namespace, set_entries, unit_array, zeros
from simcomplete._similarity.measure import Measure
from simcomplete._similarity.products import prepare_rows


def unit_rows_of_measure(X: Array, measure: Measure) -> Array:
    """Complete rows as unit rows of the plain metric, in float64; 0 for a row without evidence."""
    xp = namespace(X)
    Z = astype(X, xp.float64)
    real = xp.isdtype(X.dtype, "real floating")  # else whole numbers, which are exact
    precision = float(xp.finfo(X.dtype if real else xp.float64).eps)
    unit = unit_array(Z if measure.metric == "cosine" else prepare_rows(Z, measure, precision).Z)
    if measure.epsilon > 0:  # smoothed: a zero row counts as a constant one
        return xp.where(xp.any(unit != 0, axis=1, keepdims=True), unit, 1.0 / Z.shape[1] ** 0.5)
    return unit


def extended(unit: Array, measure: Measure) -> Array:
    """Unit rows of the metric as asked for, with the constant feature of the map to (0, 1]."""
    if not measure.positive:
        return unit
    xp = namespace(unit)
    return xp.concat([unit, xp.ones_like(unit[:, :1])], axis=1) / 2**0.5


@dataclass(frozen=True)
class CandidateRows:
    """Candidates as unit rows P^ in float64, read from their source block by block: P^ P^T is their similarity.

    The source is referred to, not copied: it must not be changed while this is in use.
    """

    source: RowTable
    measure: Measure

    @property
    def n(self) -> int:
        """How many candidates."""
        return self.source.n

    @property
    def width(self) -> int:
        """Columns of P^; the map to (0, 1] adds a constant feature: (1 + p.q)/2 = [p, 1].[q, 1]/2."""
        return self.source.d + self.measure.positive

    def rows(self, which: slice) -> Array:
        """P^ of some rows."""
        return extended(unit_rows_of_measure(self.source[which, :], self.measure), self.measure)

    def similarity(self, rows: slice, cols: slice) -> Array:
        """Return an exact block of candidate similarities, 1 on the diagonal."""
        S = self.rows(rows) @ self.rows(cols).T
        own = np.arange(max(rows.start, cols.start), min(rows.stop, cols.stop))
        set_entries(S, own - rows.start, own - cols.start, zeros(S, (len(own),)) + 1)
        return S

    def are_first_rows_of(self, factor: Any) -> bool:
        """Whether a factor begins with these candidates, made unit when they are read."""
        if not isinstance(factor, UnitRows):
            return False
        held = self.source.held
        return factor.source is self.source or (held is not None and factor.source.held is held)

    def to_table_and_metadata(self) -> tuple[RowTable, dict[str, Any]]:
        """What a file needs to bring this back: the candidates, not read yet, and how they are compared."""
        return self.source, {"kind": "rows", **asdict(self.measure)}


class CandidateBlock:
    """The exact similarities of candidates, given as a matrix."""

    def __init__(self, S: Array | RowTable) -> None:
        self.S = S
        self.n = int(S.shape[0])

    def similarity(self, rows: slice, cols: slice) -> Array:
        """Return a block."""
        return self.S[rows, cols]

    def are_first_rows_of(self, factor: Any) -> bool:
        """They are no rows."""
        return False

    def to_table_and_metadata(self) -> tuple[RowTable, dict[str, Any]]:
        """What a file needs to bring this back."""
        return as_row_table(self.S), {"kind": "block"}


def from_table_and_metadata(table: RowTable, metadata: dict[str, Any]) -> CandidateRows | CandidateBlock:
    """Bring candidates back from what `to_table_and_metadata` gave."""
    if metadata["kind"] == "block":
        return CandidateBlock(table.array_like)
    measure = Measure(**{name: value for name, value in metadata.items() if name != "kind"})
    check_measure(measure.metric, measure.min_overlap, measure.epsilon, table.d)
    return CandidateRows(table, measure)
