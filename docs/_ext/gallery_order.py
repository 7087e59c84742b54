"""The order of the examples in the gallery: the most common questions first."""

from pathlib import Path

FIRST = (
    "occluded_digits",
    "spectral_clustering",
    "values_with_uncertainty",
    "error_bars",
    "duplicates_with_gaps",
    "stock_correlation",
    "precomputed_kernel",
    "vector_search",
    "rows_on_disk",
    "choose_a_method",
)


def key(filename):
    """Return the place of an example; those that are not listed come last."""
    name = Path(filename).stem
    return (FIRST.index(name) if name in FIRST else len(FIRST), name)
