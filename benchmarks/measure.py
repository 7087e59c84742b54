"""Clocks, thread limits, fresh processes and machine facts, shared by every benchmark."""

from __future__ import annotations

import json
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import scipy
from threadpoolctl import threadpool_limits

import simcomplete as sc

ROOT = Path(__file__).resolve().parent.parent


@dataclass(frozen=True)
class Settings:
    """What a run of benchmarks is told."""

    quick: bool = False
    threads: int = 1
    seed: int = 0


def cores() -> int:
    """Cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def facts(settings: Settings) -> dict[str, Any]:
    """Whatever a reader needs to judge a number by; part of every row."""
    return {
        "cpu_count": cores(),
        "threads": settings.threads,
        "machine": platform.machine(),
        "system": platform.system(),
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "simcomplete": sc.__version__,
        "seed": settings.seed,
        "quick": settings.quick,
    }


class Timing(NamedTuple):
    """Medians over the repeats, every single wall time, and the last result.

    `cpu_s` sums over threads. Wall times of a busy machine say little; with one thread these still do.
    """

    seconds: float
    cpu_s: float
    times: list[float]
    result: Any


def timed(solve: Callable[[], Any], repeats: int, threads: int) -> Timing:
    """Run a solve a few times, with so many threads in every linear algebra library."""
    times, cpu = [], []
    result = None
    with threadpool_limits(limits=threads):
        for _ in range(repeats):
            result = None  # two results at once would count twice in memory
            began, began_cpu = time.perf_counter(), time.process_time()
            result = solve()
            cpu.append(time.process_time() - began_cpu)
            times.append(time.perf_counter() - began)
    return Timing(statistics.median(times), statistics.median(cpu), times, result)


def peak_mib() -> float:
    """Most memory this process has held.

    A process inherits `ru_maxrss` from the one that started it; where the system tells the peak of the program
    itself, that is taken.
    """
    try:
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    except OSError:
        pass
    import resource  # not everywhere, and needed nowhere else

    unit = 2**20 if sys.platform == "darwin" else 2**10
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit


def fresh(
    function: str, arguments: dict[str, Any], repeats: int, threads: int, *, timeout: float | None = None
) -> dict[str, Any]:
    """Run ``module:function(**arguments)()`` in a process of its own, so that peaks do not mix.

    The function prepares the data and returns what is to be timed, which returns plain values to pass on.
    """
    told = json.dumps({"function": function, "arguments": arguments, "repeats": repeats, "threads": threads})
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.worker", told],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        timeout=timeout,
    )
    answer: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return answer


def slope(sizes: list[int], seconds: list[float]) -> float:
    """Exponent of growth: the slope of log seconds over log size."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])
