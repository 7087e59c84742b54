"""What our rows say about labels; no claim of the paper."""

from __future__ import annotations

from collections import Counter

from simcomplete._reproduction.report.results import Finding, ProtocolResults
from simcomplete._reproduction.reported import method_label
from simcomplete._reproduction.rows import RowsByTrial
from simcomplete._reproduction.summary import CellSummary

# How a class, neighbours of the same class, and clusters are found.
TASKS = {
    "classification": ("nn1", "nn5", "svc", "own_classifier"),
    "retrieval": ("retrieval",),
    "clustering": ("ari",),
}
FEWEST_METHODS = 5


def classes_found_best(rows: RowsByTrial) -> Finding:
    """Which method finds classes best, by the best of its classifiers, in each setting with enough methods."""
    results = ProtocolResults("downstream", rows)
    winners: dict[str, Counter[str]] = {task: Counter() for task in TASKS}
    for setting in results.settings():
        for column in dict.fromkeys(cell.column for cell in results.cells):
            cells = [cell for cell in results.where(column=column, **setting) if cell.mean]
            if len(cells) < FEWEST_METHODS:
                continue
            for task, measures in TASKS.items():
                scores = {
                    cell.method: score for cell in cells for score in [_best(cell, measures)] if score is not None
                }
                winners[task][max(scores, key=lambda name: scores[name])] += 1
    listed = [
        f"{task}: {', '.join(f'{method_label(name)} {count}' for name, count in counts.most_common())}"
        for task, counts in winners.items()
        if counts
    ]
    settings = sum(winners["classification"].values())
    numbers = f"First in {settings} settings, by {'; '.join(listed)}."
    holds = all(set(counts) == {"posterior"} for counts in winners.values()) if settings else None
    return Finding("(ours) posterior finds classes best", holds, numbers, results.command("--full"))


def _best(cell: CellSummary, measures: tuple[str, ...]) -> float | None:
    return max((cell.mean[name] for name in measures if name in cell.mean), default=None)
