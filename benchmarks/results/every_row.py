"""Every row incomplete, with the patterns of real tables; the data are complete, so that the truth is known."""

from __future__ import annotations

from collections.abc import Sequence

from benchmarks.all_rows_cells import BY_VALUE, IGNORABLE, SETS, complete_part, hidden
from benchmarks.results import data
from benchmarks.results.tables import Row, failures, mean, number, table
from benchmarks.results.trial import Problem, Trial, of_rows

TITLE = "Every row incomplete: eleven patterns of missing values"
ROWS, FEW = 200, {"hela_proteomics": 50}
SEEDS = (0, 1, 2)
LEFT_OUT = ("mnist",)  # the patterns were studied on the other sets
TEXT = f"""\
{ROWS} rows of complete data (hela {FEW["hela_proteomics"]}), with values hidden in every row; of tables with real
missing values, the complete rows or columns. Similarities are over all features. The table has the relative squared
error of `posterior`, without the diagonal. The method was developed on these data sets, with these seeds among
others, so this is not an independent test.

| pattern | which values are missing |
| :-- | :-- |
| `mcar.1`, `.5`, `.9` | this share, at random |
| `mixed` | at random, another share in every row |
| `block` | a run of neighbouring features |
| `feat` | at random, another share in every feature |
| `drop` | all features after some point |
| `mar` | depends on the first principal score of the row, with random signs |
| `mnar`, `mnarg` | low values of every feature, low values of the whole table |
| `mar2` | depends on what the other features predict for the value; the data cannot show the difference to `mnar` |
"""


def trials(quick: bool) -> list[Trial]:
    seeds = (0,) if quick else SEEDS
    masks = ("mcar.5", "mnar") if quick else (*IGNORABLE, *BY_VALUE)
    names = [name for name in SETS if name not in LEFT_OUT and data.there(name)]
    return [
        Trial("every_row", name, mask, 0.0, FEW.get(name, 60 if quick else ROWS), 0, seed, "posterior", "full")
        for seed in seeds
        for name in (names[:1] if quick else names)
        for mask in masks
    ]


def problem(trial: Trial) -> Problem:
    X = complete_part(trial.dataset, trial.n_p, trial.seed)
    return of_rows(hidden(X, trial.mask, trial.seed), X, trial.seed)


def render(rows: Sequence[Row]) -> list[str]:
    names = list(dict.fromkeys(row["dataset"] for row in rows))
    masks = list(dict.fromkeys(row["mask"] for row in rows))

    def cell(name: str, mask: str, *measures: str) -> str:
        own = [row for row in rows if (row["dataset"], row["mask"]) == (name, mask)]
        return ", ".join(number(mean(own, measure)) for measure in measures)

    seeds = ", ".join(map(str, sorted({row["seed"] for row in rows})))
    head = ["", *names]
    errors = [[mask, *(cell(name, mask, "error") for name in names)] for mask in masks]
    inside = [[mask, *(cell(name, mask, "coverage", "width") for name in names)] for mask in masks]
    between = "Coverage of 90 percent intervals, and their mean half-width:"
    return [
        TEXT,
        f"{'Seed' if len(seeds) == 1 else 'Seeds'} {seeds}.",
        "",
        *table(head, errors),
        between,
        "",
        *table(head, inside),
        *failures(rows),
    ]
