"""What the numbers say, in plain words, whatever they turn out to be."""

from __future__ import annotations

from collections.abc import Sequence

from simcomplete._report.demo import Row

# How a failed check reads, with its number.
FAULTS = {
    "symmetric": "it differs from its transpose by up to {0:.3g}",
    "psd": "negative eigenvalues, down to {0:.3g}",
    "unit_diagonal": "a diagonal off by up to {0:.3g} where it must be 1",
    "bounded": "entries up to {0:.3g}, and a cosine is at most 1",
    "candidates_exact": "known similarities among candidates moved by up to {0:.3g}",
}


def verdicts(rows: Sequence[Row]) -> list[str]:
    """Say which results are valid matrices of cosines and why others are not, those with the same faults together.

    Examples
    --------
    >>> checks = {"psd": {"ok": False, "value": -11.5}}
    >>> verdicts([Row("overlap", 1.0, 0.5, 0.3, 0.6, 1200, False, ["psd"], checks, 0.1)])
    ['overlap: not a valid matrix of cosines (negative eigenvalues, down to -11.5).']
    """
    groups: dict[tuple[str, ...], list[Row]] = {}
    for row in rows:
        groups.setdefault(tuple(row.fails), []).append(row)
    told = []
    for fails, alike in groups.items():
        names = ", ".join(row.method for row in alike)
        # Of several, the worst: the number farthest from zero, for each of the checks.
        worst = [max((row.validity[name]["value"] for row in alike), key=abs) for name in fails]
        faults = "; ".join(FAULTS.get(name, name).format(value) for name, value in zip(fails, worst, strict=True))
        told.append(
            f"{names}: " + (f"not a valid matrix of cosines ({faults})." if fails else "valid in all five senses.")
        )
    return told


def comparison(before: Row, after: Row) -> str:
    """Say what one method changes against another, good or bad.

    Examples
    --------
    >>> s0 = Row("overlap", 1.0, 0.55, 0.34, 0.6, 1200, False, [], {}, 0.1)
    >>> comparison(s0, Row("smcnn", 0.77, 0.55, 0.41, 0.7, 100, False, [], {}, 0.1)).split(", ")[1:]
    ['recall@20% stays at 0.550', 'recall@10 rises from 0.340 to 0.410.']
    """
    pairs = {
        "the error": (before.error, after.error),
        "recall@20%": (before.recall_fifth, after.recall_fifth),
        "recall@10": (before.recall_ten, after.recall_ten),
    }
    changes = [f"{name} {_change(f'{old:.3f}', f'{new:.3f}', new > old)}" for name, (old, new) in pairs.items()]
    return f"From {before.method} to {after.method} {', '.join(changes)}."


def summary(rows: Sequence[Row], featured: str) -> list[str]:
    """Sum the table up: what the featured method changes, and what each result is worth as a matrix."""
    after = next((row for row in rows if row.method == featured), rows[-1])
    told = [comparison(rows[0], after)] if after is not rows[0] else []
    if len(rows) > 1:
        least = min(rows, key=lambda row: row.error)
        most = max(rows, key=lambda row: row.recall_ten)
        told.append(
            f"The least error: {least.method} ({least.error:.3f}). "
            f"The best recall@10: {most.method} ({most.recall_ten:.3f})."
        )
    return told + verdicts(rows)


def _change(old: str, new: str, up: bool) -> str:
    return f"stays at {new}" if old == new else f"{'rises' if up else 'falls'} from {old} to {new}"
