"""Draw cases and run them for so long; what breaks is made small, written down and printed."""

from __future__ import annotations

import os
import re
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic

from hypothesis import HealthCheck, Phase, given, seed, settings

from .case import Case
from .record import Finding, save, smaller, tried
from .strategies import cases

IN_MEMORY = "/dev/shm"
BATCH = 100  # examples of one run of Hypothesis, which has a seed of its own


@dataclass
class Outcome:
    """What a run saw."""

    examples: int = 0
    refused: Counter[str] = field(default_factory=Counter)
    methods: Counter[str] = field(default_factory=Counter)
    found: dict[str, int] = field(default_factory=dict)


def explore(first_seed: int, seconds: float, folder: Path, method: str = "", most: float = float("inf")) -> Outcome:
    """Draw and run cases for so long, or so many; a finding is made small, written and printed, and the run goes on."""
    outcome, end, batch = Outcome(), monotonic() + seconds, 0

    def body(case: Case) -> None:
        if monotonic() > end or outcome.examples >= most:
            return
        result = tried(case)
        outcome.examples += 1
        outcome.methods[case.method] += 1
        if not isinstance(result, Finding):
            if result:
                outcome.refused[f"{case.method}: {re.sub('[0-9][0-9.e+-]*', '#', result)[:150]}"] += 1
            return
        if result.key not in outcome.found:
            result = smaller(result)
            print(f"\nFOUND {result}\n    written to {save(result, folder)}", flush=True)
        outcome.found[result.key] = outcome.found.get(result.key, 0) + 1

    # A finding is not an exception for Hypothesis: it would stop there and take its time to shrink.
    quietly = settings(
        max_examples=BATCH,
        database=None,
        deadline=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    with _files_in_memory():
        while monotonic() < end and outcome.examples < most:
            seed(first_seed * 1_000_003 + batch)(quietly(given(cases(method))(body)))()
            batch += 1
    return outcome


@contextmanager
def _files_in_memory() -> Iterator[None]:
    """Put temporary folders where no disk is waited for, as far as there is such a place."""
    before = tempfile.tempdir
    tempfile.tempdir = IN_MEMORY if os.access(IN_MEMORY, os.W_OK) else before
    try:
        yield
    finally:
        tempfile.tempdir = before
