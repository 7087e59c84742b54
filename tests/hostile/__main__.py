"""Run every hostile case and thousands of mangled files, print a table, and exit with 1 where one has a finding.

python -m tests.hostile                 everything: about five minutes on two cores
python -m tests.hostile --quick         the cases and a few hundred mangled files
python -m tests.hostile --only zarr     what has that in its name
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial

from . import commands, files, mangled, models, saved
from .case import Outcome, run_case

MODULES = (files, saved, models, commands)


def main() -> int:
    """Return 0 if nothing was found."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="fewer mangled files")
    parser.add_argument("--only", default="", help="cases and formats with this in their name")
    parser.add_argument("--seed", type=int, default=0, help="of the mangled files")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    asked = parser.parse_args()
    began = time.monotonic()
    cases = [(case, module.__name__) for module in MODULES for case in module.CASES if asked.only in case.name]
    batches = list(mangled.batches(mangled.QUICK if asked.quick else mangled.FULL, asked.seed, only=asked.only))
    width = max(len(name) for name in (*(case.name for case, _ in cases), *(batch.name for batch in batches), "case"))
    print(f"{'case':<{width}}  {'error':<16}  {'seconds':>7}  {'MiB':>6}  ok")
    work: list[Callable[[], Outcome]] = [partial(run_case, case, module) for case, module in cases]
    work += [partial(mangled.run_batch, batch) for batch in batches]
    bad = []
    with ThreadPoolExecutor(asked.jobs) as pool:
        for outcome in pool.map(lambda job: job(), work):
            print(row(outcome, width), flush=True)
            bad += [outcome] if outcome.finding else []
    for outcome in bad:
        print(f"\n{outcome.name}\n    {outcome.finding}")
    minutes = (time.monotonic() - began) / 60
    files = sum(batch.stop - batch.start for batch in batches)
    print(f"\n{len(cases)} cases, {files} mangled files, {len(bad)} findings, {minutes:.1f} minutes")
    return 1 if bad else 0


def row(outcome: Outcome, width: int) -> str:
    """One line of the table."""
    verdict = "no" if outcome.finding else "yes"
    return f"{outcome.name:<{width}}  {outcome.error:<16}  {outcome.seconds:7.2f}  {outcome.mib:6.0f}  {verdict}"


if __name__ == "__main__":
    sys.exit(main())
