"""The demonstration's table as text, the same on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Sequence

from simcomplete._report.demo import Row

HEAD = ("method", "rel. sq. error", "recall@20%", "recall@10", "nDCG@20%", "rank", "valid", "seconds")
# Columns that are aligned to the left; the others are numbers.
TEXT = (0, 6)

# What the columns mean, by their names; pages show those that their table has.
COLUMN_MEANINGS = {
    "rel. sq. error": "The squared distance to the true similarities over the whole matrix, divided by that of the "
    "overlap similarity S0: below 1 is better than S0, above 1 is worse.",
    "queries x candidates": "The same, over the similarities of queries with candidates only.",
    "recall@20%": "The share of the true nearest 20 percent of the candidates that are among the 20 percent with the "
    "highest similarity; the mean over the queries.",
    "recall@10": "The share of the true ten nearest candidates that are among the ten with the highest similarity; the "
    "mean over the queries.",
    "nDCG@20%": "Normalised discounted cumulative gain: like recall, with more weight on the first positions.",
    "rank": "The rank of the completed matrix.",
    "valid": "Whether the result passes five checks: it equals its transpose (symmetry), has no negative "
    "eigenvalues (psd), a diagonal of 1 (diagonal), entries from -1 to 1 (range), and the known similarities among "
    "candidates (candidates). If not, which checks fail.",
    "seconds": "Time of the completion, on this machine.",
}

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
