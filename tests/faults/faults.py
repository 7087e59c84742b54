"""The faults: killed, interrupted, out of room, two at once, a worker lost; and what must be so after each."""

from __future__ import annotations

import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from random import Random
from threading import Lock

from .processes import Process
from .scenarios import SCENARIOS, FaultError, Scenario


@dataclass(frozen=True)
class Undisturbed:
    """What a scenario does when nothing happens: what is on disk before and after, and how long it takes."""

    before: str
    after: str
    names: frozenset[str]
    seconds: float
    events: int
    largest: int


class Known:
    """Every scenario undisturbed, run once when it is first needed."""

    def __init__(self) -> None:
        self._known: dict[str, Undisturbed] = {}
        self._locks = {name: Lock() for name in SCENARIOS}

    def of(self, scenario: Scenario) -> Undisturbed:
        with self._locks[scenario.name]:
            if scenario.name not in self._known:
                self._known[scenario.name] = undisturbed(scenario)
        return self._known[scenario.name]


KNOWN = Known()


def undisturbed(scenario: Scenario) -> Undisturbed:
    """Run a scenario with nothing in its way."""
    with tempfile.TemporaryDirectory(prefix="faults-") as name:
        folder = Path(name)
        scenario.prepare(folder)
        before = scenario.state(folder)
        with Process(scenario.script, folder) as process:
            code, said = process.end()
        require(code == 0, f"{scenario.name} ends with {code} where nothing is in its way: {said}")
        events, seconds = said.rsplit("\ndone ", 1)[1].split()
        after = scenario.state(folder)
        require(after != before, f"{scenario.name} changes nothing that could be seen")
        sizes = [path.stat().st_size for path in folder.rglob("*") if path.is_file()]
        return Undisturbed(before, after, names(folder), float(seconds), int(events), max(sizes))


def killed_at_event(name: str, random: Random) -> None:
    """Kill -9 at one of the moments when files are opened, renamed or removed."""
    known = KNOWN.of(SCENARIOS[name])
    _struck(name, at=random.randint(1, max(1, known.events)), codes=(-9, 0))


def killed_at_time(name: str, random: Random) -> None:
    """Kill -9 at any moment."""
    _struck(name, wait=random.random(), number=signal.SIGKILL, codes=(-9, 0))


def interrupted(name: str, random: Random) -> None:
    """Ctrl-C at any moment: exit code 130 and no traceback."""
    _struck(name, wait=0.9 * random.random(), number=signal.SIGINT, codes=(130, 0))


def interrupted_at_event(name: str, random: Random) -> None:
    """Ctrl-C at one of the moments when files are opened, renamed or removed."""
    known = KNOWN.of(SCENARIOS[name])
    _struck(name, at=random.randint(1, max(1, known.events)), number=signal.SIGINT, codes=(130, 0))


def out_of_room(name: str, random: Random) -> None:
    """A file may not grow beyond a size below the largest that is written: exit code 2 and one line."""
    known = KNOWN.of(SCENARIOS[name])
    _struck(name, file_size=int(known.largest * random.random()), codes=(2, 0))


def full_disk(name: str, random: Random) -> None:
    """A file system with no room for what is written, where one can be mounted; else as `out_of_room`."""
    scenario = SCENARIOS[name]
    with tempfile.TemporaryDirectory(prefix="faults-") as name_of_folder:
        folder = Path(name_of_folder, "disk")
        folder.mkdir()
        with _small_disk(folder, 2**20) as mounted:
            if not mounted:
                out_of_room(name, random)
                return
            scenario.prepare(folder)
            filler = folder / "filler"
            free = shutil.disk_usage(folder).free - random.randrange(0, KNOWN.of(scenario).largest)
            filler.write_bytes(b"0" * max(0, free))
            with Process(scenario.script, folder) as process:
                code, said = process.end()
            before = scenario.state(folder)
            _sound(scenario, before)
            require(code in (0, 2) and "Traceback" not in said, f"ended with {code}: {said}")
            filler.unlink()
            _rerun(scenario, folder)


def two_at_once(name: str, random: Random) -> None:
    """Two processes do the same in the same place, and a reader looks on: whole every time."""
    scenario = SCENARIOS[name]
    known = KNOWN.of(scenario)
    with tempfile.TemporaryDirectory(prefix="faults-") as name_of_folder:
        folder = Path(name_of_folder)
        scenario.prepare(folder)
        with Process(scenario.script, folder) as one, Process(scenario.script, folder) as two:
            one.wait_for()
            two.wait_for()
            while one.run.poll() is None or two.run.poll() is None:
                if not scenario.grows:  # a file of rows is read only when nobody writes to it
                    _sound(scenario, scenario.state(folder))
                time.sleep(0.01)
            ends = [one.end(), two.end()]
        for code, said in ends:
            require(code in (0, 2) and "Traceback" not in said, f"ended with {code}: {said}")
        require(any(code == 0 for code, _ in ends), f"neither of two came to its end: {ends}")
        if scenario.grows:
            require(_trials(scenario, folder) == set(known.after.split(", ")), "trials of two at once were lost")
        else:
            require(scenario.state(folder) == known.after, f"two at once left {scenario.state(folder)}")


def _struck(
    name: str,
    *,
    codes: tuple[int, ...],
    wait: float | None = None,
    number: int = signal.SIGKILL,
    at: int = 0,
    file_size: int | None = None,
) -> None:
    """Run a scenario, let the fault strike, and look at what is there; then run it again without."""
    scenario = SCENARIOS[name]
    known = KNOWN.of(scenario)
    with tempfile.TemporaryDirectory(prefix="faults-") as name_of_folder:
        folder = Path(name_of_folder)
        scenario.prepare(folder)
        with Process(scenario.script, folder, at=at, number=number, file_size=file_size) as process:
            process.wait_for()
            if wait is not None:
                time.sleep(wait * known.seconds)
                process.hit(number)
            code, said = process.end()
        # A signal may come when all is done and Python is on its way out: that is no fault of the command.
        require(code in codes or "\ndone " in f"\n{said}", f"ended with {code}, not {codes[0]}: {said}")
        require("Traceback" not in said and "Exception ignored" not in said, f"a traceback: {said}")
        _sound(scenario, scenario.state(folder))
        _rerun(scenario, folder)


def _sound(scenario: Scenario, state: str) -> None:
    known = KNOWN.of(scenario)
    if scenario.grows:
        known_trials = {*known.before.split(", "), *known.after.split(", "), "nothing"}
        require(set(state.split(", ")) <= known_trials, f"neither old nor new, nor between: {state}")
    else:
        require(state in (known.before, known.after), f"neither the old ({known.before}) nor the new: {state}")


def _rerun(scenario: Scenario, folder: Path) -> None:
    """Once more with nothing in its way: all is there, and nothing that was left over."""
    known = KNOWN.of(scenario)
    if scenario.name == "out=":
        (folder / "factor.npy").unlink(missing_ok=True)  # which is never replaced
    with Process(scenario.script, folder) as process:
        code, said = process.end()
    require(code == 0, f"run again, it ended with {code}: {said}")
    require(scenario.state(folder) == known.after, f"run again, it left {scenario.state(folder)}")
    require(names(folder) == known.names, f"left over: {sorted(names(folder) ^ known.names)}")


def _trials(scenario: Scenario, folder: Path) -> set[str]:
    try:
        return set(scenario.state(folder).split(", "))
    except FaultError as error:
        if "stored twice" not in str(error):
            raise
        return {*KNOWN.of(scenario).after.split(", ")}  # both may have run a trial: that costs time, not rows


@contextmanager
def _small_disk(folder: Path, size: int) -> Iterator[bool]:
    """A file system of that size in a folder, where this process may mount one."""
    options = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        mounted = subprocess.run(options, capture_output=True, check=False).returncode == 0
    except OSError:
        mounted = False
    try:
        yield mounted
    finally:
        if mounted:
            subprocess.run(["umount", str(folder)], check=True)


def names(folder: Path) -> frozenset[str]:
    """What is in a folder, with the names of files below it."""
    return frozenset(str(path.relative_to(folder)) for path in folder.rglob("*"))


def require(holds: object, message: str) -> None:
    """Raise where something is not as promised."""
    if not holds:
        raise FaultError(message)
