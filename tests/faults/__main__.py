"""A hundred faults with fixed seeds: what is on disk afterwards is the old or the new, loads, and can be made again.

python -m tests.faults                     all, two at a time
python -m tests.faults --only save --jobs 1
"""

from __future__ import annotations

import argparse
import sys
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from random import Random

from . import faults
from .workers import worker_killed

Fault = Callable[[str, Random], None]
# What is hit, how, and how many times: a hundred in all.
PLAN: list[tuple[str, Fault, int]] = [
    ("save", faults.killed_at_event, 8),
    ("save", faults.killed_at_time, 4),
    ("out=", faults.killed_at_event, 4),
    ("out=", faults.killed_at_time, 4),
    ("complete", faults.killed_at_time, 4),
    ("compare", faults.killed_at_event, 6),
    ("compare", faults.killed_at_time, 3),
    ("paper run", faults.killed_at_time, 4),
    ("demo", faults.interrupted, 4),
    ("complete", faults.interrupted, 4),
    ("complete", faults.interrupted_at_event, 4),
    ("search", faults.interrupted, 2),
    ("search", faults.interrupted_at_event, 2),
    ("compare", faults.interrupted, 4),
    ("compare", faults.interrupted_at_event, 4),
    ("paper run", faults.interrupted, 3),
    ("paper report", faults.interrupted, 2),
    ("paper report", faults.interrupted_at_event, 2),
    ("save", faults.full_disk, 3),
    ("out=", faults.full_disk, 2),
    ("save", faults.out_of_room, 2),
    ("complete", faults.out_of_room, 2),
    ("compare", faults.out_of_room, 1),
    ("save", faults.two_at_once, 3),
    ("complete", faults.two_at_once, 1),
    ("compare", faults.two_at_once, 2),
    ("model", faults.killed_at_event, 5),
    ("model", faults.killed_at_time, 1),
    ("model", faults.out_of_room, 1),
    ("model", faults.two_at_once, 1),
    ("impute", faults.killed_at_event, 1),
    ("impute", faults.interrupted, 1),
    ("repair", faults.interrupted_at_event, 1),
    ("duplicates", faults.interrupted, 1),
    ("match", faults.interrupted, 1),
    ("match", faults.interrupted_at_event, 1),
    ("completion", worker_killed, 2),
]
WORDS = {
    "killed_at_event": "kill -9 where files change",
    "killed_at_time": "kill -9 at any moment",
    "interrupted": "Ctrl-C at any moment",
    "interrupted_at_event": "Ctrl-C where files change",
    "full_disk": "a full disk",
    "out_of_room": "a limit on the size of files",
    "two_at_once": "two at once",
    "worker_killed": "kill -9 of a dask worker",
}


@dataclass(frozen=True)
class Trial:
    """One fault, with its seed."""

    name: str
    fault: Fault
    seed: int

    @property
    def kind(self) -> str:
        return f"{self.name}: {WORDS[self.fault.__name__]}"

    def run(self) -> str:
        """What is wrong, or nothing."""
        try:
            self.fault(self.name, Random(f"{self.kind} {self.seed}"))
        except Exception as error:  # whatever it is, the others are tried
            return f"{type(error).__name__}: {error}"
        return ""


def trials(only: str = "") -> list[Trial]:
    """All trials, or those whose description holds some words."""
    every = [Trial(name, fault, seed) for name, fault, count in PLAN for seed in range(count)]
    return [trial for trial in every if only in trial.kind]


def main() -> int:
    """Return 0 where everything was as promised."""
    parser = argparse.ArgumentParser(prog="python -m tests.faults", description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="", help="words that the description of a trial must hold")
    parser.add_argument("--jobs", type=int, default=2, help="how many at a time (2)")
    asked = parser.parse_args()
    chosen, began = trials(asked.only), time.monotonic()
    right: Counter[str] = Counter()
    with ThreadPoolExecutor(asked.jobs) as pool:
        for trial, wrong in zip(chosen, pool.map(Trial.run, chosen), strict=True):
            right[trial.kind] += not wrong
            if wrong:
                print(f"WRONG {trial.kind}, seed {trial.seed}\n    {wrong}", flush=True)
    total = Counter(trial.kind for trial in chosen)
    for kind, count in total.items():
        print(f"{kind:<48} {right[kind]:>4} of {count}")
    print(f"{right.total()} of {len(chosen)}, in {time.monotonic() - began:.0f} s")
    return int(right.total() < len(chosen))


if __name__ == "__main__":
    sys.exit(main())
