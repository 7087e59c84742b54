"""docs/results.md, rendered from the rows alone: no number is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from benchmarks.results import few, given, masks, natural, reference, rows, similarities
from benchmarks.results.tables import Row

PARTS: dict[str, ModuleType] = {
    "reference": reference,
    "masks": masks,
    "few": few,
    "natural": natural,
    "rows": rows,
    "similarities": similarities,
    "given": given,
}
ROWS = Path(__file__).with_name("rows.jsonl")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
HEAD = """\
# How accurate

Rendered by `python -m benchmarks.results --render` from `benchmarks/results/rows.jsonl`; without `--render` the
command runs what has no row yet. The data come from the folder in `SIMCOMPLETE_DATA`, except digits, which
scikit-learn brings along."""


def page(found: Sequence[Row]) -> str:
    """The page, with a section for every part that has rows."""
    lines = [HEAD, "", *_measured_by(found)]
    for name, part in PARTS.items():
        own = [row for row in found if row["part"] == name]
        if own:
            lines += [f"## {part.TITLE}", "", *part.render(own)]
    return "\n".join(lines).rstrip() + "\n"


def write(text: str, path: Path) -> None:
    """Write to a temporary name and move into place: a page is whole or as before."""
    other = path.with_name(path.name + ".tmp")
    other.write_text(text, encoding="utf-8")
    other.replace(path)


def _measured_by(found: Sequence[Row]) -> list[str]:
    told = sorted({row["versions"] for row in found})
    return [f"{len(found)} trials, one thread each. Measured by: {'; '.join(told)}.", ""]
