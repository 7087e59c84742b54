"""Saved folders, output files and zarr arrays that were tampered with, and disks that are full."""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil

import numpy as np

import simcomplete as sc
from simcomplete._result.archive import digest_of

from .case import Case

FORMAT = ("FileFormatError",)
FULL = ("DiskFullError",)
RNG = np.random.default_rng(0)
P, Q = RNG.random((60, 12)), np.where(RNG.random((6, 12)) < 0.5, np.nan, RNG.random((6, 12)))


def completed(**settings):
    return sc.complete(P, Q, method="smcnn", rank=5, progress=False, **settings)


def save(folder):
    completed().save(folder / "done")


def load(folder):
    sc.load(folder / "done").search(3)


def tampered(folder, arrays=None, facts=None):
    """Save a completion, and change it so that every checksum fits."""
    save(folder)
    where = folder / "done" / "completion.json"
    index = json.loads(where.read_text())
    for name, array in (arrays or {}).items():
        file = where.with_name(f"{name}.npy")
        np.save(file, array(np.load(file)) if callable(array) else array, allow_pickle=True)
        found = np.load(file, allow_pickle=True)
        digest = hashlib.sha256(file.read_bytes()).hexdigest()
        index["arrays"][name] = {"shape": list(found.shape), "dtype": found.dtype.str, "sha256": digest}
    index["facts"] |= facts or {}
    index["sha256"] = digest_of(index)
    where.write_text(json.dumps(index))


def folder_case(name, words, arrays=None, facts=None):
    return Case(f"saved: {name}", load, lambda d: tampered(d, arrays, facts), FORMAT, words)


def nested(folder):
    save(folder)
    (folder / "done" / "completion.json").write_text("[" * 200_000)


TAMPERED = [
    folder_case("one label for 66 rows", ("labels", "66"), facts={"labels": ["a"]}),
    folder_case("labels that are numbers", ("labels",), facts={"labels": [1] * 66}),
    folder_case("a short array of candidates", ("candidates",), arrays={"candidates": lambda X: X[:10].copy()}),
    folder_case("a complex factor", ("factor", "complex"), arrays={"factor": lambda X: X.astype(complex)}),
    folder_case("a factor of text", ("factor",), arrays={"factor": lambda X: X.astype("U5")}),
    folder_case("a factor of whole numbers", ("factor",), arrays={"factor": lambda X: X.astype(int)}),
    folder_case("a factor of objects", ("objects",), arrays={"factor": lambda X: X.astype(object)}),
    folder_case("a factor of one dimension", ("factor",), arrays={"factor": lambda X: X.ravel()}),
    folder_case("a factor without rows", ("rows",), arrays={"factor": lambda X: X[:0].copy()}),
    folder_case("a long diagonal", ("diagonal",), arrays={"diagonal": np.zeros(67)}),
    folder_case("signs of another width", ("signs",), arrays={"signs": np.ones(9)}),
    folder_case("an order with a row twice", ("order",), arrays={"order": np.zeros(66, int)}),
    folder_case("quantiles without a spread", ("quantiles",), arrays={"quantiles": np.zeros(11)}),
    folder_case("more candidates than rows", ("n_candidates",), facts={"n_candidates": 100}),
    folder_case("half a candidate", ("n_candidates",), facts={"n_candidates": 0.5}),
    folder_case("a status that is a word", ("status",), facts={"status": "fine"}),
    folder_case("bounds that are words", ("bounds",), facts={"bounds": ["a", "b"]}),
    folder_case("a metric that is unknown", ("metric",), facts={"exact": {"kind": "rows", "metric": "x"}}),
    folder_case("params that are a list", ("params",), facts={"params": [1]}),
    Case("saved: completion.json is nested", load, nested, FORMAT, ("nested",)),
]


def zarr_array(folder, **settings):
    import zarr

    array = zarr.create_array(str(folder / "x.zarr"), shape=P.shape, chunks=(20, 12), dtype="f8", **settings)
    array[:] = P
    return folder / "x.zarr"


def without_chunk(folder):
    (zarr_array(folder) / "c" / "1" / "0").unlink()


def with_garbage(folder):
    (zarr_array(folder) / "c" / "1" / "0").write_bytes(b"\xff" * 100)


def with_nested_note(folder):
    (zarr_array(folder) / "zarr.json").write_text("[" * 200_000)


def complete_zarr(folder):
    return sc.complete(folder / "x.zarr", Q, method="smcnn", rank=5, progress=False).search(3)


def complete_open_zarr(folder):
    import zarr

    return sc.complete(zarr.open_array(folder / "x.zarr"), Q, method="smcnn", rank=5, progress=False).search(3)


def cut(file):
    os.truncate(file, 200)


def mapped_then_cut(folder):
    np.save(folder / "x.npy", np.tile(P, (100, 1)))
    done = sc.complete(np.load(folder / "x.npy", mmap_mode="r"), Q, method="posterior", effort="fast", progress=False)
    cut(folder / "x.npy")
    done.validity  # noqa: B018
    done.view(keep_candidates=True).similarity("candidates", "candidates")


def table_then_cut(folder):
    from simcomplete.datasets._formats import arrays

    arrays.MAP_ABOVE_BYTES = 0
    np.save(folder / "x.npy", np.tile(P, (100, 1)))
    table = sc.datasets.read_table(folder / "x.npy")
    cut(folder / "x.npy")
    sc.complete(table, Q, method="smcnn", rank=3, progress=False)


def written_then_cut(folder):
    done = completed(out=folder / "factor.npy")
    cut(folder / "factor.npy")
    done.search(3)


def chunk_then_lost(folder):
    done = completed(out=folder / "factor.zarr")
    shutil.rmtree(folder / "factor.zarr" / "c")
    done.search(3)


ZARR = [
    Case(
        "zarr: a chunk is missing",
        complete_zarr,
        without_chunk,
        FORMAT,
        ("c/1/0", "rows 20 to 40", "write_empty_chunks"),
    ),
    Case("zarr: a chunk is missing, array given", complete_open_zarr, without_chunk, FORMAT, ("c/1/0",)),
    Case(
        "zarr: a chunk is missing and meant",
        complete_zarr,
        without_chunk,
        (),
        environment={"SIMCOMPLETE_ZARR_FILL": "0"},
    ),
    Case(
        "zarr: the fill value is another than said",
        complete_zarr,
        without_chunk,
        FORMAT,
        ("c/1/0",),
        environment={"SIMCOMPLETE_ZARR_FILL": "1"},
    ),
    Case("zarr: a chunk is garbage", complete_zarr, with_garbage, FORMAT, ("rows", "damaged")),
    Case("zarr: zarr.json is nested", complete_zarr, with_nested_note, FORMAT, ("zarr",)),
    Case("map: cut short after complete", mapped_then_cut, errors=FORMAT, words=("x.npy", "cut short"), seconds=10),
    Case("map: table cut short before complete", table_then_cut, errors=FORMAT, words=("x.npy", "cut short")),
    Case("out=.npy: cut short before search", written_then_cut, errors=FORMAT, words=("factor.npy", "cut short")),
    Case("out=.zarr: chunks lost before search", chunk_then_lost, errors=FORMAT, words=("has no file",)),
]


def on_full_disk(act):
    """Allow files of 1 kB, do it, and see that nothing is left of it."""

    def limited(folder):
        before = sorted(folder.iterdir())
        done = completed() if act is save_result else None
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (1000, hard))
        try:
            act(folder) if done is None else act(folder, done)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
            if sorted(folder.iterdir()) != before:
                raise AssertionError(f"left behind: {sorted(folder.iterdir())}")

    return limited


def save_result(folder, done):
    done.save(folder / "done", overwrite=True)


def more_than_there_is(folder):
    """The disk has no room for 2**60 bytes."""
    from simcomplete._rows.sink import Output

    with Output(folder / "x.npy") as out:
        out.table((2**57, 1), np.float64)


def replace_with_stranger(folder):
    save(folder)
    (folder / "done" / "thesis.tex").write_text("three years of work")
    try:
        completed().save(folder / "done", overwrite=True)
    finally:
        assert (folder / "done" / "thesis.tex").read_text() == "three years of work"


WRITING = [
    Case("full disk: save", on_full_disk(save_result), errors=FULL, words=("needed", "free", "done")),
    Case("full disk: save over another", on_full_disk(save_result), save, FULL, ("needed", "free", "done")),
    Case(
        "full disk: out=.npy",
        on_full_disk(lambda d: completed(out=d / "x.npy", memory=2000)),
        errors=FULL,
        words=("needed",),
    ),
    Case("full disk: out=.zarr", on_full_disk(lambda d: completed(out=d / "x.zarr")), errors=FULL, words=("needed",)),
    Case("full disk: known before writing", more_than_there_is, errors=FULL, words=("TiB needed", "free")),
    Case(
        "save over a folder with another's file", replace_with_stranger, errors=("InputError",), words=("thesis.tex",)
    ),
]
CASES = [*TAMPERED, *ZARR, *WRITING]
