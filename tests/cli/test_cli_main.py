"""The command line as a process of its own."""

from __future__ import annotations

import json

import numpy as np
import pytest


def test_two_commands_end_to_end(process, tmp_path):
    X = np.random.default_rng(0).random((8, 5))
    np.save(tmp_path / "p.npy", X)
    np.save(tmp_path / "q.npy", np.where(np.eye(5)[:2] > 0, np.nan, X[:2]))
    done = process("-m", "simcomplete", "complete", "p.npy", "q.npy", "-o", "out", "--json")
    assert (done.returncode, done.stderr) == (0, "")
    assert json.loads(done.stdout)["n_queries"] == 2
    searched = process("-m", "simcomplete", "search", "out", "-k", "1")
    assert (searched.returncode, searched.stderr) == (0, "")
    assert len(searched.stdout.splitlines()) == 3


def test_an_error_is_one_line_without_a_traceback(process):
    done = process("-m", "simcomplete", "complete", "nope.csv", "-o", "out")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "simcomplete: error: nope.csv: there is no such file\n"


@pytest.mark.parametrize("module", ["typer", "rich"])
def test_without_the_packages_of_the_command_line(process, module):
    code = f"import sys; sys.modules[{module!r}] = None; from simcomplete._cli import main; main()"
    done = process("-c", code)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert "pip install 'simcomplete[cli]'" in done.stderr


def test_the_library_itself_needs_none_of_them(process):
    packages = ("typer", "rich", "matplotlib", "pyarrow", "jinja2")
    code = f"import sys, simcomplete; print([m for m in {packages} if m in sys.modules])"
    assert process("-c", code).stdout == "[]\n"
