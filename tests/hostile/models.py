"""Saved models whose parts do not fit each other although every checksum does, and bodies sent to a service."""

from __future__ import annotations

import hashlib
import io
import json
import random
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

import simcomplete as sc
from simcomplete._result.archive import digest_of
from simcomplete.errors import SimcompleteError

from .case import Case
from .saved import FORMAT, P, Q

OTHER_VALUES = [None, True, -1, 0, 10**30, 0.5, 1e308, "", "x", "../../x", [], [1], {}, {"a": 1}, [[]]]
CHANGES = [
    lambda X: X[:0],
    lambda X: X[:-1],
    lambda X: X.ravel(),
    lambda X: X.T,
    lambda X: X.astype(complex),
    lambda X: X.astype(object),
    lambda X: X.astype("U3"),
    lambda X: X.astype(np.int64, casting="unsafe"),
    lambda X: X[None],
    lambda X: np.full_like(X, -7),
]


@cache
def models() -> dict[str, Any]:
    """One of every kind that is saved in its own way."""
    gaps = np.where(np.random.default_rng(1).random(P.shape) < 0.3, np.nan, P)
    return {
        "candidates": sc.PosteriorCompleter(effort="fast", copies=True).fit(P, ids=[f"a{i}" for i in range(len(P))]),
        "rows": sc.PosteriorCompleter(effort="fast", center="mean").fit(gaps),
        "imputer": sc.PosteriorImputer(effort="fast", add_indicator=True).fit(gaps),
        "spectral": sc.SMCNN(rank=3).fit(gaps),
        "correlation": sc.NearestCorrelation().fit(gaps),
    }


def write(kind: str):
    return lambda path: models()[kind].save(path)


def read(path: Path) -> None:
    """Load a model and ask it something; numbers that someone put into it may be strange ones."""
    model = sc.load(path)
    with np.errstate(all="ignore"):
        if hasattr(model, "transform"):
            model.transform(Q)
        if hasattr(model, "search"):
            model.search(Q, k=2)


def forge(folder: Path, rng: random.Random) -> None:
    """Change one value or one array of a saved model, and every checksum with it."""
    where = folder / "model.json"
    index = json.loads(where.read_text(encoding="utf-8"))
    if index["arrays"] and rng.random() < 0.5:
        name = rng.choice(sorted(index["arrays"]))
        _exchange(folder, index, name, rng)
    else:
        *way, last = rng.choice(list(_leaves(index["facts"])))
        holder = index["facts"]
        for key in way:
            holder = holder[key]
        if isinstance(holder, dict) and rng.random() < 0.2:
            del holder[last]
        else:
            holder[last] = rng.choice(OTHER_VALUES)
    index["sha256"] = digest_of(index)
    where.write_text(json.dumps(index), encoding="utf-8")


def _exchange(folder: Path, index: dict[str, Any], name: str, rng: random.Random) -> None:
    file, array = folder / f"{name}.npy", None
    array = np.load(file)
    with np.errstate(all="ignore"):
        changed = np.asarray(rng.choice(CHANGES)(array)) if array.ndim else np.asarray([array, array])
    np.save(file, changed, allow_pickle=True)
    digest = hashlib.sha256(file.read_bytes()).hexdigest()
    index["arrays"][name] = {"shape": list(changed.shape), "dtype": changed.dtype.str, "sha256": digest}


def _leaves(value: Any, way: tuple[Any, ...] = ()) -> Any:
    """The ways to every value within plain values, those in between included."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, part in inside:
        yield (*way, key)
        yield from _leaves(part, (*way, key))


def body(kind: str):
    """What a client may send: 30 rows of 12 features."""

    def write_body(path: Path) -> None:
        rows = np.tile(Q, (5, 1))
        if kind == "npy":
            with path.open("wb") as file:  # by its name it would get another ending
                np.save(file, rows)
        elif kind == "json":
            listed = [[None if np.isnan(x) else x for x in row] for row in rows.tolist()]
            path.write_text(json.dumps({"rows": listed, "k": 3}))
        else:
            import pyarrow as pa

            table = pa.table({f"f{i}": column for i, column in enumerate(rows.T)})
            stream = io.BytesIO()
            with pa.ipc.new_stream(stream, table.schema) as writer:
                writer.write_table(table)
            path.write_bytes(stream.getvalue())

    return write_body


def read_body(kind: str):
    """Read a body as the service does; it answers an InputError or FileFormatError with 422 and the sentence."""

    def read_it(path: Path) -> None:
        from simcomplete._serve import bodies

        sent = path.read_bytes()
        if kind == "npy":
            bodies.rows_of_npy(sent, 12)
        elif kind == "json":
            bodies.rows_of_json(bodies.read_object(sent).get("rows"), 12, None)
        else:
            bodies.rows_of_arrow(sent, 12, None)

    return read_it


def huge_npy(folder: Path) -> None:
    """A body of 128 bytes that says it holds 10,000 rows of a terabyte."""
    from simcomplete._serve import bodies

    header = b"{'descr': '<f8', 'fortran_order': False, 'shape': (10000, 100000000), }"
    header += b" " * (-(len(header) + 11) % 64) + b"\n"
    bodies.rows_of_npy(b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header, 12)


def nested_json(folder: Path) -> None:
    from simcomplete._serve import bodies

    bodies.read_object(b'{"rows": ' + b"[" * 200_000)


def stranger(folder: Path) -> None:
    """A model is not saved over a folder with another's file."""
    models()["spectral"].save(folder / "model")
    (folder / "model" / "thesis.tex").write_text("three years of work")
    try:
        models()["spectral"].save(folder / "model", overwrite=True)
    except SimcompleteError:
        assert (folder / "model" / "thesis.tex").exists()
        raise


def pickled(folder: Path) -> None:
    """An array of objects, whose checksum fits."""
    _with_exchanged(folder, "spectral", "", CHANGES[5])


def short_classes(folder: Path) -> None:
    """Too few weights for the features that tell copies."""
    _with_exchanged(folder, "candidates", "weights", CHANGES[1])


def _with_exchanged(folder: Path, kind: str, part: str, change: Any) -> None:
    """Load a model whose first array with a part in its name was changed."""
    models()[kind].save(folder / "model")
    index = json.loads((folder / "model" / "model.json").read_text())
    name = next(name for name in sorted(index["arrays"]) if part in name)
    _exchange(folder / "model", index, name, _Always(change))
    index["sha256"] = digest_of(index)
    (folder / "model" / "model.json").write_text(json.dumps(index))
    sc.load(folder / "model")


class _Always(random.Random):
    def __init__(self, one: Any) -> None:
        super().__init__()
        self.one = one

    def choice(self, seq: Any) -> Any:
        return self.one


CASES = [
    Case("model: an array of objects", pickled, errors=FORMAT, words=("objects",), seconds=20),
    Case("model: too few weights", short_classes, errors=FORMAT, words=("weights",), seconds=20),
    Case("model: save over another's file", stranger, errors=("InputError",), words=("thesis.tex",), seconds=20),
    Case("service: a body that says it is huge", huge_npy, words=("cut short",)),
    Case("service: a body that is nested", nested_json, words=("JSON",)),
]
