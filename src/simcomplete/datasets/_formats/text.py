"""Tables from text separated by commas or tabs.

Every cell is read as text, and columns are converted to numbers after that: only so can all values that mean missing
be recognised, and a cell that is not a number be named by its row and column.
"""

from __future__ import annotations

import codecs
import csv
import io
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.budget import readable, require
from simcomplete.datasets._formats.decorated import refuse_decorated
from simcomplete.datasets._table import Options, Table, as_table
from simcomplete.errors import FileFormatError, optional

# In lower case; blanks around a cell are ignored.
MISSING = ("", "nan", "na", "n/a", "null", "none")
# Bytes read at once; a line must fit into them, and one of a million numbers does.
BLOCK_BYTES = 32 * 2**20
# Arrow takes about 9 kB for a column of a table, whatever it holds, and gives up at about a million of them.
COLUMN_BYTES = 10_000
MAX_COLUMNS = 100_000
# Cells converted at once.
BATCH_CELLS = 2**20
COUNT_BYTES = 2**20  # read at once to count lines
HEADER_HINT = "say which with header=True or header=False (--header or --no-header)"


def read_csv(path: Path, options: Options) -> Table:
    """Read a .csv or .tsv file; see `simcomplete.datasets.read_table`."""
    separator = "\t" if path.suffix.lower() == ".tsv" else ","
    absent = frozenset(MISSING) | frozenset(options.missing)
    first, before = _first_line(path, separator)
    named = _is_header(path, first, absent) if options.header is None else options.header
    _require_room(path, len(first))
    columns = _read_cells(path, len(first), skip=before + named, separator=separator)
    if len(columns[0]) == 0:
        raise FileFormatError(f"{path}: there is a header and no row below it")
    names = first if named else [str(i + 1) for i in range(len(first))]
    # pandas writes its index, often row numbers, under an empty name: it is not a feature.
    unnamed = named and first[0] == "" and len(first) > 1
    labels = [cell.strip() for cell in columns[0].to_pylist()]
    labelled = unnamed or all(_is_text(cell, absent) for cell in labels)
    if labelled and len(columns) == 1:
        others = [other for other in (";", "\t", "|", ",") if other in first[0]]
        hint = f"; it looks separated by {others[0]!r}: commas are for .csv, tabs for .tsv" if others else ""
        raise FileFormatError(f"{path}: the only column holds text, numbers are needed{hint}")
    if labelled and not unnamed:
        refuse_decorated(path, names[0], labels)
    start = 1 if labelled else 0
    values = _numbers(path, columns[start:], names[start:], absent)
    return as_table(path, values, labels if labelled else None, names[start:] if named else None)


def _first_line(path: Path, separator: str) -> tuple[list[str], int]:
    """Return the cells of the first line that is not blank, and the number of lines before it."""
    before = 0
    with path.open("rb") as file:
        while raw := file.readline(BLOCK_BYTES):
            if b"\0" in raw:
                raise FileFormatError(f"{path}: is not text; give comma-separated values in UTF-8")
            if len(raw) == BLOCK_BYTES:
                raise FileFormatError(f"{path}: a line is longer than {readable(BLOCK_BYTES)}; is it a table of text?")
            if raw.count(separator.encode()) >= MAX_COLUMNS:
                raise FileFormatError(
                    f"{path}: the first line has {raw.count(separator.encode()) + 1} cells, and text may have "
                    f"{MAX_COLUMNS} columns; one row is one line: transpose the table, or save it as .npy"
                )
            try:
                for line in io.StringIO(raw.decode("utf-8-sig"), newline=""):  # several where \r ends a line
                    if line.strip():
                        return [cell.strip() for cell in next(csv.reader([line], delimiter=separator))], before
                    before += 1
            except (UnicodeDecodeError, csv.Error) as error:
                raise FileFormatError(f"{path}: is not text in UTF-8 ({error}); save it as UTF-8") from error
    raise FileFormatError(f"{path}: the file is empty")


def _require_room(path: Path, width: int) -> None:
    """Raise where the cells, as text and as numbers, would not fit into memory, or where the file is not text."""
    lines, decoder = 1, codecs.getincrementaldecoder("utf-8")()
    with path.open("rb") as file:
        while block := file.read(COUNT_BYTES):
            lines += max(block.count(b"\n"), block.count(b"\r"))
            _decode(path, decoder, block)
    _decode(path, decoder, b"", final=True)
    # The text itself, its positions (in two copies while it is converted) and the numbers.
    needed = 2 * path.stat().st_size + lines * width * 24 + width * COLUMN_BYTES
    require(needed, f"{path} with up to {lines} rows of {width} cells", "save it as .npy, which is read in blocks")


def _decode(path: Path, decoder: codecs.IncrementalDecoder, block: bytes, final: bool = False) -> None:
    try:
        decoder.decode(block, final)
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: is not text in UTF-8 ({error}); save it as UTF-8") from error


def _is_header(path: Path, cells: list[str], absent: frozenset[str]) -> bool:
    """Return whether the first line names the columns; raise where it could be a row as well."""
    if any(_is_text(cell, absent) for cell in cells[1:]) or len(cells) == 1:
        return any(_is_text(cell, absent) for cell in cells)
    counting = [str(i) for i in range(len(cells))]
    if cells[0] == "" and cells[1:] == counting[:-1] and len(cells) > 2:
        return True  # the default names of a pandas frame, behind its index
    if _is_text(cells[0], absent):
        reading = f"({cells[0]}, {cells[1]}, ...) could name the columns or be a row and its label"
        raise FileFormatError(f"{path}: the first line {reading}; {HEADER_HINT}")
    if cells == counting and len(cells) > 2:
        reading = "(0, 1, 2, ...) could name the columns or be a row"
        raise FileFormatError(f"{path}: the first line {reading}; {HEADER_HINT}")
    return False


def _is_text(cell: str, absent: frozenset[str]) -> bool:
    return cell.lower() not in absent and _cell_number(cell) is None


def _cell_number(cell: str) -> float | None:
    try:
        return None if "_" in cell else float(cell)  # Python accepts 1_000 as a number, tables do not
    except ValueError:
        return None


def _read_cells(path: Path, width: int, skip: int, separator: str) -> list[Any]:
    """Read all cells as text, one Arrow array per column."""
    arrow, reader, _ = _arrow()
    names = [str(i) for i in range(width)]
    ragged: list[Any] = []

    def keep_ragged(row: Any) -> str:
        ragged.append(row)
        return "error"

    # One thread: with several, a bad row has no number.
    reading = reader.ReadOptions(use_threads=False, column_names=names, skip_rows=skip, block_size=BLOCK_BYTES)
    parsing = reader.ParseOptions(delimiter=separator, invalid_row_handler=keep_ragged)
    as_text = reader.ConvertOptions(column_types=dict.fromkeys(names, arrow.string()), strings_can_be_null=False)
    try:
        with path.open("rb") as file:  # opened here: pyarrow itself refuses a name whose bytes are not UTF-8
            table = reader.read_csv(file, reading, parsing, as_text)
    except arrow.ArrowInvalid as error:
        if ragged:
            bad = ragged[0]
            counts = f"row {bad.number - skip} has {bad.actual_columns} cells, the first line has {width}"
            raise FileFormatError(f"{path}: {counts}; fill it up with commas, or quote cells with commas") from error
        if "skip initial" in str(error):  # a header without a line end
            return [arrow.chunked_array([], arrow.string())] * width
        raise FileFormatError(f"{path}: cannot be read as comma-separated text ({error})") from error
    return list(table.columns)


def _numbers(path: Path, columns: list[Any], names: list[str], absent: frozenset[str]) -> NDArray[np.float64]:
    """Convert columns of text to numbers, NaN where missing, or raise with the first cell that is neither."""
    n = len(columns[0])
    values = np.empty((n, len(columns)))
    # Several columns are converted in one call, because a call of Arrow takes as long as a thousand cells.
    step = max(1, BATCH_CELLS // n)
    for start in range(0, len(columns), step):
        batch = columns[start : start + step]
        try:
            values[:, start : start + step] = _convert(batch, absent).reshape(len(batch), n).T
        except ValueError as error:
            for name, column in zip(names[start:], batch, strict=False):
                for row, cell in enumerate(column.to_pylist(), start=1):
                    if _is_text(cell.strip(), absent):
                        raise FileFormatError(
                            f"{path}: row {row}, column {name!r}: {cell[:40]!r} is not a number; where it is missing "
                            "leave the cell empty, or say missing=; only the first column may be text: all of it, "
                            "or unnamed"
                        ) from error
            raise FileFormatError(f"{path}: columns {names[start]!r} and after: {error}") from error
    return values


def _convert(columns: list[Any], absent: frozenset[str]) -> NDArray[np.float64]:
    arrow, _, compute = _arrow()
    cells = compute.utf8_trim_whitespace(arrow.concat_arrays([chunk for column in columns for chunk in column.chunks]))
    missing = compute.is_in(compute.utf8_lower(cells), value_set=arrow.array(sorted(absent)))
    known = compute.if_else(missing, arrow.scalar(None, arrow.string()), cells)
    return np.asarray(compute.cast(known, arrow.float64()).to_numpy(zero_copy_only=False), dtype=np.float64)


def _arrow() -> tuple[Any, Any, Any]:
    modules = ("pyarrow", "pyarrow.csv", "pyarrow.compute")
    arrow, reader, compute = (optional(name, extra="cli", purpose="reading .csv files") for name in modules)
    return arrow, reader, compute
