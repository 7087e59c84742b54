"""The quick part of `make hostile`, in this process: every case but those whose files take long to make."""

from __future__ import annotations

import tracemalloc
import zipfile
from dataclasses import replace

import pytest

from simcomplete.datasets import read_table
from simcomplete.errors import FileFormatError

from . import files, mangled, saved
from .case import Case, judged, measured, run_case
from .files import described, npy_bytes

CASES = [case for module in (files, saved) for case in module.CASES if case.quick]


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.name)
def test_case(case, tmp_path, monkeypatch):
    for name, value in case.environment.items():
        monkeypatch.setenv(name, value)
    case.make(tmp_path)
    outcome = judged(replace(case, seconds=60.0), measured(lambda: case.act(tmp_path)))
    assert not outcome.finding


@pytest.mark.parametrize("batch", list(mangled.batches(mangled.QUICK)), ids=lambda batch: batch.format)
def test_mangled(batch, tmp_path):
    found = [(i, came) for i, came in mangled.findings(batch, tmp_path) if came["error"] or came["mib"] > mangled.MIB]
    assert not found


def test_a_case_has_a_process_of_its_own():
    case = next(case for case in files.CASES if "5%" in case.name)
    assert not run_case(replace(case, seconds=60.0), files.__name__).finding


def test_findings_are_found():
    case = Case("x", lambda folder: None, errors=("InputError",), words=("rank",))
    good = {"error": "InputError", "message": "rank=5", "seconds": 0.1, "mib": 1.0}
    assert judged(case, good).finding == ""
    assert "no error" in judged(case, good | {"error": ""}).finding
    assert "TypeError" in judged(case, good | {"error": "TypeError"}).finding
    assert "does not say 'rank'" in judged(case, good | {"message": "?"}).finding
    assert "MiB" in judged(case, good | {"mib": 300.0}).finding
    assert "2 s" in judged(case, good | {"seconds": 3.0}).finding


@pytest.mark.parametrize("kind", [".npy", ".npz"])
def test_a_long_header_is_refused_before_it_is_read(tmp_path, kind):
    path, length = tmp_path / f"x{kind}", 30 * 2**20
    raw = npy_bytes(described("(2, 2)") + " " * length, length, version=2)
    if kind == ".npy":
        path.write_bytes(raw)
    else:
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
            archive.writestr("X.npy", raw)
    del raw
    tracemalloc.start()
    try:
        with pytest.raises(FileFormatError, match="header claims to have 31457280 bytes"):
            read_table(path)
        assert tracemalloc.get_traced_memory()[1] < 2**20
    finally:
        tracemalloc.stop()
