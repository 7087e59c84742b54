"""A folder of `.npy` arrays and one JSON file, written whole or not at all, read without pickle.

The JSON names every array with its shape, type and SHA-256, and carries a SHA-256 of itself, so that a file
that was cut short, exchanged or edited is refused instead of read.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.atomic import replacing
from simcomplete.errors import FileFormatError, InputError

INDEX = "completion.json"
ARRAYS = frozenset({"factor", "signs", "diagonal", "dense", "order", "candidates", "spread", "quantiles"})
FORMAT = "simcomplete-completion"
VERSION = 1


def write_folder(path: Path, arrays: Mapping[str, NDArray[Any]], facts: Mapping[str, Any], *, overwrite: bool) -> None:
    """Write arrays and facts as one folder."""
    if path.exists() and not overwrite:
        raise InputError(f"{path} exists already; choose another name, or pass overwrite=True to replace it")
    if path.exists() and not (path / INDEX).is_file():
        raise InputError(f"{path} exists and is not a saved completion; it is left alone: choose another name")
    with replacing(path) as draft:
        draft.mkdir()
        entries = {}
        for name, array in arrays.items():
            file = draft / f"{name}.npy"
            with file.open("wb") as stream:
                np.save(stream, np.ascontiguousarray(array), allow_pickle=False)
                stream.flush()
                os.fsync(stream.fileno())
            entries[name] = {
                "shape": list(array.shape),
                "dtype": array.dtype.str,
                "sha256": file_digest(file),
            }
        index = {"format": FORMAT, "version": VERSION, "arrays": entries, "facts": dict(facts)}
        index["sha256"] = digest_of(index)
        text = json.dumps(index, indent=1, allow_nan=False)
        (draft / INDEX).write_text(text + "\n", encoding="utf-8")


def read_folder(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, Any]]:
    """Read what `write_folder` wrote, or say what is wrong with it."""
    if not path.exists():
        raise InputError(f"{path} does not exist; give the folder that save() or 'simcomplete complete -o' wrote")
    if not (path / INDEX).is_file():
        raise FileFormatError(f"{path} is not a saved completion: it has no {INDEX}")
    index = _read_index(path / INDEX)
    for name in set(index["arrays"]) - ARRAYS:  # also keeps a name such as ../x from leading elsewhere
        raise FileFormatError(f"{path / INDEX} names an unknown array {name!r}; was it written by something else?")
    arrays = {name: _read_array(path / f"{name}.npy", entry) for name, entry in index["arrays"].items()}
    return arrays, index["facts"]


def _read_index(file: Path) -> dict[str, Any]:
    try:
        index = json.loads(file.read_text(encoding="utf-8"))
    except ValueError as error:
        raise FileFormatError(f"{file} is not valid JSON (cut short?): {error}; save the completion anew") from error
    if not isinstance(index, dict) or index.get("format") != FORMAT:
        raise FileFormatError(f"{file} does not describe a saved completion; was it written by something else?")
    if index.get("version") != VERSION:
        raise FileFormatError(
            f"{file} has format version {index.get('version')!r} and this simcomplete reads {VERSION}; "
            "install the version that wrote it, or save the completion anew"
        )
    if index.get("sha256") != digest_of(index):
        raise FileFormatError(f"{file} was changed after it was written; save the completion anew")
    return index


def _read_array(file: Path, entry: Mapping[str, Any]) -> NDArray[Any]:
    if not file.is_file():
        raise FileFormatError(f"{file} is missing; save the completion anew")
    if file_digest(file) != entry["sha256"]:
        raise FileFormatError(f"{file} was cut short or changed after it was written; save the completion anew")
    try:
        array: NDArray[Any] = np.load(file, allow_pickle=False)
    except (ValueError, EOFError, OSError) as error:
        raise FileFormatError(f"{file} is not a readable .npy array: {error}") from error
    if list(array.shape) != entry["shape"] or array.dtype.str != entry["dtype"]:
        raise FileFormatError(
            f"{file} holds {array.dtype.str} {array.shape}, expected {entry['dtype']} {entry['shape']}"
        )
    return array


def file_digest(file: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with file.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def digest_of(index: Mapping[str, Any]) -> str:
    """SHA-256 of the index without its own."""
    body = {key: value for key, value in index.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(body, sort_keys=True, allow_nan=False).encode()).hexdigest()
