"""The command line in bad company: closed streams, other encodings, values and files of another kind."""

from __future__ import annotations

import subprocess
import sys
from functools import partial

import numpy as np

from . import saved
from .case import Case, environment

ASCII = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii"}
COMPLETE = "simcomplete complete P.npy Q.npy -o out --no-progress"
LABELLED = "simcomplete complete labels.csv -o out --method smcnn --no-progress"


def make(folder):
    np.save(folder / "P.npy", saved.P)
    np.save(folder / "Q.npy", saved.Q)
    lines = [f"zoë{i},{i},{i * i % 7},{i * 3 % 11}" for i in range(1, 30)]
    (folder / "labels.csv").write_text("name,a,b,c\n" + "\n".join(lines) + "\n", encoding="utf-8")
    for name, start in (("bytes", b'\xff\xfe{"a": 1}\n'), ("nested", b"[" * 200_000 + b"\n")):
        (folder / name).mkdir()
        (folder / name / "rows.jsonl").write_bytes(start)


def command(line, code, words, more, folder):
    """Run a line of a shell; it must end with that code, in those words, and never with a traceback."""
    line = line.replace("simcomplete ", f"{sys.executable} -m simcomplete ")
    run = subprocess.run(
        ["bash", "-c", line],
        cwd=folder,
        env=environment(more),
        capture_output=True,
        text=True,
        errors="replace",
        timeout=100,
    )
    said = run.stdout + run.stderr
    assert "Traceback" not in said and "Exception ignored" not in said, said[-300:]
    assert run.returncode == code, f"ended with {run.returncode}: {said[-300:]}"
    for word in words:
        assert word in said, f"{word!r} is not in: {said[-300:]}"


def command_case(name, line, code=0, words=(), more=None):
    return Case(f"command: {name}", partial(command, line, code, words, more), make, errors=(), seconds=60)


CASES = [
    command_case("complete with standard output closed", f"{COMPLETE} --method smcnn >&-"),
    command_case("complete with both streams closed", f"{COMPLETE} --method smcnn >&- 2>&-"),
    command_case("methods with standard output closed", "simcomplete methods >&-"),
    command_case("help with standard output closed", "simcomplete complete --help >&-"),
    command_case("methods to a full disk", "simcomplete methods > /dev/full", 2, ("No space left",)),
    command_case("labels to an ASCII terminal", f"{LABELLED} && simcomplete search out -k 2", 0, ("zo\\xeb",), ASCII),
    command_case(
        "labels as JSON to an ASCII terminal", f"{LABELLED} --json && simcomplete search out --json", 0, (), ASCII
    ),
    command_case("labels to a file, in ASCII", f"{LABELLED} && simcomplete search out -o x.csv", 0, ("x.csv",), ASCII),
    command_case("--param effort=[1]", f"{COMPLETE} --param effort=[1]", 2, ("effort",)),
    command_case("--param elect=5", f"{COMPLETE} --param elect=5", 2, ("elect=5",)),
    command_case("--param elect=smcnn", f"{COMPLETE} --param elect=smcnn", 2, ("elect=smcnn", "['smcnn")),
    command_case("--param elect=[5]", f"{COMPLETE} --param elect=[5]", 2, ("method 5",)),
    command_case("--param elect=[[]]", f"{COMPLETE} --param elect=[[]]", 2, ("method",)),
    command_case(
        "--param that is nested",
        f"{COMPLETE} --param effort=$(printf '[%.0s' $(seq 30000))",
        2,
        ("nested",),
    ),
    command_case(
        "rows that are not UTF-8",
        "simcomplete compare P.npy --methods mean --repeats 1 -o bytes",
        2,
        ("UTF-8", "rows.jsonl"),
    ),
    command_case(
        "rows that are nested",
        "simcomplete compare P.npy --methods mean --repeats 1 -o nested",
        2,
        ("nested", "rows.jsonl"),
    ),
    command_case(
        "search -o on a full disk",
        f"{COMPLETE} --method smcnn && (ulimit -f 1; simcomplete search out -k 20 -o x.csv)",
        2,
        ("needed",),
    ),
    command_case("complete on a full disk", f"(ulimit -f 1; {COMPLETE} --method smcnn)", 2, ("needed", "out")),
]
