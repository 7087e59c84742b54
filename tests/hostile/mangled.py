"""Thousands of files of every format that is read, cut, flipped and overwritten with fixed seeds.

A mangled file may still be a file: a number in it is another number. It must be read, or refused with an error of ours,
in reasonable time and memory. What carries a checksum (saved folders, indexes) must be refused, or be as it was.
"""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import random
import shutil
import struct
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

import simcomplete as sc
from simcomplete import index as vectors
from simcomplete._rows.validate import as_rows

from . import models
from .case import ROOT, Outcome, bounded, environment, measured
from .saved import P, completed

FULL, QUICK = 300, 12
BATCH = 100
SECONDS, MIB = 5.0, 400.0
KINDS = ("candidates", "rows", "imputer", "spectral", "correlation")  # of models
BODIES = ("npy", "json", "arrow")
NUMBERS = np.random.default_rng(7).random((30, 6))


def write_text(separator: str) -> Callable[[Path], None]:
    def write(path):
        rows = [separator.join(["name", *"abcdef"])] + [
            separator.join([f"row{i}", *map(repr, row.tolist())]) for i, row in enumerate(NUMBERS)
        ]
        path.write_text("\n".join(rows) + "\n")

    return write


def write_parquet(path):
    import pandas as pd

    pd.DataFrame(NUMBERS, index=[f"row{i}" for i in range(30)], columns=list("abcdef")).to_parquet(path)


def write_packed_text(path):
    write_text(";")(path)
    path.write_bytes(gzip.compress(path.read_bytes(), mtime=0))


def write_arrow(path):
    import pandas as pd

    pd.DataFrame(NUMBERS, columns=list("abcdef")).to_feather(path)


def write_idx(path):
    images = (NUMBERS * 255).astype(np.uint8)
    path.write_bytes(struct.pack(">HBBIII", 0, 8, 3, 30, 2, 3) + images.tobytes())


def svmlight() -> bytes:
    lines = [f"{i % 3} " + " ".join(f"{j + 1}:{x}" for j, x in enumerate(row)) for i, row in enumerate(NUMBERS)]
    return "\n".join(lines).encode()


def write_word2vec(path):
    rows = [f"word{i} ".encode() + row.astype("<f4").tobytes() + b"\n" for i, row in enumerate(NUMBERS)]
    path.write_bytes(b"30 6\n" + b"".join(rows))


def write_vectors(path):
    rows = [f"word{i} " + " ".join(map(str, row)) for i, row in enumerate(NUMBERS)]
    path.write_text("30 6\n" + "\n".join(rows) + "\n")


def write_cifar(path):
    rng = np.random.default_rng(1)
    path.write_bytes(b"".join(bytes([i % 10]) + rng.bytes(3072) for i in range(4)))


def write_zarr(path):
    import zarr

    array = zarr.create_array(
        str(path), shape=P.shape, chunks=(20, 12), dtype="f8", config={"write_empty_chunks": True}
    )
    array[:] = P


def write_index(path):
    done = completed()
    done.export_index(path)


def read_table(path):
    table = sc.datasets.read_table(path)
    assert table.values.ndim == 2 and table.values.dtype.kind == "f", "no table of floats"
    assert table.labels is None or len(table.labels) == len(table.values), "labels do not fit"


def read_rows(path):
    as_rows(path).whole()  # not completed: what large numbers do to the mathematics is another matter


def read_saved(path):
    np.testing.assert_array_equal(sc.load(path).search(3).ids, completed().search(3).ids)


def read_index(path):
    rows = completed().factor[:60]
    found = vectors.read(path, rows)
    assert found.rows.n == 60, "another index"


@dataclass(frozen=True)
class Format:
    """A name to write under, how to write it, and how to read it."""

    file: str
    write: Callable[[Path], object]
    read: Callable[[Path], object] = read_table
    # How it is changed, where not byte by byte.
    forge: Callable[[Path, random.Random], object] | None = None


FORMATS = {
    ".npy": Format("x.npy", lambda p: np.save(p, NUMBERS)),
    ".npy by its path": Format("x.npy", lambda p: np.save(p, NUMBERS), read_rows),
    ".npz": Format("x.npz", lambda p: np.savez(p, X=NUMBERS, y=np.arange(30))),
    ".npz packed": Format("x.npz", lambda p: np.savez_compressed(p, X=NUMBERS, names=np.array(["a"] * 30))),
    ".csv": Format("x.csv", write_text(",")),
    ".tsv": Format("x.tsv", write_text("\t")),
    ".parquet": Format("x.parquet", write_parquet),
    ".csv in gzip": Format("x.csv.gz", write_packed_text),
    ".arrow": Format("x.arrow", write_arrow),
    "idx": Format("x-idx3-ubyte", write_idx),
    "svmlight": Format("x.svm", lambda p: p.write_bytes(svmlight())),
    "svmlight in gzip": Format("x.svm.gz", lambda p: p.write_bytes(gzip.compress(svmlight(), mtime=0))),
    "svmlight in bzip2": Format("x.svm.bz2", lambda p: p.write_bytes(bz2.compress(svmlight()))),
    "svmlight in xz": Format("x.svm.xz", lambda p: p.write_bytes(lzma.compress(svmlight()))),
    "word2vec": Format("x.bin", write_word2vec),
    "word vectors as text": Format("x.txt", write_vectors),
    "CIFAR-10": Format("data_batch_1.bin", write_cifar),
    "zarr": Format("x.zarr", write_zarr, read_rows),
    "saved folder": Format("saved", lambda p: completed().save(p), read_saved),
    "index": Format("x.faiss", write_index, read_index),
    **{f"saved model, {kind}": Format("saved", models.write(kind), models.read) for kind in ("candidates", "imputer")},
    **{f"forged model, {kind}": Format("saved", models.write(kind), models.read, models.forge) for kind in KINDS},
    **{f"{kind} to the service": Format("body", models.body(kind), models.read_body(kind)) for kind in BODIES},
}


def mangle(data: bytes, rng: random.Random) -> bytes:
    """Cut, flip, overwrite, repeat or insert, one to three times."""
    raw = bytearray(data)
    for _ in range(rng.randint(1, 3)):
        at, size = rng.randrange(len(raw) + 1), rng.choice((1, 2, 4, 8, 64))
        # Half of the changes are near an end, where headers and footers are.
        if rng.random() < 0.5:
            at = min(len(raw), rng.randrange(200)) if rng.random() < 0.5 else max(0, len(raw) - rng.randrange(200))
        kind = rng.randrange(7)
        if kind == 0:
            del raw[at:]
        elif kind == 1 and raw:
            for _ in range(rng.randint(1, 8)):
                raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)
        elif kind == 2:
            raw[at : at + size] = rng.randbytes(size)
        elif kind == 3:
            raw[at : at + size] = rng.choice((b"\xff", b"\x00", b"\x7f", b"[", b"9", b"-")) * size
        elif kind == 4:
            raw[at:at] = raw[at : at + 10 * size]
        elif kind == 5:
            raw[at:at] = rng.choice((b"\xff\xff\xff\x7f", b"1e999", b"nan", b"\n", b",", b'"', b"\x00", b"\xc3\x28"))
        else:
            del raw[at : at + size]
    return bytes(raw)


@dataclass(frozen=True)
class Batch:
    """Some mangled files of one format, by their seeds."""

    format: str
    start: int
    stop: int
    seed: int

    @property
    def name(self) -> str:
        return f"mangled: {self.format} {self.start} to {self.stop - 1}"


def batches(count: int, seed: int = 0, only: str = "") -> Iterator[Batch]:
    """Batches of every format."""
    for name in FORMATS:
        if only in f"mangled: {name}":
            for start in range(0, count, BATCH):
                yield Batch(name, start, min(start + BATCH, count), seed)


def findings(
    batch: Batch, folder: Path, report: Callable[[int], object] = lambda i: None
) -> Iterator[tuple[int, dict]]:
    """Read every file of a batch; yield those with a finding."""
    kind = FORMATS[batch.format]
    original = folder / "original" / kind.file
    original.parent.mkdir()
    kind.write(original)
    kind.read(original)
    for i in range(batch.start, batch.stop):
        report(i)
        rng = random.Random(f"{batch.seed} {batch.format} {i}")
        mangled = folder / kind.file
        _copy(original, mangled)
        if kind.forge is not None:
            kind.forge(mangled, rng)
        else:
            part = rng.choice(sorted(file for file in _files(mangled) if file.stat().st_size))
            part.write_bytes(mangle(part.read_bytes(), rng))
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            came = measured(lambda path=mangled: kind.read(path))
        ours = not came["error"] or issubclass(getattr(sc.errors, came["error"], int), sc.errors.SimcompleteError)
        if not ours or came["seconds"] > SECONDS or came["mib"] > MIB:
            yield i, came


def _copy(original: Path, mangled: Path) -> None:
    for old in (mangled, mangled.with_name(mangled.name + ".json")):
        shutil.rmtree(old) if old.is_dir() else old.unlink(missing_ok=True)
    for file in original.parent.iterdir():
        copy = shutil.copytree if file.is_dir() else shutil.copy
        copy(file, mangled.with_name(file.name))


def _files(path: Path) -> list[Path]:
    if path.is_dir():
        return [file for file in path.rglob("*") if file.is_file()]
    note = path.with_name(path.name + ".json")
    return [path, note] if note.exists() else [path]


def run_batch(batch: Batch) -> Outcome:
    """Read a batch in a process of its own; a crash is a finding that names the file it happened at."""
    asked = json.dumps([batch.format, batch.start, batch.stop, batch.seed])
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        command = [sys.executable, "-m", "tests.hostile.mangled", asked, folder]
        try:
            run = subprocess.run(
                command, cwd=ROOT, env=environment(), capture_output=True, text=True, timeout=300, preexec_fn=bounded
            )
        except subprocess.TimeoutExpired:
            return Outcome(batch.name, "-", 300.0, 0.0, "did not end within five minutes")
        last = Path(folder) / "last"
        at = last.read_text() if last.exists() else "the start"
    if run.returncode:
        said = (run.stderr.strip().splitlines() or [""])[-1][:200]
        return Outcome(batch.name, "-", 0.0, 0.0, f"the process ended with {run.returncode} at {at}: {said}")
    *found, ended = (json.loads(line) for line in run.stdout.splitlines())
    text = "; ".join(f"number {i}: {came['error'] or 'no error'} {came['message'][:150]}" for i, came in found)
    return Outcome(batch.name, "ours or none", ended["seconds"], ended["mib"], text)


def main(asked: str, folder: str) -> None:
    """Run a batch, and print its findings and what it took."""
    batch = Batch(*json.loads(asked))
    last = Path(folder) / "last"

    def all_of_it() -> None:
        for found in findings(batch, Path(folder), lambda i: last.write_text(f"number {i}")):
            print(json.dumps(found))

    ended = measured(all_of_it)
    if ended["error"]:
        sys.exit(f"{ended['error']}: {ended['message']}")
    print(json.dumps(ended))


if __name__ == "__main__":
    main(*sys.argv[1:])
