"""Standard output and standard error of the process: full, closed early, absent, narrow, and without Unicode."""

from __future__ import annotations

import doctest
import io
import json
import os
import re
import struct
import sys
from pathlib import Path

import pytest

from simcomplete._cli import streams

BUFFERED = {}
UNBUFFERED = {"PYTHONUNBUFFERED": "1"}
# The encoding of the streams is then really ASCII; without the last two Python takes UTF-8 instead.
ASCII = {"LANG": "C", "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"}


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="the system has no /dev/full")
@pytest.mark.parametrize(
    ("command", "variables"), [(["methods"], BUFFERED), (["methods"], UNBUFFERED), (["--help"], BUFFERED)]
)
def test_a_full_disk_is_one_line_and_code_2(process, command, variables):
    with open("/dev/full", "w") as full:  # noqa: PTH123 - a device, not a path
        done = process("-m", "simcomplete", *command, stdout=full, **variables)
    assert (done.returncode, done.stderr) == (2, "simcomplete: error: No space left on device\n")


@pytest.mark.parametrize(
    ("command", "variables"),
    [
        (["methods"], BUFFERED),  # fails when it is flushed
        (["methods", "--json"], BUFFERED),  # longer than the buffer: fails while it is printed
        (["methods"], UNBUFFERED),
        (["--help"], UNBUFFERED),  # printed by typer, which handles a broken pipe in its own way
    ],
)
def test_a_reader_that_stopped_early_is_no_error(process, command, variables):
    reading, writing = os.pipe()
    os.close(reading)  # before the command writes, so that it always meets a broken pipe
    try:
        done = process("-m", "simcomplete", *command, stdout=writing, **variables)
    finally:
        os.close(writing)
    assert (done.returncode, done.stderr) == (141, "")  # 128 + 13, as a process that SIGPIPE has ended


def test_output_that_is_closed_is_no_error(process):
    done = process("-m", "simcomplete", "methods", shell=">&-")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("stderr", ["2>&-", "2>/dev/full"])
def test_an_error_that_cannot_be_printed_keeps_its_code(process, stderr):
    done = process("-m", "simcomplete", "complete", "nope.csv", "-o", "out", shell=stderr)
    assert (done.returncode, done.stdout, done.stderr) == (2, "", "")


# Runs commands one after the other, because a process takes longer to start than most of them to run.
SEVERAL = """
import json, sys
from simcomplete._cli import main
print(sys.stdout.encoding)
for line in json.loads(sys.argv[1]):
    sys.argv[1:] = line
    print(">>>", *map(ascii, line), flush=True)
    try:
        main()
    except SystemExit as ended:
        print("exit code", ended.code, flush=True)
"""


def several(process, commands, **variables):
    """Return the encoding of standard output, what each command printed, and their exit codes."""
    done = process("-c", SEVERAL, json.dumps(commands), **variables)
    assert (done.returncode, done.stderr) == (0, "")
    encoding, *parts = re.split(r"^>>> .*\n", done.stdout, flags=re.MULTILINE)
    printed = [part.rpartition("exit code ") for part in parts]
    return encoding.strip(), [text for text, _, _ in printed], [int(code) for _, _, code in printed]


def test_every_command_where_the_terminal_knows_only_ascii(process, tmp_path):
    rows = "\n".join(f"gar\xe7on {i},{i}.5,{i % 3},{i % 5}" for i in range(24))
    (tmp_path / "fran\xe7ais.csv").write_text(f"pr\xe9nom,a,b,c\n{rows}\n", encoding="utf-8")
    commands = [
        ["complete", "fran\xe7ais.csv", "-o", "na\xefve", "--method", "smcnn", "--rank", "2"],
        ["search", "na\xefve", "-k", "1", "--rows", "0:2"],
        ["search", "na\xefve", "-k", "1", "--rows", "0", "--json"],
        ["search", "na\xefve", "-k", "1", "-o", "\xe9.csv"],
        ["compare", "fran\xe7ais.csv", "--methods", "overlap,mean", "--repeats", "2", "-o", "\xe7"],
        ["demo", "--candidates", "9", "--queries", "3", "-o", "d\xe9mo"],
        ["methods"],
        ["paper", "list"],
        ["paper", "run", "rank", "--quick", "--only", "method=smcnn", "-o", "\xe9t\xe9"],
        ["paper", "report", "rank", "--quick", "-o", "\xe9t\xe9"],
        *[[*name, "--help"] for name in ([], ["complete"], ["search"], ["compare"], ["demo"], ["methods"], ["paper"])],
        *[["paper", name, "--help"] for name in ("list", "run", "report")],
        ["--version"],
    ]
    # The names of files as they come from a command line in this locale.
    commands = [[os.fsencode(word).decode("ascii", "surrogateescape") for word in line] for line in commands]
    encoding, printed, codes = several(process, commands, **ASCII)
    assert encoding.lower() in ("ascii", "us-ascii", "ansi_x3.4-1968")
    assert codes == [0] * len(commands)
    assert "gar\\xe7on 1" in printed[1]
    assert len({len(line) for line in printed[1].splitlines()}) <= 2  # the columns are still aligned
    assert json.loads(printed[2])["queries"][0]["label"] == "gar\xe7on 0"
    assert "gar\xe7on 1" in (tmp_path / "\xe9.csv").read_text(encoding="utf-8")
    assert re.search(r"\d \+-\d", printed[4])
    assert (tmp_path / "d\xe9mo" / "index.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert (tmp_path / "\xe9t\xe9" / "index.html").is_file()


def test_a_name_of_a_file_whose_bytes_are_not_utf_8(process, tmp_path):
    """Bytes of another encoding reach Python as surrogates, which no strict stream can write."""
    (tmp_path / os.fsdecode(b"\xff.csv")).write_text("a,b\n1,2\n3,5\n")
    names = [os.fsdecode(b"\xff.csv"), os.fsdecode(b"\xfe")]
    line = ["complete", names[0], "-o", names[1], "--method", "overlap"]
    _, printed, codes = several(process, [line, [*line, "--overwrite", "--json"]], PYTHONIOENCODING="utf-8:strict")
    assert codes == [0, 0]
    assert printed[0].splitlines()[-1] == "saved: \\udcfe"
    assert json.loads(printed[1])["output"] == names[1]


def test_a_narrow_terminal_breaks_no_row(process):
    commands = [["methods"], ["paper", "list"], ["complete", "--help"], ["search", "nowhere-at-all-in-this-folder"]]
    narrow = process("-c", SEVERAL, json.dumps(commands), COLUMNS="20")
    wide = process("-c", SEVERAL, json.dumps(commands), COLUMNS="200")
    assert narrow.returncode == wide.returncode == 0
    tables = [done.stdout.partition(">>> 'complete'")[0] for done in (narrow, wide)]
    assert tables[0] == tables[1]
    assert tables[0].count("\n") > 30
    for option in ("--output", "--keep-candidates", "--header / --no-header"):
        assert option in narrow.stdout
    assert "exit code 2" in narrow.stdout
    assert narrow.stderr == wide.stderr
    assert narrow.stderr.count("\n") == 1


def test_a_terminal_gets_the_same_rows(process):
    """A real one of 20 columns, which also shows the head in bold."""
    fcntl, pty, termios = (pytest.importorskip(name) for name in ("fcntl", "pty", "termios"))
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 20, 0, 0))
    try:
        done = process("-m", "simcomplete", "paper", "list", stdout=theirs, TERM="xterm")
        shown = os.read(ours, 2**16).decode()
    finally:
        os.close(theirs)
        os.close(ours)
    assert (done.returncode, done.stderr) == (0, "")
    assert "\x1b[1m" in shown
    lines = re.sub(r"\x1b\[\d*m", "", shown).replace("\r\n", "\n")
    assert lines == process("-m", "simcomplete", "paper", "list").stdout


class Full(io.StringIO):
    def flush(self):
        raise OSError(28, "No space left on device")


def test_a_stream_without_a_descriptor():
    streams.finish(io.StringIO("text"))
    with pytest.raises(OSError, match="No space left"):
        streams.finish(Full())


def test_streams_that_are_there_are_kept(capsys):
    before = sys.stdout
    streams.prepare()
    assert sys.stdout is before
    print("\ud800")
    assert capsys.readouterr().out == "\\ud800\n"


def test_examples():
    assert doctest.testmod(streams).failed == 0
