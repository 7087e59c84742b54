"""Rows of results in a file: one JSON object a line, appended as they are made, safe to interrupt and to resume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

from simcomplete._result.plain import plain
from simcomplete._rows.atomic import NO_ROOM, no_room, replacing
from simcomplete._rows.json_files import parse_json
from simcomplete.errors import FileFormatError

OTHER_FOLDER = "remove the file, or write to another folder"


class Ledger:
    """A file of result rows, and the trials that are in it already.

    Every row is serialised once, when it is read or added, to find it by its trial later.

    Parameters
    ----------
    path : Path
        The file; made when the first row is written.
    key : tuple of str
        The names whose values identify a trial.

    Attributes
    ----------
    rows : list of dict
        All rows, in the order of the file.

    Examples
    --------
    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "rows.jsonl"
    >>> ledger = Ledger(path, key=("method", "seed"))
    >>> _ = ledger.add({"method": "mean", "seed": 0, "error": 0.5})
    >>> Ledger(path, key=("method", "seed")).find({"method": "mean", "seed": 0})["error"]
    0.5
    """

    def __init__(self, path: Path, key: tuple[str, ...]) -> None:
        self.path = path
        self.key = key
        self.rows: list[dict[str, Any]] = []
        self._by_trial: dict[str, dict[str, Any]] = {}
        if path.exists():
            self._read()

    def find(self, trial: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the newest row of a trial, or None where it has none."""
        return self._by_trial.get(trial_key(trial, self.key))

    def add(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Append a row, make sure that it is on the disk, and return it as it will be read again."""
        clean = plain(dict(row))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        line = (json.dumps(clean, allow_nan=False) + "\n").encode()
        with self.path.open("ab", buffering=0) as file:
            before = os.fstat(file.fileno()).st_size
            try:
                _write_whole(file, line)
            except OSError as error:
                os.truncate(file.fileno(), before)  # part of a line would be in the way of the next
                if error.errno in NO_ROOM:
                    raise no_room(self.path, len(line), error.strerror or "the disk is full") from error
                raise
        self._keep(clean)
        return self.rows[-1]

    def _keep(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self._by_trial[trial_key(row, self.key)] = row

    def _read(self) -> None:
        raw = self.path.read_bytes()
        whole, _, rest = raw.rpartition(b"\n")
        for number, line in enumerate(whole.split(b"\n") if whole else [], start=1):
            where = f"{self.path}, line {number}, is not a row of results: it"
            try:
                text = line.decode("utf-8")
            except UnicodeDecodeError as error:
                raise FileFormatError(f"{where} is not text in UTF-8 ({error}); {OTHER_FOLDER}") from error
            row = parse_json(text, where, OTHER_FOLDER)
            if not isinstance(row, dict):
                raise FileFormatError(f"{self.path}, line {number} is not a row of results; was it written by hand?")
            self._keep(row)
        if rest:  # cut off in the middle of a line: that trial is run again
            with replacing(self.path) as draft:
                draft.write_bytes(whole + b"\n" if whole else b"")


def _write_whole(file: IO[bytes], data: bytes) -> None:
    """Write all of it, and make sure that it is on the disk."""
    while data:
        data = data[file.write(data) :]
    os.fsync(file.fileno())


def trial_key(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return what identifies a trial, as text: the values of the given names; NumPy numbers count as Python's.

    Examples
    --------
    >>> trial_key({"seed": 0, "method": "mean", "error": 0.5}, ("method", "seed"))
    '["mean", 0]'
    """
    return json.dumps([plain(row.get(name)) for name in names], sort_keys=True)
