"""Columns of text as numbers, with a decimal point or a decimal comma.

Other notations (decimal commas, thousands, true and false) are found by looking at all cells, and only where plain
numbers do not do: a table of those is converted without a second look.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete.datasets._formats.cells import (
    ANY_NUMBER,
    BOOLEANS,
    COMMA_NUMBER,
    GROUP_SIGNS,
    GROUPED,
    MINUS,
    POINT_NUMBER,
    SURELY_GROUPED,
    THOUSANDS,
    TYPESET,
    cell_number,
)
from simcomplete.datasets._formats.decorated import is_decorated
from simcomplete.datasets._formats.refused import NotANumber, odd_cell, text_columns
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
    try:
        return table.numbers(decimal or ".", grouped=decimal is not None)
    except FileFormatError:
        if not table.tidy() and decimal is not None:
            raise
    if decimal is not None:
        return table.numbers(decimal, grouped=True)
    return table.numbers(*table.notation())


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
                raise self._not_a_number(decimal, grouped, error) from error
            values[:, which] = np.asarray(numbers, dtype=np.float64).reshape(-1, n).T
        return values

    def tidy(self) -> bool:
        """Write numbers with signs for people, and columns of true and false, as plain ones; whether there were any."""
        compute, changed = self.compute, False
        for i, column in enumerate(self.columns):
            cells = compute.utf8_trim_whitespace(column)
            typeset = self._matches(cells, TYPESET)
            plain = compute.replace_substring(
                compute.replace_substring_regex(cells, f"[{GROUP_SIGNS}]", ""), MINUS, "-"
            )
            plain = compute.if_else(typeset, plain, cells)
            words = compute.utf8_lower(cells)
            known = compute.invert(compute.is_in(words, value_set=self.arrow.array(sorted(self.absent))))
            truths = compute.is_in(words, value_set=self.arrow.array(sorted(BOOLEANS)))
            if compute.any(known).as_py() and not compute.any(compute.and_not(known, truths)).as_py():
                plain = words
                for word, digit in BOOLEANS.items():
                    plain = compute.if_else(compute.equal(words, word), digit, plain)
            if not plain.equals(cells):
                self.columns[i], changed = plain, True
        return changed

    def notation(self) -> tuple[str, bool]:
        """The decimal sign, and whether the other one separates thousands; raise where there are two readings.

        A point, where there is text: then it is not a question of signs.
        """
        found, first = dict.fromkeys((".", ",", "comma", "thousands"), 0), None
        for which, cells in self.batches():
            comma = self._matches(cells, COMMA_NUMBER)
            sure = {sign: self._matches(cells, SURELY_GROUPED[sign]) for sign in (".", ",")}
            here = {**sure, "comma": comma, "thousands": self._matches(cells, THOUSANDS)}
            counts = {name: self.compute.sum(of).as_py() or 0 for name, of in here.items()}
            plain = self.compute.sum(self._matches(cells, POINT_NUMBER)).as_py() or 0
            if counts["."] + counts[","] + counts["comma"] + plain < len(cells) - cells.null_count:
                return ".", False
            found = {name: found[name] + counts[name] for name in found}
            if first is None and counts["comma"]:
                first = self._place(which, comma, cells)
        grouped_by_commas = found["comma"] == found["thousands"]
        if found["."] and not found[","] and grouped_by_commas:
            return ".", True
        if found[","] and not found["."]:
            return ",", True
        if found["."] or found[","] or not found["comma"]:
            return ".", False
        pointed = self._first_with_point()
        if pointed:
            raise InputError(
                f"{self.path}: {first} and {pointed} have different decimal signs; write all with one, or, where one "
                "separates thousands, use decimal='.' or decimal=','"
            )
        if grouped_by_commas:
            raise InputError(
                f"{self.path}: {first} could be a fraction or thousands, and so could every cell with a comma; use "
                "decimal=',' for a fraction or decimal='.' for thousands"
            )
        return ",", False

    def _first_with_point(self) -> str | None:
        for which, cells in self.batches():
            with_point = self.compute.match_substring(cells, ".")
            if self.compute.any(with_point).as_py():
                return self._place(which, with_point, cells)
        return None

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

    def _not_a_number(self, decimal: str, grouped: bool, error: ValueError) -> FileFormatError:
        """What to say: of columns of text by their names, else of the first cell that is not a number."""
        texts, odd = [], None
        for which, cells in self.batches():
            wrong = self.compute.invert(self._matches(cells, ANY_NUMBER))
            n = len(self.columns[0])
            for i, name in enumerate(self.names[which]):
                here, of = cells[i * n : (i + 1) * n], wrong[i * n : (i + 1) * n]
                count = self.compute.sum(of).as_py() or 0
                if not count:
                    continue
                row = self.compute.index(of, True).as_py()
                cell = NotANumber(
                    name, row + 1, here[row].as_py(), most=count > 1 and 2 * count > len(here) - here.null_count
                )
                texts += [cell] if cell.most and not is_decorated(cell.text) else []
                odd = odd or cell
        if texts:
            return FileFormatError(f"{self.path}: {text_columns(texts)}")
        notation = odd is None
        if odd is None:  # a number in another notation than the rest
            for which, cells in self.batches():
                for at, text in enumerate(cells.to_pylist()):
                    if odd is None and text is not None and cell_number(text, decimal, grouped) is None:
                        column, row = divmod(at, len(self.columns[0]))
                        odd = NotANumber(self.names[which.start + column], row + 1, text)
        return FileFormatError(f"{self.path}: {odd_cell(odd, notation) if odd else error}")
