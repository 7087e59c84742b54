"""The command line as a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import simcomplete

# Absolute, so that it holds in another folder too.
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(Path(simcomplete.__file__).resolve().parents[1])}


def run(*command, cwd=None):
    return subprocess.run(
        [sys.executable, *command], capture_output=True, text=True, cwd=cwd, timeout=120, check=False, env=ENVIRONMENT
    )


def test_two_commands_end_to_end(tmp_path):
    X = np.random.default_rng(0).random((8, 5))
    np.save(tmp_path / "p.npy", X)
    np.save(tmp_path / "q.npy", np.where(np.eye(5)[:2] > 0, np.nan, X[:2]))
    done = run("-m", "simcomplete", "complete", "p.npy", "q.npy", "-o", "out", "--json", cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n_queries"] == 2
    found = run("-m", "simcomplete", "search", "out", "-k", "1", cwd=tmp_path)
    assert (found.returncode, found.stderr) == (0, "")
    assert len(found.stdout.splitlines()) == 3


def test_an_error_is_one_line_without_a_traceback(tmp_path):
    done = run("-m", "simcomplete", "complete", "nope.csv", "-o", "out", cwd=tmp_path)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "simcomplete: error: nope.csv: there is no such file\n"


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_packages_of_the_command_line(module):
    code = f"import sys; sys.modules[{module!r}] = None; from simcomplete._cli import main; main()"
    done = run("-c", code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'simcomplete[cli]'" in done.stderr


def test_the_library_itself_needs_none_of_them():
    code = "import sys, simcomplete; print([m for m in ('typer', 'rich', 'matplotlib', 'pyarrow') if m in sys.modules])"
    assert run("-c", code).stdout == "[]\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
def test_standard_output_on_a_full_disk():
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, not a path
        done = subprocess.run(
            [sys.executable, "-m", "simcomplete", "methods"],
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    assert done.stderr == "simcomplete: error: No space left on device\n"


def test_a_reader_that_stops_early_is_no_error(tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "simcomplete", "methods"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    process.stdout.close()
    assert process.stderr.read() == b""
    process.stderr.close()
    process.wait()
