"""Columns of text as numbers, with a decimal point or a decimal comma.

A comma is found by looking at all cells, and only where a point does not do: a table of plain numbers is converted
without a second look.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.datasets._formats.cells import COMMA_NUMBER, GROUPED, POINT_NUMBER, THOUSANDS, cell_number, is_text
from simcomplete.errors import FileFormatError, InputError, optional

# Cells converted at once, because a call of Arrow takes as long as a thousand cells.
BATCH_CELLS = 2**20


def text_to_numbers(
    path: Path, columns: list[Any], names: list[str], absent: frozenset[str], decimal: str | None
) -> NDArray[np.float64]:
    """Convert columns of text to numbers, NaN where missing, or raise with the first cell that is neither.

    Parameters
    ----------
    path, names : Path, list of str
        The file and the names of the columns, for messages.
    columns : list of pyarrow.ChunkedArray
        The cells, as text.
    absent : frozenset of str
        Cells that mean missing, in lower case.
    decimal : {".", ","}, optional
        The sign before the fraction; the other one may then separate thousands. By default a point, or a comma where
        the cells leave no doubt.
    """
    table = _TextTable(path, columns, names, absent)
    if decimal is not None:
        return table.numbers(decimal, grouped=True)
    try:
        return table.numbers(".", grouped=False)
    except FileFormatError:
        if table.has_decimal_commas():
            return table.numbers(",", grouped=False)
        raise


class _TextTable:
    """Columns of text cells, looked at in batches."""

    def __init__(self, path: Path, columns: list[Any], names: list[str], absent: frozenset[str]) -> None:
        self.path, self.columns, self.names, self.absent = path, columns, names, absent
        self.arrow = optional("pyarrow", extra="cli", purpose="reading .csv files")
        self.compute = optional("pyarrow.compute", extra="cli", purpose="reading .csv files")

    def batches(self) -> Iterator[tuple[slice, Any]]:
        """Yield some columns at a time, one after the other in one array: trimmed, and null where missing."""
        arrow, compute = self.arrow, self.compute
        step = max(1, BATCH_CELLS // len(self.columns[0]))
        for start in range(0, len(self.columns), step):
            which = slice(start, min(start + step, len(self.columns)))
            chunks = [chunk for column in self.columns[which] for chunk in column.chunks]
            cells = compute.utf8_trim_whitespace(arrow.concat_arrays(chunks))
            missing = compute.is_in(compute.utf8_lower(cells), value_set=arrow.array(sorted(self.absent)))
            yield which, compute.if_else(missing, arrow.scalar(None, arrow.string()), cells)

    def numbers(self, decimal: str, grouped: bool) -> NDArray[np.float64]:
        """Convert all columns."""
        n = len(self.columns[0])
        values = np.empty((n, len(self.columns)))
        for which, cells in self.batches():
            try:
                numbers = self._cast(cells, decimal, grouped).to_numpy(zero_copy_only=False)
            except ValueError as error:
                raise self._not_a_number(which, decimal, grouped, error) from error
            values[:, which] = np.asarray(numbers, dtype=np.float64).reshape(-1, n).T
        return values

    def has_decimal_commas(self) -> bool:
        """Whether every cell is a number once commas are decimal; raise where that is one of two readings."""
        commas, first, pointed = 0, None, None
        grouped = True
        for which, cells in self.batches():
            comma = self._matches(cells, COMMA_NUMBER)
            found = self.compute.sum(comma).as_py() or 0
            plain = self._matches(cells, POINT_NUMBER)
            if found + (self.compute.sum(plain).as_py() or 0) < len(cells) - cells.null_count:
                return False  # there is text: not a question of commas
            if not found:
                continue
            commas += found
            grouped = grouped and found == self.compute.sum(self._matches(cells, THOUSANDS)).as_py()
            first = first or self._place(which, comma, cells)
        for which, cells in self.batches() if commas else ():
            with_point = self.compute.match_substring(cells, ".")
            if self.compute.any(with_point).as_py():
                pointed = self._place(which, with_point, cells)
                break
        if pointed:
            raise InputError(
                f"{self.path}: {first} and {pointed} have different decimal signs; write all with one, or, where one "
                "separates thousands, say decimal='.' or decimal=','"
            )
        if commas and grouped:
            raise InputError(
                f"{self.path}: {first} could be a fraction or thousands, and so could every cell with a comma; say "
                "decimal=',' for a fraction or decimal='.' for thousands"
            )
        return commas > 0

    def _cast(self, cells: Any, decimal: str, grouped: bool) -> Any:
        compute, other = self.compute, "," if decimal == "." else "."
        if grouped:
            parted = self._matches(cells, GROUPED[decimal])
            cells = compute.if_else(parted, compute.replace_substring(cells, other, ""), cells)
        if decimal == ",":
            if compute.any(compute.match_substring(cells, ".")).as_py():
                raise ValueError("a point in a number with a decimal comma")
            cells = compute.replace_substring(cells, ",", ".")
        return compute.cast(cells, self.arrow.float64())

    def _matches(self, cells: Any, pattern: str) -> Any:
        return self.compute.match_substring_regex(cells, f"^(?:{pattern})$", ignore_case=True)

    def _place(self, which: slice, found: Any, cells: Any) -> str:
        """Describe the first of the cells that were found."""
        at = self.compute.index(found, True).as_py()
        column, row = divmod(at, len(self.columns[0]))
        return f"{cells[at].as_py()[:40]!r} (row {row + 1}, column {self.names[which.start + column]!r})"

    def _not_a_number(self, which: slice, decimal: str, grouped: bool, error: ValueError) -> FileFormatError:
        # A cell that is no number in any notation says more than one that is none in this.
        for wrong in (is_text, lambda cell, absent: cell_number(cell, decimal, grouped) is None):
            for name, column in zip(self.names[which], self.columns[which], strict=True):
                for row, raw in enumerate(column.to_pylist(), start=1):
                    if raw.strip().lower() not in self.absent and wrong(raw.strip(), self.absent):
                        return FileFormatError(
                            f"{self.path}: row {row}, column {name!r}: {raw[:40]!r} is not a number; where it is "
                            "missing leave the cell empty, or say missing=; a column that is no feature is named with "
                            "id= or drop=; only the first column may be text without that: all of it, or unnamed"
                        )
        return FileFormatError(f"{self.path}: columns {self.names[which.start]!r} and after: {error}")
