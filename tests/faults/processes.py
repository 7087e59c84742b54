"""Work as processes of their own, which say when they are at work and can be hit there."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import simcomplete

# What the processes are told: nothing of the machine but where programs are, and one thread each.
ENVIRONMENT = {
    "PATH": os.environ.get("PATH", os.defpath),
    "HOME": str(Path.home()),
    "LANG": "C.UTF-8",
    "OPENBLAS_NUM_THREADS": "1",
    "OMP_NUM_THREADS": "1",
    "PYTHONPATH": str(Path(simcomplete.__file__).resolve().parents[1]),
}
READY = "at work"
SECONDS = 180
# Python does not listen to Ctrl-C where its parent ignored it, as shells do for what runs in the background. `ready` is
# called where the work begins, after modules are loaded and arguments are read; from there on, what happens to files
# below the working folder is counted, and a fault may strike at one of these events.
START = """
import os, signal, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
FOLDER = os.getcwd() + os.sep
AT_WORK, EVENTS, BEGAN = False, 0, 0.0
def ready():
    global AT_WORK, BEGAN
    {limit}
    print({ready!r}, file=sys.stderr, flush=True)
    AT_WORK, BEGAN = True, time.monotonic()
def watch(event, arguments):
    global EVENTS
    if not AT_WORK or event not in ("open", "os.rename", "os.remove", "os.mkdir", "os.rmdir", "os.truncate", "os.link"):
        return
    path = arguments[0]
    if isinstance(path, (str, bytes, os.PathLike)) and os.path.abspath(os.fsdecode(path)).startswith(FOLDER):
        EVENTS += 1
        if EVENTS == {at}:
            os.kill(os.getpid(), {signal})
sys.addaudithook(watch)
"""
END = """
print("done", EVENTS, time.monotonic() - BEGAN, file=sys.stderr)
"""
# A library call: what it raises on purpose is a line, as on the command line.
CALL = """
import numpy as np, simcomplete as sc
from simcomplete.errors import SimcompleteError
{before}
try:
    ready()
    {call}
except KeyboardInterrupt:
    sys.exit(130)
except (SimcompleteError, OSError) as error:
    print("refused:", type(error).__name__, error, file=sys.stderr)
    sys.exit(2)
"""
COMMAND = """
from simcomplete._cli import main
from simcomplete._cli.app import Group
invoke = Group.invoke
def announced(self, ctx):
    if not AT_WORK:
        ready()
    return invoke(self, ctx)
Group.invoke = announced
sys.argv = ["simcomplete", *{arguments!r}]
try:
    main()
except SystemExit as ended:
    if ended.code:
        raise
"""
# Ready when the first iteration of the first iterative method was made.
ITERATING = """
from simcomplete._method.iterate import Watch
sees, seen = Watch.sees, []
def announced(self, state):
    seen.append(state)
    if len(seen) == 2:
        ready()
    return sees(self, state)
Watch.sees = announced
from simcomplete._cli import main
sys.argv = ["simcomplete", *{arguments!r}]
main()
"""


def command(*arguments: str, iterating: bool = False) -> str:
    """The script of a command that says when it is at work, or when it iterates."""
    return (ITERATING if iterating else COMMAND).format(arguments=[str(one) for one in arguments])


def call(text: str, before: str = "") -> str:
    """The script of a call of the library, after some preparation."""
    return CALL.format(before=before, call=text)


class Process:
    """A process in a group of its own, so that what it starts is hit as well; it ends with the context.

    Parameters
    ----------
    script, folder : str, Path
        What it runs, from `command` or `call`, and where.
    at, number : int
        The event of files at which it sends itself a signal, and which; 0 for none.
    file_size : int, optional
        The most bytes that a file may have from where the work begins.
    """

    def __init__(
        self, script: str, folder: Path, *, at: int = 0, number: int = signal.SIGKILL, file_size: int | None = None
    ) -> None:
        bound = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, ({file_size}, {file_size}))"
        start = START.format(ready=READY, at=at, signal=int(number), limit="pass" if file_size is None else bound)
        self.run = subprocess.Popen(
            [sys.executable, "-c", start + script + END],
            cwd=folder,
            env=ENVIRONMENT,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self.said = ""

    def wait_for(self, word: str = READY) -> bool:
        """Read standard error until a line is this word; False where the process ended before."""
        assert self.run.stderr is not None
        for line in self.run.stderr:
            if line.strip() == word:
                return True
            self.said += line
        return False

    def hit(self, number: int) -> None:
        """Send a signal to the process and all that it started."""
        with suppress(ProcessLookupError):
            os.killpg(self.run.pid, number)

    def end(self, seconds: float = SECONDS) -> tuple[int, str]:
        """Wait for the end: the exit code, and what was said on standard error."""
        try:
            said = self.run.communicate(timeout=seconds)[1]
        except subprocess.TimeoutExpired:
            self.hit(signal.SIGKILL)
            said = f"{self.run.communicate()[1]}\nTraceback: not done after {seconds:g} seconds"
        return self.run.returncode, self.said + said

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *error: object) -> None:
        self.hit(signal.SIGKILL)
        if self.run.stdout is not None and not self.run.stdout.closed:
            self.run.communicate()
