"""Match the columns of two frames by name."""

from __future__ import annotations

import reprlib
from collections import Counter
from typing import Any

from simcomplete._rows.frames import FrameRows
from simcomplete._rows.table import RowTable
from simcomplete.errors import InputError


def in_order_of(rows: RowTable, asked: FrameRows, name: str) -> FrameRows:
    """Return a frame with its columns in the order of those of `rows`; unchanged if either has no column names."""
    if isinstance(rows, FrameRows):
        _refuse_turned(rows.dims, asked.dims, name)
    own, wanted = asked.columns, rows.columns
    if own is None or wanted is None or own == wanted:
        return asked
    place = {column: i for i, column in enumerate(own)}
    known = set(wanted)
    missing, extra = (
        [column for column in wanted if column not in place],
        [column for column in own if column not in known],
    )
    if missing or extra:
        parts = [f"{word} {reprlib.repr(names)}" for word, names in (("lack", missing), ("also have", extra)) if names]
        raise InputError(
            f"columns are matched by name, and {name} {' and '.join(parts)}; give both the same columns, in any "
            "order, or tables without column names"
        )
    twice = [column for column, count in (Counter(wanted) | Counter(own)).items() if count > 1]
    if twice:
        raise InputError(f"columns are matched by name, and {reprlib.repr(twice)} name several columns; rename them")
    return asked.with_columns([place[column] for column in wanted])


def _refuse_turned(wanted: tuple[Any, Any] | None, own: tuple[Any, Any] | None, name: str) -> None:
    """Refuse transposed rows of xarray: those whose dimension is that of the other's columns."""
    if own is not None and wanted is not None and (own[0] == wanted[1] or own[1] == wanted[0]):
        raise InputError(f"{name} have the dimensions {own} and candidates {wanted}; transpose one: .transpose()")
