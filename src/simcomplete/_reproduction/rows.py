"""Stored rows of the experiments: read, packed, and looked up by their trial."""

from __future__ import annotations

import gzip
import json
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from simcomplete._compare.ledger import trial_key
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.trials import TRIAL_KEY, Cell, expand
from simcomplete._rows.atomic import replacing
from simcomplete.errors import FileFormatError, InputError

RowsByTrial = dict[str, dict[str, Any]]


def rows_by_trial(rows: Iterable[dict[str, Any]]) -> RowsByTrial:
    """Index rows by their trial; of several rows of a trial the last one counts."""
    return {trial_key(row, TRIAL_KEY): row for row in rows}


def pair_cells(protocol: Protocol, rows: RowsByTrial) -> list[tuple[Cell, dict[str, Any] | None]]:
    """Pair every cell of a protocol with its row, or with None where it was not run."""
    return [(cell, rows.get(trial_key(cell.trial, TRIAL_KEY))) for cell in expand(protocol)]


def read_rows(path: Path) -> list[dict[str, Any]]:
    """Read rows from a file, compressed or not.

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
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, EOFError, OSError, zlib.error, RecursionError) as error:
        raise FileFormatError(f"{path} is not a file of rows: {error}") from error
    if not all(isinstance(row, dict) for row in rows):
        raise FileFormatError(f"{path} is not a file of rows: a line is not a JSON object")
    return rows


def pack_rows(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Write rows compressed, the last of each trial, in an order that does not depend on when they were made."""
    last = rows_by_trial(rows)
    text = "".join(json.dumps(last[name], sort_keys=True, allow_nan=False) + "\n" for name in sorted(last))
    with replacing(path) as draft:
        draft.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))
