"""Rows whose cosines are all about 1: their common mean hides in what they differ."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from simcomplete._similarity.measure import Measure
from simcomplete._similarity.products import cross, prepare_rows

# Half of the cosines are at least the first, and 95 in 100 at least the second. Images and embeddings are far from it
# (medians of .05 to .85), and so is a table of protein levels (.965); log intensities of proteins (.999), affinities
# (.998), and tables of which one feature is a hundred times the others (.998) are not.
MIN_MEDIAN, MIN_LOWEST = 0.99, 0.95
COMMON = 5  # features of a pair that counts: over a single one, every cosine of positive values is 1


def question_cosines(sample: NDArray[np.float64]) -> str | None:
    """What to warn of where the cosines of a sample of rows are all about 1, and None else."""
    measure = Measure(min_overlap=min(COMMON, sample.shape[1]))
    rows = prepare_rows(sample, measure)
    S, supported = cross(rows, rows, measure)
    pairs = np.triu(supported, k=1)
    if not pairs.any():
        return None
    lowest, median = np.quantile(S[pairs], [0.05, 0.5])
    if median < MIN_MEDIAN or lowest < MIN_LOWEST:
        return None
    return (
        f"all rows are nearly equal: half of their cosines are above {_down(median)}, 95 percent above "
        f"{_down(lowest)}. Features with a large mean, or one that is much larger than the others, hide the "
        "differences between rows; center= subtracts the means, and scale= gives all features the same size"
    )


def _down(value: float) -> str:
    """Three digits, rounded down."""
    return f"{np.floor(value * 1000) / 1000:.3f}"
