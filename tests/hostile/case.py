"""One hostile case: what is made, what is done with it, and what must come of it."""

from __future__ import annotations

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
REFUSED = ("InputError", "FileFormatError", "MemoryLimitError", "DiskFullError")
MEMORY_MIB = 200.0
SECONDS = 2.0  # of the processor: about one, and as much again for a machine with other work
ADDRESS_SPACE = 12 * 2**30  # so that a case that fails does not take the machine with it


@dataclass(frozen=True)
class Case:
    """`make(folder)` prepares files, in the process of the command; `act(folder)` is run in a process of its own.

    `act` must raise one of the `errors` with all `words` in its message, or, where there are none, must return.
    """

    name: str
    act: Callable[[Path], object]
    make: Callable[[Path], object] = lambda folder: None
    errors: tuple[str, ...] = REFUSED
    words: tuple[str, ...] = ()
    seconds: float = SECONDS
    mib: float = MEMORY_MIB
    environment: dict[str, str] = field(default_factory=dict)
    quick: bool = True


@dataclass(frozen=True)
class Outcome:
    """What came of a case; `finding` is empty where it is what was to come of it."""

    name: str
    error: str
    seconds: float
    mib: float
    finding: str = ""


def run_case(case: Case, module: str) -> Outcome:
    """Prepare a case, run it in a process of its own, and compare."""
    with tempfile.TemporaryDirectory(prefix="hostile-") as folder:
        case.make(Path(folder))
        name = f"tests.hostile.{module.rpartition('.')[2]}"  # pytest knows the module by a shorter name
        command = [sys.executable, "-m", "tests.hostile.child", name, case.name, folder]
        try:
            run = subprocess.run(
                command,
                cwd=ROOT,
                env=environment(case.environment),
                capture_output=True,
                text=True,
                timeout=120,
                preexec_fn=bounded,
            )
        except subprocess.TimeoutExpired:
            return Outcome(case.name, "-", 120.0, 0.0, "did not end within two minutes")
    if run.returncode:
        last = (run.stderr.strip().splitlines() or [""])[-1]
        return Outcome(case.name, "-", 0.0, 0.0, f"the process ended with {run.returncode}: {last[:100]}")
    return judged(case, json.loads(run.stdout.splitlines()[-1]))


def judged(case: Case, came: dict) -> Outcome:
    """Compare what came of a case with what was to come of it."""
    error, message, seconds, mib = came["error"], came["message"], came["seconds"], came["mib"]
    absent = [word for word in case.words if word not in message]
    if (error or "none") not in (case.errors or ("none",)):
        finding = f"{error or 'no error'}: {message[:120]}"
    elif absent:
        finding = f"the message does not say {absent[0]!r}: {message[:120]}"
    elif seconds > case.seconds or mib > case.mib:
        finding = f"more than {case.seconds:g} s or {case.mib:g} MiB"
    else:
        finding = ""
    return Outcome(case.name, error or "none", seconds, mib, finding)


def environment(more: dict[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: this source, one thread."""
    return {
        **os.environ,
        "PYTHONPATH": f"{ROOT / 'src'}{os.pathsep}{ROOT}",
        "OPENBLAS_NUM_THREADS": "1",
        "OMP_NUM_THREADS": "1",
        **(more or {}),
    }


def bounded() -> None:
    """Limit the memory of a child."""
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))


def peak_mib() -> float:
    """The most memory that this process has had; ru_maxrss would begin with that of the parent on Linux."""
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text(encoding="ascii").splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / (2**20 if sys.platform == "darwin" else 1024)


def measured(act: Callable[[], object]) -> dict:
    """Run something; return its error, its message, and the time of the processor and the memory that it took."""
    before, began = peak_mib(), time.process_time()
    error = message = ""
    try:
        act()
    except Exception as raised:  # whatever it is, is to be seen
        error, message = type(raised).__name__, str(raised)
    seconds = time.process_time() - began
    return {"error": error, "message": message, "seconds": seconds, "mib": peak_mib() - before}
