"""Squares, stripes and values hidden by their size, on images: where error bars hold and where they do not."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import data, reference
from benchmarks.results.tables import Row, by_method, failures, number
from benchmarks.results.trial import Trial

TITLE = "Squares, stripes, and values hidden because of what they are"
METHODS = ("overlap", "mean", "lr", "smcnn", "posterior")
PATTERNS = ("square", "stripes", "by_value")
SEEDS = (0, 1)
TEXT = """\
1000 candidates and 200 queries of four image sets, means over two seeds, `posterior` with effort full. `square`
hides one near-square region of every picture, `stripes` whole lines, `by_value` large values more often than
small ones. Here and in the next section the relative squared error is that of queries with candidates (1: as
far off as the overlap similarities): two queries may have nothing in common under these masks, their overlap
similarity is then 0, and over the whole matrix such pairs would hide everything else. "S0 off by" is the root
mean square error of the overlap similarities of queries with candidates.

"coverage" is that of the 90 percent intervals of `posterior`. They are learnt by hiding values of candidates in
the same places, so they are too narrow where whether a value is missing depends on the value itself: see
`by_value`."""

problem = reference.problem


def trials(quick: bool) -> list[Trial]:
    sizes, seeds = ((120, 30), (0,)) if quick else ((1000, 200), SEEDS)
    return [
        Trial("masks", name, pattern, rate, *sizes, seed, method, "full" if method == "posterior" else None)
        for name in data.IMAGES
        for pattern in PATTERNS
        for rate in (0.5, 0.8)
        for seed in seeds
        for method in METHODS
    ]


def label(mask: str, missing: float, name: str) -> str:
    return f"{mask} {number(missing, 1)}, {name}"


def render(rows: Sequence[Row]) -> list[str]:
    names = ("mask", "missing", "dataset")
    rows = sorted(rows, key=lambda row: (PATTERNS.index(row["mask"]), row["missing"]))
    errors = by_method(rows, names, label, "error_queries_candidates", METHODS)
    recalls = by_method(rows, names, label, "recall_ten", METHODS)
    return [TEXT, "", *errors, "Recall@10 of the same trials:", "", *recalls, *failures(rows)]
