"""Run protocols: rows are appended as they finish; a run that was killed goes on where it stopped."""

from __future__ import annotations

import gzip
import json
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from simcomplete._compare.ledger import Ledger
from simcomplete._reproduction.protocol import Protocol
from simcomplete._reproduction.trials import KEY, Cell, expand
from simcomplete._reproduction.workers import outcomes
from simcomplete._result.plain import plain
from simcomplete._rows.atomic import replacing
from simcomplete._rows.progress import track
from simcomplete.errors import FileFormatError, InputError

Rows = dict[str, dict[str, Any]]


def key(trial: dict[str, Any]) -> str:
    """Return what tells a trial from all others, as text."""
    return json.dumps([plain(trial.get(name)) for name in KEY], sort_keys=True)


def run(
    protocols: Sequence[Protocol],
    ledger: Path,
    *,
    jobs: int = 1,
    limit: float | None = None,
    only: Sequence[str] = (),
    progress: bool | None = None,
    ended: Callable[[dict[str, Any]], None] = lambda row: None,
) -> int:
    """Run what has no row yet and return how many trials that were.

    Parameters
    ----------
    protocols : sequence of Protocol
        In this order; what several have in common is run once.
    ledger : Path
        The file of rows.
    jobs : int
        How many processes at a time.
    limit : float, optional
        Seconds for each solve, instead of the protocol's own.
    only : sequence of str
        See `expand`.
    progress : bool, optional
        None shows progress on a terminal, False never.
    ended : callable
        Is given every new row.
    """
    if jobs < 1:
        raise InputError(f"jobs={jobs} must be at least 1")
    book = Ledger(ledger, KEY)
    made = 0
    for protocol in protocols:
        seconds = protocol.time_limit if limit is None else limit
        known = index(book.rows)
        trials = {key(cell.trial): cell.trial for cell in expand(protocol, only)}
        left = [trial for name, trial in trials.items() if not _settled(known.get(name), seconds)]
        for row in track(outcomes(left, seconds, jobs), protocol.name, progress, total=len(left)):
            ended(book.add(row))
            made += 1
    return made


def index(rows: Iterable[dict[str, Any]]) -> Rows:
    """Find rows by their trial; of several the last counts."""
    return {key(row): row for row in rows}


def read(path: Path) -> list[dict[str, Any]]:
    """Read rows from a file, packed or not.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> _ = file.write_text('{"method": "mean"}')
    >>> read(file)
    [{'method': 'mean'}]
    """
    if not path.is_file():
        raise InputError(f"{path} does not exist; make rows with: simcomplete paper run")
    raw = path.read_bytes()
    try:
        text = (gzip.decompress(raw) if path.suffix == ".gz" else raw).decode("utf-8")
        rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    except (ValueError, EOFError, OSError) as error:
        raise FileFormatError(f"{path} is not a file of rows: {error}") from error
    if not all(isinstance(row, dict) for row in rows):
        raise FileFormatError(f"{path} is not a file of rows: a line is no JSON object")
    return rows


def pack(rows: Iterable[dict[str, Any]], path: Path) -> None:
    """Store rows compressed, the last of each trial, in an order that does not depend on when they were made."""
    last = index(rows)
    text = "".join(json.dumps(last[name], sort_keys=True, allow_nan=False) + "\n" for name in sorted(last))
    with replacing(path) as draft:
        draft.write_bytes(gzip.compress(text.encode("utf-8"), mtime=0))


def gather(protocol: Protocol, rows: Rows) -> list[tuple[Cell, dict[str, Any] | None]]:
    """Pair every cell of a protocol with its row, or with None where it was not run."""
    return [(cell, rows.get(key(cell.trial))) for cell in expand(protocol)]


def _settled(row: dict[str, Any] | None, limit: float) -> bool:
    """Whether nothing would change by running it again: it ended, or had as much time before."""
    if row is None:
        return False
    if row["outcome"] == "over budget":
        return (row.get("limit") or 0.0) >= limit
    return row["outcome"] == "done" or "mask" in row  # without a mask it never began: its data were not there
