"""Draw problems, complete them, look at the answers; write down what breaks.

python -m tests.fuzz --minutes 2
python -m tests.fuzz --minutes 60 --jobs 2 --seed 7
python -m tests.fuzz --replay FILE               one finding again, with the whole traceback
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from concurrent.futures import ProcessPoolExecutor
from datetime import UTC, datetime
from multiprocessing import get_context
from pathlib import Path
from time import monotonic

import simcomplete as sc

from .calls import run
from .explore import Outcome, explore
from .record import COUNT, FAILURES, counted, load


def main() -> int:
    """Return 0 where nothing was found."""
    asked = _arguments()
    if asked.replay:
        run(load(asked.replay))  # whatever is wrong is raised
        print("nothing wrong with it")
        return 0
    seconds, began = 60 * asked.minutes, monotonic()
    seeds = [asked.seed + 7919 * job for job in range(asked.jobs)]
    print(
        f"simcomplete {sc.__version__}, seed {asked.seed}, {asked.minutes:g} minutes, {asked.jobs} at once", flush=True
    )
    if asked.jobs == 1:
        outcomes = [explore(asked.seed, seconds, asked.failures, asked.method, asked.examples)]
    else:
        with ProcessPoolExecutor(asked.jobs, get_context("spawn")) as pool:
            told = (seconds, asked.failures, asked.method, asked.examples)
            alike = ([each] * asked.jobs for each in told)
            outcomes = list(pool.map(explore, seeds, *alike))
    return _report(asked, outcomes, monotonic() - began)


def _report(asked: argparse.Namespace, outcomes: list[Outcome], seconds: float) -> int:
    total = sum((Counter(outcome.found) for outcome in outcomes), Counter())
    examples, refused = sum(o.examples for o in outcomes), sum((o.refused for o in outcomes), Counter())
    for name, count in sum((o.methods for o in outcomes), Counter()).most_common():
        print(f"{name:<10} {count:>8}")
    for key, count in total.most_common():
        print(f"FOUND {count:>6} times: {key}")
    for words, count in refused.most_common(None if asked.refusals else 0):
        print(f"refused {count:>6} times: {words}")
    rate = examples / seconds / asked.jobs
    print(f"{examples} examples in {seconds:.0f} s, {rate:.0f} a second and process; {refused.total()} were refused")
    count = counted(
        {
            "seed": asked.seed,
            "examples": examples,
            "findings": len(total),
            "version": sc.__version__,
            "date": datetime.now(UTC).date().isoformat(),
        },
        asked.count,
    )
    print(f"{len(total)} findings; {count['examples']} examples in all, {count['since_a_finding']} since a finding")
    return int(bool(total))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=2.0, help="how long (2)")
    parser.add_argument("--seed", type=int, default=int(datetime.now(UTC).timestamp()), help="of the draw (the clock)")
    parser.add_argument("--examples", type=float, default=float("inf"), help="at most so many of each process (any)")
    parser.add_argument("--jobs", type=int, default=1, help="how many processes (1)")
    parser.add_argument("--method", default="", help="only this one")
    parser.add_argument("--failures", type=Path, default=FAILURES, help="where findings go (tests/fuzz/failures)")
    parser.add_argument("--count", type=Path, default=COUNT, help="file that counts examples (tests/fuzz/count.json)")
    parser.add_argument("--refusals", action="store_true", help="print what methods refused, and why")
    parser.add_argument("--replay", type=Path, help="a finding to run again")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
