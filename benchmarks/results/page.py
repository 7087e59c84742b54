"""docs/results.md, rendered from the rows alone: no number is typed by hand."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from types import ModuleType

from benchmarks.results import every_row, few, given, masks, natural, reference, rows, similarities
from benchmarks.results.tables import Row

PARTS: dict[str, ModuleType] = {
    "reference": reference,
    "masks": masks,
    "few": few,
    "natural": natural,
    "every_row": every_row,
    "rows": rows,
    "similarities": similarities,
    "given": given,
}
ROWS = Path(__file__).with_name("rows.jsonl")
PAGE = Path(__file__).resolve().parents[2] / "docs" / "results.md"
HEAD = """\
# Accuracy

This page shows how close completed similarities are to the true ones: nine complete data sets whose values were
hidden on purpose, tables with real missing values, and given similarity matrices. In most tables `posterior` has the
smallest error; cases where another method is better, or where intervals are too narrow, are shown as well.

The page is made by `python -m benchmarks.results --render` from the stored results in
`benchmarks/results/rows.jsonl`. Without `--render` the command runs the trials that have no result yet. The data are
read from the folder in `SIMCOMPLETE_DATA`, except digits, which are part of scikit-learn.

| word | meaning |
| :-- | :-- |
| error | relative squared error: that of the result divided by that of the overlap similarities S0; 0 is perfect |
| recall | recall@10: the share of the true ten nearest that a search finds |
| coverage | the share of true similarities inside the 90 percent intervals; .9 is ideal |
| error of S0 | root mean squared error of the overlap similarities; if it is tiny, there is little to improve |"""


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
