"""Make mutants, run the tests that matter against each, print the survivors and the score.

python -m tests.mutants                          sixty mutants, and those made by hand
python -m tests.mutants --module _spectral/certify --all --jobs 2
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
import time
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, as_completed
from multiprocessing import get_context
from pathlib import Path

from .by_hand import MUTANTS, PACKAGE
from .changes import Mutant, mutants
from .equivalent import EQUIVALENT, matches
from .plan import PACKAGES, asked_about
from .trial import Copy

FLOOR = 0.85


def main() -> int:
    """Return 0 if the score is high enough and no mutant made by hand survives."""
    asked = _arguments()
    chosen = sample(asked.module or PACKAGES, None if asked.all else asked.n, asked.seed)
    by_hand = [] if asked.module else [entry.mutant() for entry in MUTANTS]
    began = time.monotonic()
    survivors = []
    with tempfile.TemporaryDirectory(prefix="mutants-") as folder:
        pool = ProcessPoolExecutor(asked.jobs, get_context("fork"), _prepare, (folder,))
        with pool:
            timeouts = dict(pool.map(_baseline, sorted({tuple(asked_about(_module(m))) for m in by_hand + chosen})))
            waiting = {pool.submit(_try, m, timeouts): m for m in by_hand + chosen}
            for done, finished in enumerate(as_completed(waiting), 1):
                mutant = waiting[finished]
                if finished.result():
                    survivors.append(mutant)
                    print(f"\nSURVIVED {_describe(mutant)}", flush=True)
                if sys.stderr.isatty():
                    print(f"\r{done}/{len(waiting)}", end="", file=sys.stderr, flush=True)
    print()
    return _report(chosen, by_hand, set(survivors), time.monotonic() - began)


def sample(modules: list[str], n: int | None, seed: int) -> list[Mutant]:
    """Return n mutants of modules (paths below the package, or beginnings of them), as many of each; None for all."""
    chosen = []
    for number, name in enumerate(modules):
        files = [path for path in sorted(PACKAGE.rglob("*.py")) if _below(path).startswith(name)]
        every = [m for path in files for m in mutants(path) if not any(matches(e, m) for e in EQUIVALENT)]
        if not every:
            raise SystemExit(f"there is nothing to change in {name!r}; give a path below {PACKAGE}")
        share = len(every) if n is None else (n + number) // len(modules)
        chosen += drawn(every, seed)[:share]
    return chosen


def drawn(every: list[Mutant], seed: int) -> list[Mutant]:
    """The same in an order that depends on the seed, the changed line and its change alone.

    So a change elsewhere leaves the draw as it is, and scores before and after it are those of the same mutants.
    """
    seen: Counter[str] = Counter()
    order = []
    for mutant in every:
        text = mutant.path.read_text(encoding="utf-8")
        line = text.splitlines()[mutant.line(text) - 1].strip()
        what = f"{seed}\n{line}\n{mutant.old}\n{mutant.new}"
        seen[what] += 1
        order.append(hashlib.sha256(f"{what}\n{seen[what]}".encode()).digest())
    return [every[i] for i in sorted(range(len(every)), key=order.__getitem__)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutants", description="The mutation score of the tests.")
    parser.add_argument("-n", type=int, default=60, help="how many mutants to draw, evenly from the modules (60)")
    parser.add_argument("--all", action="store_true", help="every mutant; takes hours for the whole core")
    parser.add_argument("--module", action="append", help="such as _spectral or _result/search; may be repeated")
    parser.add_argument("--seed", type=int, default=0, help="of the draw (0)")
    parser.add_argument("--jobs", type=int, default=2, help="how many at once (2)")
    return parser.parse_args()


COPY: Copy  # one for every worker


def _prepare(folder: str) -> None:
    global COPY
    COPY = Copy.of_the_tree(Path(tempfile.mkdtemp(dir=folder)))


def _baseline(tests: tuple[str, ...]) -> tuple[tuple[str, ...], float]:
    """Return the tests and how long a run of them may take; they must pass as things are."""
    began = time.monotonic()
    output = COPY.folder / "baseline.txt"
    if not COPY.passes(list(tests), 3600, output):
        raise SystemExit(f"{output.read_text()}\nThese fail without any change: {' '.join(tests)}")
    return tests, 30 + 3 * (time.monotonic() - began)


def _try(mutant: Mutant, timeouts: dict[tuple[str, ...], float]) -> bool:
    tests = asked_about(_module(mutant))
    return COPY.survives(mutant, tests, timeouts[tuple(tests)])


def _report(chosen: list[Mutant], by_hand: list[Mutant], survivors: set[Mutant], seconds: float) -> int:
    total = Counter(_package(m) for m in chosen)
    lived = Counter(_package(m) for m in chosen if m in survivors)
    if chosen:
        total["all"], lived["all"] = len(chosen), sum(lived.values())
    print(f"{'package':<12} {'mutants':>8} {'killed':>7} {'score':>6}")
    for name, count in total.items():
        print(f"{name:<12} {count:>8} {count - lived[name]:>7} {1 - lived[name] / count:>6.2f}")
    failed = len(survivors & set(by_hand))
    print(f"by hand      {len(by_hand):>8} {len(by_hand) - failed:>7}")
    print(f"{seconds:.0f} seconds; {len(EQUIVALENT)} entries of tests/mutants/equivalent.py left out")
    low = [name for name, count in total.items() if 1 - lived[name] / count < FLOOR]
    if low:
        print(f"below {FLOOR}: {', '.join(low)}")
    return int(bool(low or failed))


def _describe(mutant: Mutant) -> str:
    text = mutant.path.read_text(encoding="utf-8")
    return f"{mutant.path.relative_to(PACKAGE.parents[1])}:{mutant.line(text)}\n{mutant.diff(text)}"


def _below(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def _module(mutant: Mutant) -> str:
    return _below(mutant.path)


def _package(mutant: Mutant) -> str:
    return _module(mutant).split("/")[0]


if __name__ == "__main__":
    sys.exit(main())
