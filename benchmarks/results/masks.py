"""Squares, stripes and values hidden by their size, on images: where intervals have their coverage, and where not."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.results import data, reference
from benchmarks.results.tables import Row, by_method, failures, number
from benchmarks.results.trial import Trial

TITLE = "Squares, stripes, and large values missing more often"
METHODS = ("overlap", "mean", "lr", "smcnn", "posterior")
PATTERNS = ("square", "stripes", "by_value")
SEEDS = (0, 1)
TEXT = """\
1000 candidates and 200 queries of four image sets, means over two seeds, `posterior` with effort full. `square`
hides one nearly square region of every image, `stripes` hides whole lines, and `by_value` hides large values more
often than small ones. Here and in the next section, errors are those of the similarities between queries and
candidates only. With these masks two queries may have no pixel in common; their overlap similarity is then 0, and
such pairs would dominate the error over the whole matrix.

The intervals of `posterior` are learnt by hiding values of candidates in the same places. They are therefore too
narrow if a value is missing because of its size, as the coverage for `by_value` shows."""

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
