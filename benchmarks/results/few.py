"""100 and 300 candidates: accuracy with few rows to learn from."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import reference
from benchmarks.results.masks import METHODS, SEEDS, label
from benchmarks.results.tables import Row, by_method, failures
from benchmarks.results.trial import Trial

TITLE = "100 and 300 candidates"
SETTINGS = (
    ("random", 0.8, ("digits", "usps", "mnist", "protein", "googlenews300", "imagenet_cnn1000")),
    ("square", 0.5, ("digits", "usps", "mnist", "cifar10_gray")),
)
TEXT = """\
As in the previous section, with fewer candidates and 200 queries: 80 percent of the values missing at random, and
squares of half the image."""

problem = reference.problem


def trials(quick: bool) -> list[Trial]:
    counts, n_q, seeds = ((60,), 30, (0,)) if quick else ((100, 300), 200, SEEDS)
    return [
        Trial("few", name, mask, rate, count, n_q, seed, method, "full" if method == "posterior" else None)
        for count in counts
        for mask, rate, names in SETTINGS
        for name in names
        for seed in seeds
        for method in METHODS
    ]


def render(rows: Sequence[Row]) -> list[str]:
    lines = [TEXT, ""]
    for count in sorted({row["n_p"] for row in rows}):
        some = [row for row in rows if row["n_p"] == count]
        told = by_method(some, ("mask", "missing", "dataset"), label, "error_queries_candidates", METHODS)
        lines += [f"### {count} candidates", "", *told]
    return [*lines, *failures(rows)]
