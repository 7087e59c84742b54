"""Tables from Arrow files: .arrow and .feather (version 2), as a file or as a stream.

A few bytes of a compressed file may claim to unpack to any number of bytes, and Arrow allocates what they claim. So the
claims are added up first, from the messages that the file consists of (the layout is in the columnar format's
specification: a message is a flatbuffer with the places of its buffers, and a packed buffer begins with its length).
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import IO, Any

from simcomplete._rows.budget import readable, require
from simcomplete.datasets._formats.columnar import plan_columns, table_of_columns
from simcomplete.datasets._formats.source import ALWAYS_ALLOWED_BYTES, MAX_EXPANSION
from simcomplete.datasets._table import Options, Table
from simcomplete.errors import FileFormatError, SimcompleteError, optional

FILE_MAGIC = b"ARROW1"
OLD_FEATHER = b"FEA1"
# Positions of the fields that are read, in the tables of the format.
MESSAGE_HEADER, DICTIONARY_DATA = 2, 1
BATCH_LENGTH, BATCH_BUFFERS, BATCH_COMPRESSION = 0, 2, 3


def read_ipc(path: Path, options: Options) -> Table:
    """Read an .arrow or .feather file; see `simcomplete.datasets.read_table`."""
    optional("pyarrow", extra="cli", purpose="reading .arrow files")
    ipc = optional("pyarrow.ipc", extra="cli", purpose="reading .arrow files")
    try:
        with path.open("rb") as raw:
            start = raw.read(8)
            if start[:4] == OLD_FEATHER:
                raise FileFormatError(
                    f"{path}: is a Feather file of version 1; write it again with version 2, which is the default of "
                    "pyarrow.feather.write_feather and pandas.DataFrame.to_feather"
                )
            is_file = start[:6] == FILE_MAGIC
            raw.seek(8 if is_file else 0)
            rows, unpacked = _claimed(ipc, raw)
            raw.seek(0)
            with ipc.open_file(raw) if is_file else ipc.open_stream(raw) as reader:
                schema = reader.schema
                plan = plan_columns(path, schema, rows, options)
                _check_claims(path, rows, len(schema), unpacked)
                table = reader.read_all()
                table.validate(full=True)  # Arrow trusts offsets and lengths from the file, and would end the process
    except SimcompleteError:
        raise
    except Exception as error:  # of Arrow, of what was to be a flatbuffer, of UTF-8 in names: there is no common kind
        reason = (str(error).splitlines() or [type(error).__name__])[0].rstrip(".")
        raise FileFormatError(f"{path}: is not an Arrow file, or is truncated ({reason}); write it again") from error
    return table_of_columns(path, schema, plan, dict(enumerate(table.columns)))


def _check_claims(path: Path, rows: int, width: int, unpacked: int) -> None:
    size = path.stat().st_size
    if unpacked > max(ALWAYS_ALLOWED_BYTES, MAX_EXPANSION * size):
        raise FileFormatError(
            f"{path}: {readable(size)} unpack to {readable(unpacked)}, which no table of numbers does; write it again "
            "without compression if you trust it"
        )
    require(16 * rows * width + unpacked, f"{path} with {rows * width} cells", "give fewer rows or columns")


def _claimed(ipc: Any, raw: IO[bytes]) -> tuple[int, int]:
    """Return how many rows the messages of a stream claim to have, and to how many bytes they unpack."""
    rows = unpacked = 0
    reader = ipc.MessageReader.open_stream(raw)
    while True:
        try:
            message = reader.read_next_message()
        except StopIteration:
            return rows, unpacked
        if message.type not in ("record batch", "dictionary"):
            continue
        view = memoryview(message.metadata)
        batch = _follow(view, _field(view, _follow(view, 0), MESSAGE_HEADER))
        if message.type == "dictionary":
            batch = _follow(view, _field(view, batch, DICTIONARY_DATA))
        else:
            rows += _number(view, _field(view, batch, BATCH_LENGTH))
        unpacked += _unpacked(view, batch, message.body)


def _unpacked(view: memoryview, batch: int, body: Any) -> int:
    """Add up what the buffers of a batch claim to unpack to; those that are not packed are what they are."""
    size = 0 if body is None else body.size
    at = _field(view, batch, BATCH_BUFFERS)
    if not at or not _field(view, batch, BATCH_COMPRESSION):
        return size
    vector = _follow(view, at)
    (n,) = struct.unpack_from("<I", view, vector)
    total = 0
    for i in range(n):
        offset, length = struct.unpack_from("<qq", view, vector + 4 + 16 * i)
        if length >= 8:
            (claim,) = struct.unpack_from("<q", memoryview(body), offset)
            total += length if claim < 0 else claim  # -1: this one was left as it is
    return total


def _follow(view: memoryview, at: int) -> int:
    """Return the place that an offset points to, counted from where it is written."""
    return int(at + struct.unpack_from("<I", view, at)[0])


def _field(view: memoryview, table: int, position: int) -> int:
    """Return the place of a field of a table, or 0 where the table does not have it."""
    layout = table - struct.unpack_from("<i", view, table)[0]
    (size,) = struct.unpack_from("<H", view, layout)
    entry = 4 + 2 * position
    if entry + 2 > size:
        return 0
    (offset,) = struct.unpack_from("<H", view, layout + entry)
    return int(table + offset) if offset else 0


def _number(view: memoryview, at: int) -> int:
    return int(struct.unpack_from("<q", view, at)[0]) if at else 0
