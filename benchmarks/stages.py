"""Where the time of a completion goes, by stage: ``python -m benchmarks.stages [--threads N]``.

Functions are timed by processor time while they run, each less those inside it that have a line of their own; the last
line is what remains. With one thread the shares mean what they say; with several they count all threads.
"""

from __future__ import annotations

import argparse
import contextlib
import functools
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any
from unittest import mock

import simcomplete as sc
from benchmarks import scale_sides
from benchmarks.data import imagelike
from benchmarks.measure import timed
from simcomplete._posterior.candidates import fitting, grid, model
from simcomplete._posterior.candidates.conditional import ConditionalMeans
from simcomplete._similarity import candidate_pass, candidate_query, products
from simcomplete._spectral.eigen import reduced

Stage = tuple[str, Any, str]
REST = "everything else"
REPEATS = 3  # of calls that are timed whole: the least counts
SPECTRAL: list[Stage] = [
    ("sample of rows, common direction", candidate_query, "common_direction"),
    ("rows of [P^ B]: cast to float64", candidate_pass.Reader, "__call__"),
    ("similarities with queries", products.PlainSides, "cosines"),
    ("first pass: lengths and reflection of rows", candidate_pass, "divide_and_reflect"),
    ("first pass: sums H^T H", candidate_pass, "symmetric_product"),
    ("root of the sums", reduced, "root_of_gram"),
    ("largest eigenpairs of the small problem", reduced, "dense_largest"),
    ("second pass: rows of the factor", reduced.FactorOf, "__call__"),
    ("similarities among queries", candidate_query, "overlap_matrix"),
]
POSTERIOR: list[Stage] = [
    ("pool, moments and neighbours of all candidates", fitting.Gathered, "of"),
    ("simulated queries", fitting.Gathered, "holdout"),
    ("shrinkage: what is not conditional means", grid, "choose_delta"),
    ("conditional means: systems of every mask", ConditionalMeans, "__init__"),
    ("conditional means: local priors", ConditionalMeans, "add"),
    ("lengths of vectors", grid, "learn"),
    ("recall of simulated queries", grid, "share_found"),
    ("quantiles of errors", grid, "error_quantiles"),
    ("grid: completions and their products", grid, "evaluate_grid"),
    ("copies of candidates", fitting.Gathered, "copies"),
    ("errors by rank", fitting.CandidateHoldout, "ranked"),
    ("vectors of the queries", model.CandidateModel, "_in_batches"),
]


class Clock:
    """Processor seconds by stage, each without those of stages inside it."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self._inside: list[float] = []

    def around(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, timed."""

        @functools.wraps(function)
        def timed_function(*args: Any, **kwargs: Any) -> Any:
            began = time.process_time()
            self._inside.append(0.0)
            try:
                return function(*args, **kwargs)
            finally:
                whole = time.process_time() - began
                self.seconds[stage] += whole - self._inside.pop()
                if self._inside:
                    self._inside[-1] += whole

        return timed_function


@contextlib.contextmanager
def clocked(stages: list[Stage]) -> Iterator[Clock]:
    """Time these functions for as long as this lasts."""
    clock = Clock()
    with contextlib.ExitStack() as stack:
        for stage, owner, name in stages:
            plain = vars(owner)[name]
            made: Any = clock.around(stage, plain.__func__ if isinstance(plain, classmethod) else plain)
            made = classmethod(made) if isinstance(plain, classmethod) else made
            stack.enter_context(mock.patch.object(owner, name, made))
        yield clock


def by_stage(solve: Callable[[], Any], stages: list[Stage], threads: int = 1) -> list[tuple[str, float]]:
    """Run once to warm up and once more by the clock: stages in the order given, and what remains."""
    timed(solve, 1, threads)
    with clocked(stages) as clock:
        whole = timed(clock.around(REST, solve), 1, threads).cpu_s
    rows = [(stage, clock.seconds[stage]) for stage, _, _ in stages]
    return [*rows, (REST, whole - sum(seconds for _, seconds in rows))]


def lines(title: str, rows: list[tuple[str, float]], beside: str = "") -> str:
    """A table in Markdown."""
    whole = sum(seconds for _, seconds in rows)
    head = [f"| {title} | CPU s | share |", "|---|---|---|"]
    body = [f"| {stage} | {seconds:.3f} | {seconds / whole:.2f} |" for stage, seconds in rows]
    return "\n".join([*head, *body, f"| **together**{beside} | {whole:.3f} | 1 |"])


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.stages", description=__doc__)
    parser.add_argument("--threads", type=int, default=1, help="of linear algebra (1)")
    parser.add_argument("--candidates", type=int, default=10_000, help="of smcnn (10,000)")
    asked = parser.parse_args()
    n, d, n_q, rank = asked.candidates, 784, 200, 100
    P, Q = scale_sides.rows(0, n, d, 0), scale_sides.queries(n_q, d, 0)

    def spectral() -> Any:
        return sc.complete(P, Q, method="smcnn", rank=rank, route="structured", verify=False, progress=False)

    rows = by_stage(spectral, SPECTRAL, asked.threads)
    bare = timed(scale_sides.bare(n, d, n_q, rank, 0), 3, asked.threads).cpu_s
    ratio = sum(seconds for _, seconds in rows) / bare
    beside = f"; bare products {bare:.3f} s, ratio {ratio:.2f}"
    print(lines(f"`smcnn`, {n:,} + {n_q} x {d}, rank {rank}", rows, beside), flush=True)
    P, Q = imagelike(1000, 200, d, 0)
    shared: dict[str, Any] = {"progress": False, "random_state": 0}
    calls = {
        name: lambda asked=asked: sc.complete(P, Q, **asked, **shared)
        for name, asked in {
            "full": {"method": "posterior", "effort": "full"},
            "best": {"method": "posterior", "effort": "best"},
            "fast": {"method": "posterior", "effort": "fast"},
            "auto": {},
        }.items()
    }
    rows = by_stage(calls["full"], POSTERIOR, asked.threads)
    print("\n" + lines(f"`posterior`, full, 1,000 + 200 x {d}", rows), flush=True)
    spent = {name: min(timed(call, 1, asked.threads).cpu_s for _ in range(REPEATS)) for name, call in calls.items()}
    print("\n" + "; ".join(f"{name} {cpu_s:.2f} s, {cpu_s / spent['full']:.2f}" for name, cpu_s in spent.items()))


if __name__ == "__main__":
    main()
