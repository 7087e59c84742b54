"""Tables from text: cells separated by commas, semicolons, tabs or bars.

Every cell is read as text, and columns are converted to numbers after that: only so can all values that mean missing
be recognised, and a cell that is not a number be named by its row and column.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from simcomplete._rows.budget import require
from simcomplete.datasets._columns import pick_columns
from simcomplete.datasets._formats.cells import BOOLEANS, MISSING, is_text
from simcomplete.datasets._formats.decorated import refuse_decorated
from simcomplete.datasets._formats.dialect import LOOK_LINES, MAX_LINE, NAMES, Dialect, is_header, look
from simcomplete.datasets._formats.encoded import EncodedText, check_text
from simcomplete.datasets._formats.numbers import text_to_numbers
from simcomplete.datasets._formats.refused import only_text, refuse_codes
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, optional

# Arrow takes about 9 kB for a column of a table, whatever it holds.
COLUMN_BYTES = 10_000


def read_csv(path: Path, options: Options) -> Table:
    """Read a file of separated text; see `simcomplete.datasets.read_table`."""
    absent = frozenset(MISSING) | frozenset(options.missing)
    written = look(path, absent, options.separator)
    first = written.first
    named = is_header(path, first, absent) if options.header is None else options.header
    if named:
        first[0] = first[0].removeprefix("# ")  # as NumPy's savetxt writes it
    names = first if named else [str(i + 1) for i in range(len(first))]
    label, features = pick_columns(path, names, options)
    _require_room(path, len(first))
    cells = _read_cells(path, written, named)
    if len(cells[0]) == 0:
        hint = "; is a quote opened in it and never closed?" if any("\n" in cell for cell in first) else ""
        raise FileFormatError(f"{path}: there is a header and no row below it{hint}")
    # pandas writes its index, often row numbers, under an empty name: it is not a feature.
    unnamed = named and first[0] == "" and len(first) > 1
    if label is None and names[0] not in options.drop and (not options.columns or 0 not in features):
        label = 0 if unnamed or _is_labels(path, names[0], cells[0], absent, len(first)) else None
        features = [i for i in features if i != label]
    features = [i for i in features if i == 0 or not named or first[i] or not _is_blank(cells[i])]
    if label is None and 0 in features and not options.columns:
        refuse_codes(path, names, cells, features)
    values = text_to_numbers(path, [cells[i] for i in features], [names[i] for i in features], absent, options.decimal)
    labels = None if label is None else [cell.strip() for cell in cells[label].to_pylist()]
    table = as_table(path, values, labels, [names[i] for i in features] if named else None)
    return table if label is None or not named else replace(table, label_name=names[label])


def _is_labels(path: Path, name: str, column: Any, absent: frozenset[str], width: int) -> bool:
    """Whether the first column is text; a sign for missing that occurs once, such as NA for Namibia, is a label."""
    if any(_is_number(cell.strip(), absent) for cell in column[:LOOK_LINES].to_pylist()):
        return False  # as in most tables; the other cells need no look
    cells = [cell.strip() for cell in column.to_pylist()]
    others = Counter(cell for cell in cells if not is_text(cell, absent))
    if sum(others.values()) == len(cells) or any(_is_number(cell, absent) or n > 1 for cell, n in others.items()):
        return False
    if all(cell.lower() in BOOLEANS or cell.lower() in absent for cell in cells):
        return False
    if width == 1:
        raise FileFormatError(f"{path}: {only_text([name, *cells])}")
    refuse_decorated(path, name, cells)
    return True


def _is_blank(column: Any) -> bool:
    """Whether nothing is in a column: without a name, it is a separator at the end of every line."""
    return not any(cell.strip() for chunk in column.chunks for cell in chunk.to_pylist())


def _is_number(cell: str, absent: frozenset[str]) -> bool:
    return cell.lower() not in absent and not is_text(cell, absent)


def _require_room(path: Path, width: int) -> None:
    """Raise where the cells, as text and as numbers, would not fit into memory, or where the file is not text."""
    size, lines = check_text(path)
    # The text itself, its positions (in two copies while it is converted) and the numbers.
    needed = 2 * size + lines * width * 24 + width * COLUMN_BYTES
    require(needed, f"{path} with up to {lines} rows of {width} cells", "save it as .npy, which is read in blocks")


def _read_cells(path: Path, written: Dialect, named: bool) -> list[Any]:
    """Read all cells as text, one Arrow array per column."""
    arrow = optional("pyarrow", extra="cli", purpose="reading .csv files")
    reader = optional("pyarrow.csv", extra="cli", purpose="reading .csv files")
    names = [str(i) for i in range(len(written.first))]
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "error"

    # One thread: with several, a bad row has no number.
    reading = reader.ReadOptions(use_threads=False, column_names=names, block_size=MAX_LINE)
    parsing = reader.ParseOptions(delimiter=written.separator, invalid_row_handler=keep_ragged, newlines_in_values=True)
    as_text = reader.ConvertOptions(column_types=dict.fromkeys(names, arrow.string()), strings_can_be_null=False)
    try:
        with EncodedText(path, skip=written.after if named else written.before) as file:
            table = reader.read_csv(file, reading, parsing, as_text)
    except arrow.ArrowInvalid as error:
        if ragged:
            counts = f"row {ragged[0].number} has {ragged[0].actual_columns} cells, the first line has {len(names)}"
            parted = f"cells are separated by {NAMES.get(written.separator, repr(written.separator))}"
            if len(names) == 1 < written.below:
                raise FileFormatError(
                    f"{path}: the first line, {written.first[0][:40]!r}, does not belong to the table below, whose "
                    f"lines have {written.below} cells; remove such lines"
                ) from error
            raise FileFormatError(
                f"{path}: {counts}; {parted}: fill the row up, quote cells that have the separator in them, or "
                "give separator= if it is another"
            ) from error
        if "Empty CSV" in str(error):  # a header and nothing below it
            return [arrow.chunked_array([], arrow.string())] * len(names)
        raise FileFormatError(f"{path}: cannot be read as separated text ({error})") from error
    return list(table.columns)
