"""An index as a FAISS file, with a note beside it that says how queries are put to it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import numpy as np

from simcomplete._result.archive import file_digest
from simcomplete._rows.atomic import as_path, replacing
from simcomplete._rows.json_files import read_json
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import FileFormatError, InputError, optional
from simcomplete.index._rows import Rows
from simcomplete.index._vectors import Kind, VectorIndex

FORMAT = "simcomplete-index"


def export(index: VectorIndex, path: str | Path, *, signs: Any = None, overwrite: bool = False) -> dict[str, Any]:
    """Write an index for FAISS, and a file `PATH.json` that describes how to search it.

    Parameters
    ----------
    index : VectorIndex
        What `build` made.
    path : path
        The file to write; `faiss.read_index` reads it without this package.
    signs : array of shape (r,), optional
        Signs of the columns in the product, for the description.
    overwrite : bool
        Replace files that are there.

    Returns
    -------
    dict
        The description: kind, rows, width, metric, signs, how to search, and the SHA-256 of the file.
    """
    faiss = optional("faiss", extra="faiss", purpose="writing a vector index")
    path = as_path(path)
    beside = note_of(path)
    for file in (path, beside):
        if file.is_dir() or (file.exists() and not overwrite):
            raise InputError(f"{file} exists already; choose another name, or pass overwrite=True to replace a file")
    flips = None if signs is None else [int(sign) for sign in to_numpy(signs)]
    vectors = "complete vectors in float32: rows of the completion's factor, or what transform() makes of new rows"
    note = {
        "format": FORMAT,
        "kind": index.kind,
        "rows": index.rows.n,
        "width": index.rows.width,
        "longest": index.longest,
        "metric": "inner product",
        "queries": vectors + ("" if flips is None else ", times the signs below"),
        "signs": flips,
        "made_of": index.rows.fingerprint(),
    }
    with replacing(path) as draft:
        faiss.write_index(index.faiss, str(draft))
        note["sha256"] = file_digest(draft)
    with replacing(beside) as draft:
        draft.write_text(json.dumps(note, indent=1, allow_nan=False) + "\n", encoding="utf-8")
    return note


def read(path: str | Path, rows: Any) -> VectorIndex:
    """Read an index written by `export`, for the rows it was built from.

    Parameters
    ----------
    path : path
        The file; its description, PATH.json, must be in the same folder.
    rows : array or frame of shape (n, r), or Rows
        The rows, from which scores are computed.

    Returns
    -------
    VectorIndex
    """
    faiss = optional("faiss", extra="faiss", purpose="reading a vector index")
    path = as_path(path)
    beside = note_of(path)
    for file in (path, beside):
        if not file.is_file():
            raise InputError(f"{file} does not exist; give a file that export_index() wrote, with its note beside it")
    note = read_json(beside, "export the index again")
    try:
        kind, longest, digest, made_of = (note[name] for name in ("kind", "longest", "sha256", "made_of"))
        longest = float(longest)
    except (ValueError, KeyError, TypeError) as error:
        raise FileFormatError(
            f"{beside} is not a description of an index: {error!r}; export the index again"
        ) from error
    if file_digest(path) != digest:  # before FAISS reads a byte of it
        raise FileFormatError(f"{path} was cut short or changed after it was written; export the index again")
    rows = rows if isinstance(rows, Rows) else Rows.of(rows)
    if (note.get("rows"), note.get("width"), made_of) != (rows.n, rows.width, rows.fingerprint()):
        raise InputError(f"{path} was built over other rows than the {rows.n} x {rows.width} given; build it again")
    try:
        stored = faiss.read_index(str(path))
    except Exception as error:  # FAISS raises RuntimeError, and others from its wrapper
        reason = " ".join(str(error).split())[:120]
        raise FileFormatError(f"{path} is not a FAISS index ({reason}); export the index again") from error
    if kind not in get_args(Kind) or (stored.ntotal, stored.d) != (rows.n, rows.width) or not np.isfinite(longest):
        raise FileFormatError(f"{path} and {beside} do not fit each other; export the index again")
    return VectorIndex(stored, kind, rows, longest)


def note_of(path: Path) -> Path:
    """Name of the note beside an index."""
    return path.with_name(path.name + ".json")
