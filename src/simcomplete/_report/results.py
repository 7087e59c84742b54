"""The demonstration's table as text, the same on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from simcomplete._report.demo import Row

HEAD = ("method", "rel. sq. error", "recall@20%", "recall@10", "nDCG@20%", "rank", "valid", "seconds")
# Columns that are aligned to the left; the others are numbers.
TEXT = (0, 6)

# The checks of validity, in one word each.
CHECK_WORDS = {
    "symmetric": "symmetry",
    "psd": "psd",
    "unit_diagonal": "diagonal",
    "bounded": "range",
    "candidates_exact": "candidates",
}


def cells(row: Row) -> list[str]:
    """Write one row of results as the cells of `HEAD`.

    Examples
    --------
    >>> cells(Row("smcnn", 0.77, 0.5, 0.2, 0.6, 100, False, ["psd", "bounded"], {}, 0.25))
    ['smcnn', '0.770', '0.500', '0.200', '0.600', '100', 'no: psd, range', '0.25']
    """
    numbers = (row.error, row.recall_fifth, row.recall_ten, row.ndcg)
    return [row.method, *(f"{x:.3f}" for x in numbers), str(row.rank), valid_text(row.fails), f"{row.seconds:.2f}"]


def valid_text(fails: Sequence[str]) -> str:
    """Say whether a result is valid, or which of the five checks it fails.

    Examples
    --------
    >>> valid_text([]), valid_text(["psd", "bounded"])
    ('yes', 'no: psd, range')
    """
    return "no: " + ", ".join(CHECK_WORDS.get(name, name) for name in fails) if fails else "yes"
