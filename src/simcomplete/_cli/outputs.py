"""What commands write: tables with labels and lists of records, in the format that the name of the file ends in.

Tables are written block by block and whole or not at all; `-` is standard output, as CSV.
"""

from __future__ import annotations

import csv
import io
import json
import sys
import zipfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._cli.arguments import STANDARD
from simcomplete._result.plain import plain
from simcomplete._rows.atomic import replacing
from simcomplete._rows.budget import row_blocks
from simcomplete.errors import InputError, optional

TABLE_FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".npz", ".npy")
RECORD_FORMATS = (".csv", ".tsv", ".parquet", ".arrow", ".feather", ".json")
UNIQUE_NAMES = (".parquet", ".arrow", ".feather")  # formats whose columns need different names
PURPOSE_OUTPUT = "writing .parquet and .arrow files"


def check_output(output: Path, endings: Sequence[str], overwrite: bool, *, folder: bool = False) -> str:
    """Return what a name ends in, or raise before the work where nothing could be written there.

    Parameters
    ----------
    output : Path
        A file, `-` for standard output (its ending is .csv), or a folder where those are allowed (no ending).
    endings : sequence of str
        The endings that are allowed.
    overwrite : bool
        Whether what exists may be replaced.
    folder : bool
        Whether a name without an ending is allowed, as that of a folder.
    """
    if output == STANDARD:
        return ".csv"
    ending = output.suffix.lower()
    if folder and (not ending[1:].isalpha() or output.is_dir()):  # out, out.v2, .hidden
        ending = ""
    elif ending not in endings:
        also = ", or no ending for a folder" if folder else ""
        raise InputError(
            f"--output {str(output)!r} ends in {ending or 'nothing'!r}; {', '.join(endings)} can be written{also}"
        )
    if ending and output.is_dir():
        raise InputError(f"--output {str(output)!r} is a folder; give the name of a file")
    if output.exists() and not overwrite:
        raise InputError(f"{output} exists already; choose another name, or replace it with --overwrite")
    if ending in UNIQUE_NAMES:
        optional("pyarrow", extra="cli", purpose=PURPOSE_OUTPUT)
    return ending


def check_names(output: Path, names: Sequence[str] | None) -> None:
    """Raise where a format needs different names of columns and they are not."""
    if output.suffix.lower() not in UNIQUE_NAMES or names is None or len(set(names)) == len(names):
        return
    twice = next(name for name, count in Counter(names).items() if count > 1)
    raise InputError(
        f"{output}: two rows are called {twice!r}, and columns of such a file need different names; name the rows by "
        "another column with --id, or write .csv, .npz or .npy"
    )


@dataclass(frozen=True)
class LabelledTable:
    """A table of numbers to write: its rows in blocks, with names of rows and columns.

    Attributes
    ----------
    rows : callable
        Takes a slice and returns those rows, an array of shape (rows, columns).
    labels, columns : list of str
        One name per row and per column.
    kind : str
        What the rows are, the name of the column that holds their labels where one is needed.
    name : str
        The name of the array in an archive.
    dtype : dtype
        Of the values.
    """

    rows: Callable[[slice], NDArray[Any]]
    labels: Sequence[str]
    columns: Sequence[str]
    kind: str = "row"
    name: str = "X"
    dtype: Any = np.float64

    def blocks(self) -> Iterator[tuple[slice, NDArray[Any]]]:
        """Yield the rows, block by block."""
        for part in row_blocks(len(self.labels), 4 * 8 * len(self.columns)):
            yield part, np.asarray(self.rows(part), dtype=self.dtype)

    @property
    def n_bytes(self) -> int:
        """Of the values."""
        return len(self.labels) * len(self.columns) * int(np.dtype(self.dtype).itemsize)


def write_table(output: Path, table: LabelledTable) -> None:
    """Write a table in the format that the name ends in; see `check_output`."""
    ending = ".csv" if output == STANDARD else output.suffix.lower()
    if ending in (".csv", ".tsv"):
        with _text_file(output) as file:
            writer = csv.writer(file, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
            writer.writerow(["", *table.columns])
            for part, block in table.blocks():
                cells = [["" if value != value else value for value in row] for row in block.tolist()]
                writer.writerows([name, *row] for name, row in zip(table.labels[part], cells, strict=True))
    elif ending == ".npy":
        with replacing(output, needed=table.n_bytes) as draft, draft.open("wb") as raw:
            _write_array(raw, table)
    elif ending == ".npz":
        with replacing(output, needed=table.n_bytes) as draft, zipfile.ZipFile(draft, "w") as archive:
            with archive.open(f"{table.name}.npy", "w", force_zip64=True) as member:
                _write_array(member, table)
            for name, words in (("rows", table.labels), ("columns", table.columns)):
                with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                    np.lib.format.write_array(member, np.array(list(words), dtype=np.str_), allow_pickle=False)
    else:
        _write_columns(output, table)


def write_records(output: Path, head: Sequence[str], records: Sequence[Sequence[Any]], document: Any) -> None:
    """Write a list of records in the format that the name ends in.

    Parameters
    ----------
    output : Path
        The file.
    head : sequence of str
        Names of the columns.
    records : sequence of sequences
        One value per column: text, whole numbers or floats.
    document : any
        What a .json file has instead.
    """
    ending = ".csv" if output == STANDARD else output.suffix.lower()
    if ending == ".json":
        with replacing(output) as draft:
            draft.write_text(
                json.dumps(plain(document), indent=2, allow_nan=False, ensure_ascii=False) + "\n",
                encoding="utf-8",
                errors="surrogateescape",
            )
    elif ending in (".csv", ".tsv"):
        with _text_file(output) as file:
            writer = csv.writer(file, delimiter="\t" if ending == ".tsv" else ",", lineterminator="\n")
            writer.writerows([head, *records])
    else:
        arrow = optional("pyarrow", extra="cli", purpose=PURPOSE_OUTPUT)
        columns = [list(column) for column in zip(*records, strict=True)] or [[] for _ in head]
        with replacing(output) as draft:
            _save_arrow(draft, [arrow.table(dict(zip(head, columns, strict=True)))])


@contextmanager
def _text_file(output: Path) -> Iterator[IO[str]]:
    """Open a file for text, or standard output; a line ends in the same way on every system."""
    if output == STANDARD:
        text = io.TextIOWrapper(sys.stdout.buffer, "utf-8", errors="surrogateescape", newline="", write_through=False)
        try:
            yield text
            text.flush()
        finally:
            text.detach()
    else:
        with (
            replacing(output) as draft,
            draft.open("w", encoding="utf-8", errors="surrogateescape", newline="") as file,
        ):
            yield file


def _write_array(file: IO[bytes], table: LabelledTable) -> None:
    shape = (len(table.labels), len(table.columns))
    header = {"descr": np.lib.format.dtype_to_descr(np.dtype(table.dtype)), "fortran_order": False, "shape": shape}
    np.lib.format.write_array_header_1_0(file, header)
    for _, block in table.blocks():
        file.write(np.ascontiguousarray(block).tobytes())


def _write_columns(output: Path, table: LabelledTable) -> None:
    arrow = optional("pyarrow", extra="cli", purpose=PURPOSE_OUTPUT)
    check_names(output, [table.kind, *table.columns])

    def batches() -> Iterator[Any]:
        for part, block in table.blocks():
            columns: dict[str, Any] = {table.kind: list(table.labels[part])}
            columns |= {name: block[:, i] for i, name in enumerate(table.columns)}
            yield arrow.table(columns)

    with replacing(output, needed=lambda: table.n_bytes) as draft:
        _save_arrow(draft, batches())


def _save_arrow(path: Path, tables: Any) -> None:
    """Write tables of one schema, one after the other, as Parquet or as an Arrow file."""
    parquet = optional("pyarrow.parquet", extra="cli", purpose=PURPOSE_OUTPUT)
    ipc = optional("pyarrow.ipc", extra="cli", purpose=PURPOSE_OUTPUT)
    writer = None
    with path.open("wb") as file:
        try:
            for table in tables:
                if writer is None:
                    is_parquet = path.suffix.lower() == ".parquet"
                    writer = (
                        parquet.ParquetWriter(file, table.schema) if is_parquet else ipc.new_file(file, table.schema)
                    )
                writer.write_table(table)
        finally:
            if writer is not None:
                writer.close()
