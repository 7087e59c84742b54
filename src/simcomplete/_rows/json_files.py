"""Read JSON files from untrusted sources: the size is checked first, and every error is a FileFormatError."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from simcomplete._rows.budget import require
from simcomplete.errors import FileFormatError

# Parsed objects take up to so many times the bytes of their text, for example those of "[],[],[]".
TIMES_ITS_TEXT = 40


def read_json(file: Path, instead: str) -> Any:
    """Read a JSON file, or raise FileFormatError with the advice `instead`."""
    require(TIMES_ITS_TEXT * file.stat().st_size, f"{file}, read as JSON,", instead)
    try:
        text = file.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise FileFormatError(f"{file} is not text in UTF-8: {error}; {instead}") from error
    return parse_json(text, str(file), instead)


def parse_json(text: str, where: str, instead: str) -> Any:
    """Parse JSON, or raise FileFormatError with where it came from and the advice `instead`.

    Examples
    --------
    >>> parse_json("[1, 2]", "here", "write it again")
    [1, 2]
    >>> try:
    ...     parse_json("[" * 100_000, "here", "write it again")
    ... except FileFormatError as error:
    ...     print(error)
    here is not valid JSON: it is nested too deeply; write it again
    """
    try:
        return json.loads(text)
    except RecursionError as error:
        raise FileFormatError(f"{where} is not valid JSON: it is nested too deeply; {instead}") from error
    except ValueError as error:
        raise FileFormatError(f"{where} is not valid JSON (cut short?): {error}; {instead}") from error
