"""How a model of complete candidates is saved: what each of its parts is made of, see `_result.layout`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.copies import CopyDetector
from simcomplete._posterior.candidates.grid import SPACES, GridChoice, Lengths
from simcomplete._posterior.candidates.model import CandidateModel
from simcomplete._posterior.candidates.moments import Space, Statistics, WideStatistics
from simcomplete._posterior.candidates.source import Candidates
from simcomplete._posterior.candidates.stack import Stack
from simcomplete._posterior.shared.copy_classes import FEATURES, CopyModel
from simcomplete._posterior.shared.neighbours import KeptRows
from simcomplete._result.intervals import RankedErrors
from simcomplete._result.layout import Each, Either, Layout, Maybe, Parts, Record, Several
from simcomplete._result.layout_values import ArrayOf, Floats, TableOf, Value
from simcomplete._rows.table import HeldRows, RowTable
from simcomplete._types import Matrix

REAL, FLAG, SPACE = Value(float), Value(bool), Value(str, SPACES)
POSITIVE = Value(float, low=5e-324)


class DeferredRows(KeptRows):
    """Unit rows of a stored table, made when they are first asked for: many a loaded result is never asked."""

    def __init__(self, table: RowTable, scale: float) -> None:
        object.__setattr__(self, "_made", partial(_unit_rows, table, scale))

    def __getattr__(self, name: str) -> Any:
        if name != "unit":
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        object.__setattr__(self, "unit", self.__dict__["_made"]())
        return self.__dict__[name]


def _unit_rows(table: RowTable, scale: float) -> Matrix:
    return Candidates(table, scale).keep().kept.unit  # type: ignore[union-attr]


def _candidates(table: RowTable, scale: float, kept: bool, zero: NDArray[np.int64]) -> Candidates:
    return Candidates(table, scale, DeferredRows(table, scale) if kept else None, zero, progress=False)


def in_memory(model: CandidateModel) -> CandidateModel:
    """The same model, where its candidates are to be kept with all of them read: it will be used many times."""
    if not model.in_memory:
        return model
    candidates = replace(model.candidates, table=HeldRows(np.asarray(model.candidates.table.whole())), kept=None)
    return replace(model, candidates=candidates.keep())


def _taken_candidates(made: Candidates) -> dict[str, Any]:
    return {"table": made.table, "scale": made.scale, "kept": made.kept is not None, "zero": made.zero}


CANDIDATES = Record(
    Candidates,
    {
        "table": TableOf(("candidates", "d")),
        "scale": POSITIVE,
        "kept": FLAG,
        "zero": ArrayOf("whole numbers", ("zero",), below="candidates"),
    },
    _candidates,
    _taken_candidates,
)
STATISTICS = Record(
    Statistics,
    {
        "n": POSITIVE,
        "centre": Floats("d"),
        "total": Floats("d"),
        "outer": Floats("d", "d"),
        "squares": Floats("d"),
    },
)
WIDE_STATISTICS = Record(WideStatistics, {"rows": Floats("pool", "d")})
SPACE_OF_ROWS = Record(
    Space,
    {
        "name": SPACE,
        "statistics": Either(lambda: (STATISTICS, WIDE_STATISTICS)),
        "lowest": Floats("d"),
        "highest": Floats("d"),
    },
)
SPACES_OF_ROWS = Several(SPACE_OF_ROWS, SPACE)
LENGTHS = Record(
    Lengths,
    {
        "intercept": REAL,
        "slopes": Floats("features of lengths"),
        "mean": Floats("features of lengths"),
        "sd": Floats("features of lengths"),
        "low": REAL,
        "high": REAL,
        "scale": REAL,
    },
)
LEARNT: dict[str, Layout] = {"error": REAL, "recall": REAL, "quantiles": Floats(1001)}
GRID_CHOICE = Record(
    GridChoice,
    {"space": SPACE, "delta": Value(float, low=0.0, high=1.0), "k": POSITIVE, "a": REAL, "clip": FLAG}
    | {"lengths": LENGTHS, **LEARNT},
)
KEY = Each((SPACE, Value(str, ("k5", "k10", "k20", "r", "p", "q")), REAL, FLAG))
STACK = Record(
    Stack,
    {
        "deltas": Several(Value(float, low=0.0, high=1.0), SPACE),
        "lengths": Several(LENGTHS, KEY),
        "average": Several(REAL, KEY),
        "singles": Several(KEY),
        "coefficients": Floats("directions"),
        "strength": REAL,
        **LEARNT,
    },
)
CHOICE = Either(lambda: (GRID_CHOICE, STACK))
RANKED_ERRORS = Record(
    RankedErrors,
    {
        "shares": Floats("buckets"),
        "table": Floats("buckets", "levels"),
        "residuals": Floats("simulated", "d"),
        "simulated": Floats("simulated", "d"),
    },
)
COPY_MODEL = Record(
    CopyModel,
    {
        "weights": Floats((FEATURES + 1) * (FEATURES + 2) // 2, 4),  # 1, the features, and their products
        **{name: Floats(FEATURES) for name in ("low", "high", "mean", "sd")},
        "rates": Floats(3),
    },
)


@dataclass(frozen=True)
class PriorLayout:
    """A share, or one for each kind of copy."""

    one = Value(float, low=0.0, high=1.0)
    each = Each((one, one, one))

    def write(self, value: Any, at: str, parts: Parts) -> Any:
        """A number or a list."""
        return (self.one if isinstance(value, float) else self.each).write(value, at, parts)

    def read(self, stored: Any, at: str, parts: Parts) -> Any:
        """The same."""
        return (self.each if isinstance(stored, list) else self.one).read(stored, at, parts)


COPY_DETECTOR = Record(
    CopyDetector,
    {
        "classes": COPY_MODEL,
        "deviations": Floats("d"),
        "coincidences": Floats("d"),
        "n": Value(int, low=1, high=2**62),
        "moves": FLAG,
        "doubtful": FLAG,
    },
)
CANDIDATE_MODEL = Record(
    CandidateModel,
    {
        "candidates": CANDIDATES,
        "spaces": SPACES_OF_ROWS,
        "choice": CHOICE,
        "errors": Maybe(RANKED_ERRORS),
        "copying": Maybe(COPY_DETECTOR),
        "prior": Maybe(PriorLayout()),
    },
)
