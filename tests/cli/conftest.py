"""Commands in this process, and as processes of their own with an environment that is written down here."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import simcomplete
from simcomplete._cli.app import app

# Nothing of the machine but where programs are: no PYTHONUNBUFFERED, no PYTHONUTF8, no COLUMNS that hides a failure.
CLEAN = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": str(Path.home()),
    "LANG": "C.UTF-8",
    "PYTHONPATH": str(Path(simcomplete.__file__).resolve().parents[1]),  # absolute: it holds in another folder, too
}

P = np.array([[1.0, 2.0, 3.0], [3.0, 1.0, 0.5], [1.0, 1.0, 1.0], [0.0, 2.0, 1.0]])
Q = np.array([[1.0, np.nan, 3.0], [np.nan, 2.0, np.nan]])


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """An empty folder to work in, with four candidates and two queries as .npy and .csv."""
    monkeypatch.chdir(tmp_path)
    np.save("p.npy", P)
    np.save("q.npy", Q)
    (tmp_path / "p.csv").write_text("id,a,b,c\nu,1,2,3\nv,3,1,0.5\nw,1,1,1\nx,0,2,1\n")
    (tmp_path / "q.csv").write_text("id,a,b,c\nq1,1,NA,3\nq2,,2,\n")
    return tmp_path


@pytest.fixture(name="run")
def run_fixture():
    """A function: run a command in this process; it must end with the given code."""
    return run


def run(*arguments, code=0):
    result = CliRunner().invoke(app, list(arguments))
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    assert result.exit_code == code, result.stderr
    return result


@pytest.fixture(name="as_json")
def as_json_fixture():
    """A function: run a command with --json, and return the document."""
    return as_json


def as_json(*arguments):
    result = run(*arguments, "--json")
    assert result.stderr == ""
    return json.loads(result.stdout)


@pytest.fixture(name="fails")
def fails_fixture():
    """A function: run a command that must fail, and return its one line."""
    return fails


def fails(*arguments, code=2):
    result = run(*arguments, code=code)
    assert result.stdout == ""
    assert result.stderr.startswith("simcomplete: ")
    assert result.stderr.count("\n") == 1
    return result.stderr


@pytest.fixture
def process(tmp_path):
    """A function: run Python as a process with a clean environment and the given variables; it is waited for."""

    def start(*arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE, shell="", **variables):
        command = [sys.executable, *arguments]
        if shell:  # what a shell does with the streams before the program starts
            command = ["sh", "-c", f'exec "$@" {shell}', "sh", *command]
        return subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=stdout,
            stderr=stderr,
            cwd=tmp_path,
            env={**CLEAN, **variables},
            timeout=120,
            check=False,
            encoding="utf-8",
        )

    return start
