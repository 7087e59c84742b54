"""Rows of results, appended as they come: one JSON object a line, safe to kill and to resume."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from simcomplete._result.plain import plain
from simcomplete.errors import FileFormatError


class Ledger:
    """A file of result rows that knows which trials are done.

    Parameters
    ----------
    path : Path
        The file; made when the first row is written.
    key : tuple of str
        The names whose values tell one trial from another.

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
        if path.exists():
            self._read()

    def find(self, trial: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the row of a trial that was made before."""
        wanted = self._key(plain(dict(trial)))
        return next((row for row in self.rows if self._key(row) == wanted), None)

    def add(self, row: Mapping[str, Any]) -> dict[str, Any]:
        """Append a row, make sure that it is on the disk, and return it as it will be read again."""
        clean = plain(dict(row))
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a", encoding="utf-8") as file:
            file.write(json.dumps(clean, allow_nan=False) + "\n")
            file.flush()
            os.fsync(file.fileno())
        self.rows.append(clean)
        return self.rows[-1]

    def _key(self, row: Mapping[str, Any]) -> str:
        return json.dumps([row.get(name) for name in self.key], sort_keys=True)

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
            self.rows.append(row)
        if rest:  # cut off in the middle of a line: that trial is run again
            self.path.write_text(whole + "\n" if whole else "", encoding="utf-8")
