"""How a file of text is written: what separates its cells, and whether its first line names the columns.

It is found by looking at the first lines. A quoted cell may have separators and line ends in it.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from simcomplete._rows.budget import readable
from simcomplete.datasets._formats.cells import is_text
from simcomplete.datasets._formats.encoded import NOT_UTF8, EncodedText
from simcomplete.errors import FileFormatError

SEPARATORS = (",", ";", "\t", "|")
NAMES = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
# Bytes and lines to look at. A line must fit into the largest number of bytes, and one of a million numbers does.
LOOK_BYTES = 2**16
MAX_LINE = 32 * 2**20
LOOK_LINES = 50
# Arrow gives up at about a million columns.
MAX_COLUMNS = 100_000
YEAR = re.compile(r"(1[5-9]|2[01])[0-9]{2}")
HEADER_HINT = "say which with header=True or header=False"


@dataclass(frozen=True)
class Dialect:
    """How a file of text is written.

    Attributes
    ----------
    separator : str
        What separates cells.
    first : list of str
        The cells of the first line that is not blank, without blanks around them.
    before, after : int
        How many bytes, in UTF-8, lie before that line, and before the next.
    below : int
        How many cells a line has that was seen below.
    """

    separator: str
    first: list[str]
    before: int
    after: int
    below: int = 0


def look(path: Path, absent: frozenset[str], separator: str | None = None) -> Dialect:
    """Find out how a file is written.

    Parameters
    ----------
    path : Path
        The file. Where its name ends in .tsv, tabs are preferred.
    absent : frozenset of str
        Cells that mean missing, in lower case.
    separator : str, optional
        What separates cells, where it is known.
    """
    text, whole = _start(path)
    before = len(text) - len(text.lstrip("\r\n \t"))
    before = max(text.rfind("\n", 0, before), text.rfind("\r", 0, before)) + 1  # of blank lines, not of cells
    if text[before : before + 4].lower() == "sep=" and (end := _line_end(text, before)):  # Excel writes this line
        separator = separator or text[before + 4 : end].strip("\r\n")[:1]
        before = end
    before += _comments(text[before:])
    shown = text[before:]
    if not shown.strip():
        raise FileFormatError(f"{path}: the file is empty")
    tabs = Path(path.name.lower().removesuffix(".gz").removesuffix(".bz2").removesuffix(".xz")).suffix == ".tsv"
    order = (separator,) if separator else ("\t", *(s for s in SEPARATORS if s != "\t")) if tabs else SEPARATORS
    found = max(order, key=lambda one: (*_fitness(shown, one, whole, absent), -order.index(one)))
    records, length = _look_at(shown, found, whole)
    if not records:
        raise FileFormatError(f"{path}: the first line cannot be read as cells; is a quote opened and never closed?")
    cells = _with_first_cell(records, absent)
    start = len(text[:before].encode())
    return Dialect(
        found,
        [_unquoted(cell.strip()) for cell in cells],
        start,
        start + len(shown[:length].encode()),
        len(records[-1]),
    )


def is_separated(path: Path) -> bool:
    """Whether all lines of a text have as many cells, more than one, by one of the separators."""
    text, whole = _start(path)
    return any(_fitness(text, separator, whole, frozenset())[0] > 0 for separator in SEPARATORS)


def is_header(path: Path, cells: list[str], absent: frozenset[str]) -> bool:
    """Return whether the first line names the columns; raise where it could be a row as well."""
    if any(is_text(cell, absent) for cell in cells[1:]) or len(cells) == 1:
        return any(is_text(cell, absent) for cell in cells)
    counting = [str(i) for i in range(len(cells))]
    if cells[0] == "" and cells[1:] == counting[:-1] and len(cells) > 2:
        return True  # the default names of a pandas frame, behind its index
    if _are_years(cells[1:]) and (cells[0] == "" or is_text(cells[0], absent)):
        return True
    if is_text(cells[0], absent):
        reading = f"({cells[0]}, {cells[1]}, ...) could name the columns or be a row and its label"
        raise FileFormatError(f"{path}: the first line {reading}; {HEADER_HINT}")
    if (cells == counting and len(cells) > 2) or _are_years(cells):
        reading = f"({', '.join(cells[:3])}, ...) could name the columns or be a row"
        raise FileFormatError(f"{path}: the first line {reading}; {HEADER_HINT}")
    return False


def _are_years(cells: list[str]) -> bool:
    """Whether cells are years, three or more, each the one after the last."""
    if len(cells) < 3 or not all(YEAR.fullmatch(cell) for cell in cells):
        return False
    return [int(cell) for cell in cells] == list(range(int(cells[0]), int(cells[0]) + len(cells)))


def _start(path: Path) -> tuple[str, bool]:
    """Return the first lines, and whether they are the whole file."""
    size, raw = LOOK_BYTES, b""
    with EncodedText(path) as file:
        while True:
            raw += file.read(size - len(raw))
            if b"\0" in raw[:LOOK_BYTES]:
                raise FileFormatError(f"{path}: is not text; give cells separated by commas, in UTF-8")
            whole = len(raw) < size
            end = len(raw) if whole else max(raw.rfind(b"\n"), raw.rfind(b"\r")) + 1
            if whole or raw[:end].strip():
                break
            if size >= MAX_LINE:
                raise FileFormatError(f"{path}: a line is longer than {readable(MAX_LINE)}; is it a table of text?")
            size *= 8
    first = raw.lstrip().partition(b"\n")[0]
    most = max(first.count(separator.encode()) for separator in SEPARATORS)
    if most >= MAX_COLUMNS:
        raise FileFormatError(
            f"{path}: the first line has {most + 1} cells, and text may have {MAX_COLUMNS} columns; one row is one "
            "line: transpose the table, or save it as .npy"
        )
    try:
        return raw[:end].decode(), whole
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{path}: {NOT_UTF8.format(error)}") from error


def _line_end(text: str, start: int) -> int:
    line = next(iter(io.StringIO(text[start:], newline="")), "")
    return start + len(line) if line.strip()[5:] == "" else 0


def _records(text: str, separator: str) -> Iterator[tuple[list[str], int]]:
    """Yield the cells of every record that is not blank, and how many characters of the text lie before its end."""
    lines = io.StringIO(text, newline="").readlines()
    ends = [0]
    for line in lines:
        ends.append(ends[-1] + len(line))
    reader = csv.reader(lines, delimiter=separator)
    try:
        for cells in reader:
            if any(cell.strip() for cell in cells) or len(cells) > 1:
                yield cells, ends[reader.line_num]
    except csv.Error:  # a cell without end: a quote that is not one
        return


def _comments(text: str) -> int:
    """How many characters of comments, lines with # in front, lie before the table.

    One that has as many separators as the first line without it is the header, as NumPy writes it, or a row.
    """
    lines = io.StringIO(text, newline="").readlines()
    n = next((i for i, line in enumerate(lines) if not line.startswith("#")), 0)
    alike = (
        i
        for i, line in enumerate(lines[:n])
        if any(0 < line.count(separator) == lines[n].count(separator) for separator in SEPARATORS)
    )
    return sum(len(line) for line in lines[: next(alike, n)])


def _with_first_cell(records: list[list[str]], absent: frozenset[str]) -> list[str]:
    """The cells of the first line, with an empty one where it has one fewer than every line below.

    R writes no name above the names of rows, and some programs a separator at the end of every line but the first.
    """
    first, below = records[0], records[1:]
    if (
        len(first) < 2
        or not below
        or any(len(cells) != len(first) + 1 for cells in below)
        or not _is_text_line(first, absent)
    ):
        return first
    if all(not cells[-1].strip() for cells in below):
        return [*first, ""]
    names = [cells[0].strip() for cells in below]
    counted = names == [str(i + 1) for i in range(len(names))]
    return ["", *first] if counted or all(is_text(name, absent) for name in names) else first


def _unquoted(cell: str) -> str:
    """A cell without the quotes that stay where a blank stands before them."""
    return cell[1:-1] if len(cell) > 2 and cell[0] == cell[-1] == '"' else cell


def _is_text_line(cells: list[str], absent: frozenset[str]) -> bool:
    return all(is_text(cell.strip(), absent) for cell in cells)


def _look_at(text: str, separator: str, whole: bool) -> tuple[list[list[str]], int]:
    """Return the cells of the first lines, and how many characters lie before the end of the very first."""
    records, length = [], 0
    for cells, end in _records(text, separator):
        records.append(cells)
        length = length or end
        if len(records) == LOOK_LINES:
            break
    else:
        if not whole and len(records) > 1:
            records.pop()  # it may go on
    return records, length


def _fitness(text: str, separator: str, whole: bool, absent: frozenset[str]) -> tuple[int, float]:
    """Tell whether all lines have as many cells, more than one, and which share of the cells are not text.

    Where the first line has one fewer, that fits less well.
    """
    records, _ = _look_at(text, separator, whole)
    short = len(records[0]) if records else 0
    if records:
        records[0] = _with_first_cell(records, absent)
    widths = [len(cells) for cells in records]
    if not widths or widths[0] == 1 or len(set(widths)) > 1:
        # No separator fits: that which is in the first line most often, so that a message can name the odd line.
        return 0, widths[0] if widths else 0
    body = records[1:] or records
    good = sum(not is_text(cell.strip(), absent) for cells in body for cell in cells)
    return 2 if short == widths[0] else 1, good / (len(body) * widths[0])
