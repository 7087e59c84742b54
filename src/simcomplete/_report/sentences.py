"""Sentences about the results of the demonstration, made from its numbers."""

from __future__ import annotations

from collections.abc import Sequence

from simcomplete._report.demo import Row

# A failed check in words, with its number.
FAILURES = {
    "symmetric": "it differs from its transpose by up to {0:.3g}",
    "psd": "negative eigenvalues, down to {0:.3g}",
    "unit_diagonal": "a diagonal off by up to {0:.3g} where it must be 1",
    "bounded": "entries up to {0:.3g}, and a cosine is at most 1",
    "candidates_exact": "known similarities among candidates moved by up to {0:.3g}",
}


def validity_sentences(rows: Sequence[Row]) -> list[str]:
    """Say which results are valid matrices of cosines, and which checks others fail; equal ones share a sentence.

    Examples
    --------
    >>> checks = {"psd": {"ok": False, "value": -11.5}}
    >>> validity_sentences([Row("overlap", 1.0, 0.5, 0.3, 0.6, 1200, False, ["psd"], checks, 0.1)])
    ['overlap is not a valid matrix of cosines (negative eigenvalues, down to -11.5).']
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.fails), []).append(row)
    sentences = []
    for fails, alike in groups.items():
        *others, last = (row.method for row in alike)
        names = f"{', '.join(others)} and {last}" if others else last
        # For each check the number farthest from zero.
        worst = [max((row.validity[name]["value"] for row in alike), key=abs) for name in fails]
        failures = "; ".join(FAILURES.get(name, name).format(value) for name, value in zip(fails, worst, strict=True))
        if fails:
            sentences.append(f"{names} {'are' if others else 'is'} not a valid matrix of cosines ({failures}).")
        else:
            sentences.append(f"{names} {'pass' if others else 'passes'} all five checks of validity.")
    return sentences


def change_sentence(before: Row, after: Row) -> str:
    """Compare the measures of two methods in one sentence.

    Examples
    --------
    >>> s0 = Row("overlap", 1.0, 0.55, 0.34, 0.6, 1200, False, [], {}, 0.1)
    >>> change_sentence(s0, Row("smcnn", 0.77, 0.55, 0.41, 0.7, 100, False, [], {}, 0.1)).split(", ")[1:]
    ['recall@20% stays at 0.550', 'recall@10 rises from 0.340 to 0.410.']
    """
    pairs = {
        "the error": (before.error, after.error),
        "recall@20%": (before.recall_fifth, after.recall_fifth),
        "recall@10": (before.recall_ten, after.recall_ten),
    }
    changes = [f"{name} {_change(f'{old:.3f}', f'{new:.3f}', new > old)}" for name, (old, new) in pairs.items()]
    return f"From {before.method} to {after.method} {', '.join(changes)}."


def summary_sentences(rows: Sequence[Row], featured: str) -> list[str]:
    """Summarise the table: what the featured method changes, the best methods, and which results are valid."""
    after = next((row for row in rows if row.method == featured), rows[-1])
    sentences = [change_sentence(rows[0], after)] if after is not rows[0] else []
    if len(rows) > 1:
        smallest = min(rows, key=lambda row: row.error)
        highest = max(rows, key=lambda row: row.recall_ten)
        sentences.append(
            f"The smallest error: {smallest.method} ({smallest.error:.3f}). "
            f"The highest recall@10: {highest.method} ({highest.recall_ten:.3f})."
        )
    return sentences + validity_sentences(rows)


def _change(old: str, new: str, up: bool) -> str:
    return f"stays at {new}" if old == new else f"{'rises' if up else 'falls'} from {old} to {new}"
