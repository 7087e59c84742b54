"""Stored rows of the experiments: read, packed, and looked up by their trial."""

from __future__ import annotations

import gzip
import json
import warnings
import zlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from simcomplete._compare.ledger import trial_key
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.trials import TRIAL_KEY, Cell, expand
from simcomplete._rows.atomic import replacing
from simcomplete.errors import FileFormatError, InputError, InputWarning

RowsByTrial = dict[str, dict[str, Any]]


def rows_by_trial(rows: Iterable[dict[str, Any]]) -> RowsByTrial:
    """Index rows by their trial; of several rows of a trial the last one counts."""
    return {trial_key(row, TRIAL_KEY): row for row in rows}


def pair_cells(protocol: Protocol, rows: RowsByTrial) -> list[tuple[Cell, dict[str, Any] | None]]:
    """Pair every cell of a protocol with its row, or with None where it was not run."""
    return [(cell, rows.get(trial_key(cell.trial, TRIAL_KEY))) for cell in expand(protocol)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read rows from a file, compressed or not; a last line that is cut off, as by a run that was killed, is left out.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = file.write_text('{"method": "mean"}')
    >>> read_rows(file)
    [{'method': 'mean'}]
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; make rows with: simcomplete paper run")
    raw = path.read_bytes()
    try:
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
        rows = _parsed(path, text)
    except (ValueError, EOFError, OSError, zlib.error, RecursionError) as error:
        raise FileFormatError(f"{path} is not a file of rows: {error}") from error
    if not all(isinstance(row, dict) for row in rows):
        raise FileFormatError(f"{path} is not a file of rows: a line is not a JSON object")
    return rows


def check_rows(rows: Sequence[dict[str, Any]], path: Path) -> None:
    """Raise FileFormatError where a row does not say which trial it is of, or how that ended.

    Examples
    --------
    >>> try:
    ...     check_rows([{"method": "mean"}], Path("rows.jsonl"))
    ... except FileFormatError as error:
    ...     print(str(error).partition(";")[0])
    rows.jsonl: row 1 has no 'dataset'
    """
    for number, row in enumerate(rows, start=1):
        absent = [name for name in (*TRIAL_KEY, "outcome") if name not in row]
        if absent:
            needed = ", ".join((*TRIAL_KEY, "outcome"))
            advice = "give a file that simcomplete paper run wrote"
            raise FileFormatError(f"{path}: row {number} has no {absent[0]!r}; a row needs {needed}: {advice}")


def _parsed(path: Path, text: str) -> list[Any]:
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    rows = []
    for number, line in lines:
        try:
            rows.append(json.loads(line))
        except ValueError as error:
            if rows and number == lines[-1][0] and not text.endswith("\n"):
                message = f"{path}: the last row, line {number}, is cut off and left out; the next run makes it again"
                warnings.warn(message, InputWarning, stacklevel=3)
                break
            raise ValueError(f"line {number}: {error}") from error
    return rows


def pack_rows(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write rows compressed, the last of each trial, in an order that does not depend on when they were made."""
    last = rows_by_trial(rows)
    text = "".join(json.dumps(last[name], sort_keys=True, allow_nan=False) + "\n" for name in sorted(last))
    with replacing(path) as draft:
        draft.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
