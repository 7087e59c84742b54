"""Rows of results in a file: one JSON object a line, appended as they are made, safe to interrupt and to resume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcomplete._result.plain import plain
from simcomplete.errors import FileFormatError


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
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self._keep(clean)
        return self.rows[-1]

    def _keep(self, row: dict[str, Any]) -> None:
        self.rows.append(row)
        self._by_trial[trial_key(row, self.key)] = row

    def _read(self) -> None:
        text = self.path.read_text(encoding="utf-8")
        whole, _, rest = text.rpartition("\n")
        for number, line in enumerate(whole.splitlines(), start=1):
            try:
                row = json.loads(line)
            except ValueError as error:
                raise FileFormatError(f"{self.path}, line {number} is not a row of results: {error}") from error
            if not isinstance(row, dict):
                raise FileFormatError(f"{self.path}, line {number} is not a row of results; was it written by hand?")
            self._keep(row)
        if rest:  # cut off in the middle of a line: that trial is run again
            self.path.write_text(whole + "\n" if whole else "", encoding="utf-8")


def trial_key(row: Mapping[str, Any], names: tuple[str, ...]) -> str:
    """Return what identifies a trial, as text: the values of the given names; NumPy numbers count as Python's.

    Examples
    --------
    >>> trial_key({"seed": 0, "method": "mean", "error": 0.5}, ("method", "seed"))
    '["mean", 0]'
    """
    return json.dumps([plain(row.get(name)) for name in names], sort_keys=True)
