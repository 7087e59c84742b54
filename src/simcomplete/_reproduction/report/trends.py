"""The paper's trends: in the missing ratio, the rank, the weight, and between its two penalties."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

from simcomplete._reproduction.report.contents import Book, Finding, largest, span
from simcomplete._reproduction.reported import printed
from simcomplete._reproduction.runner import Rows

# A step up along a curve that is smaller than this is not taken for a trend.
FLAT = 1e-3


def better_than_start(rows: Rows) -> Finding:
    """Whether SMCNN is nearer to the truth than S0."""
    books = [Book("ablation", rows), Book("smcnn-smcnmf", rows)]
    values = [e.mean["error"] for book in books for e in book.where("smcnn", "original") if "error" in e.mean]
    found = f"SMCNN has an error of {span(values)} in {len(values)} settings; 1 is that of S0."
    holds = max(values) < 1 if values else None
    command = " && ".join(book.command("--only method=smcnn") for book in books)
    return Finding("SMCNN is always nearer to the truth than S0", holds, found, command)


def trend_in_missing(rows: Rows) -> Finding:
    """Whether the relative error falls with the missing ratio."""
    series = Book("ablation", rows).series("error", "missing", method="smcnn", column="original")
    command = "simcomplete paper run ablation --only method=smcnn"
    return _falls("the relative error of SMCNN falls as more is missing", series, "from 0.7 to 0.9", command)


def trend_in_rank(rows: Rows) -> Finding:
    """Whether the error falls with the rank."""
    book = Book("sensitivity-rank", rows)
    series = book.series("error", "rank", method="smcnn")
    return _falls("the error of SMCNN falls with the rank", series, "from rank 50 to 200", book.command())


def trend_in_weight(rows: Rows) -> Finding:
    """Whether the error rises again from a weight of 0.1 on."""
    book = Book("sensitivity-weight", rows)
    series = book.series("error", "penalty", method="smcnn")
    up = sum(values[-1] > values[-3] + FLAT for values in series)
    gaps = [values[-1] - values[0] for values in series]
    found = (
        f"Between weights 0.1 and 10 it rises in {up} of {len(series)} settings; "
        f"from 1e-4 to 10 it changes by {span(gaps)}."
    )
    holds = up > len(series) / 2 if series else None
    return Finding("the error of SMCNN rises again for weights from 0.1 to 10", holds, found, book.command())


def steps_are_stable(rows: Rows) -> Finding:
    """Whether descent settles for the paper's steps."""
    book = Book("sensitivity-step", rows)
    ran = [e for e in book.entries if e.statuses]
    ended = {word: sum(word in e.statuses for e in ran) for e in ran for word in e.statuses}
    told = ", ".join(f"{word.replace('_', ' ')} {count}" for word, count in sorted(ended.items()))
    least = min((e.at["step"] for e in ran if "diverged" in e.statuses), default=None)
    found = f"Of {len(ran)} runs: {told}." + (
        "" if least is None else f" The smallest step that diverged is {least:g}."
    )
    holds = not {"diverged", "oscillating"} & set(ended) if ran else None
    return Finding("descent is stable for steps from 0.001 to 10", holds, found, book.command())


def two_penalties_agree(rows: Rows) -> Finding:
    """Whether SMCNN and SMCNmF are as near to each other as printed."""
    book = Book("ablation", rows)
    gaps = _gaps(book, "smcnn", "smcnmf")
    theirs = [abs(gap) for gap in _printed_gaps(book, "smcnn", "smcnmf")]
    found = f"Largest difference of error: {largest(gaps)}; printed: {max(theirs):.3f}."
    holds = max(gaps) <= max(theirs) if gaps else None
    return Finding("SMCNN and SMCNmF are nearly the same", holds, found, book.command())


def penalty_matters(rows: Rows) -> Finding:
    """Whether the nuclear norm gains as much over no penalty as printed."""
    book = Book("ablation", rows)
    gaps, theirs = _gaps(book, "smcnn", "smc_nr"), _printed_gaps(book, "smc_nr", "smcnn")
    found = f"Largest difference of error between the two optima: {largest(gaps)}; printed: {span(theirs)}."
    holds = max(gaps) >= min(theirs) if gaps else None
    return Finding("SMCNN is well ahead of SMC_NR, which has no penalty", holds, found, book.command())


def _gaps(book: Book, one: str, other: str) -> list[float]:
    pairs = [(book.get("error", one, **place), book.get("error", other, **place)) for place in book.places()]
    return [abs(a - b) for a, b in pairs if a is not None and b is not None]


def _printed_gaps(book: Book, one: str, other: str) -> list[float]:
    """The first's printed error minus the other's, wherever both were printed."""
    found = [(printed("ablation", one, place), printed("ablation", other, place)) for place in book.places()]
    return [a["error"] - b["error"] for a, b in found if a and b]


def _falls(claim: str, series: Sequence[Sequence[float]], along: str, command: str) -> Finding:
    down = sum(all(b <= a + FLAT for a, b in pairwise(values)) for values in series)
    gaps = [values[-1] - values[0] for values in series]
    found = f"It never rises {along} in {down} of {len(series)} settings, and changes by {span(gaps)}."
    return Finding(claim, down > len(series) / 2 if series else None, found, command)
