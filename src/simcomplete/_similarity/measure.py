"""How two samples are compared, and what a comparison stands on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.validate import check_number
from simcomplete._rows.xp import Array, namespace
from simcomplete.errors import InputError

Metric = Literal["cosine", "pearson"]


@dataclass(frozen=True)
class Measure:
    """How two samples are compared: the metric and what counts as evidence.

    `epsilon` and `positive` are the paper's two practical remarks; both are off unless asked for.
    """

    metric: Metric = "cosine"
    min_overlap: int = 1
    epsilon: float = 0.0
    positive: bool = False

    def checked(self, d: int) -> Measure:
        """Return self, or say which setting cannot be used with `d` features."""
        if self.metric not in ("cosine", "pearson"):
            raise InputError(f"metric={self.metric!r} is unknown; use 'cosine' or 'pearson'", about=("metric",))
        whole = isinstance(self.min_overlap, (int, np.integer)) and not isinstance(self.min_overlap, bool)
        if not whole or not 1 <= self.min_overlap <= d:
            raise InputError(
                f"min_overlap={self.min_overlap!r} must be a whole number from 1 to the {d} features given",
                about=("min_overlap",),
            )
        if check_number(self.epsilon, "epsilon") > 0 and self.metric != "cosine":
            raise InputError(
                "epsilon smooths zero vectors under the cosine only; a constant row has no Pearson "
                "correlation, smoothed or not: leave epsilon=0",
                about=("epsilon",),
            )
        return self

    def as_params(self) -> dict[str, Any]:
        """The settings as they are recorded with a result: the paper's two remarks only where they are on."""
        remarks = {"epsilon": self.epsilon, "positive": self.positive}
        used = {name: value for name, value in remarks.items() if value}
        return {"metric": self.metric, "min_overlap": self.min_overlap, **used}


PLAIN = Measure()  # the cosine


@dataclass(frozen=True)
class Evidence:
    """What the similarities stand on: how many pairs, and which rows, had nothing to compare."""

    pairs: int
    pairs_without: int
    rows_without: tuple[int, ...]
    min_overlap: int = 1

    def diagonal_deficit(self, n: int, measure: Measure) -> NDArray[np.float64] | None:
        """What rows without any evidence lack on the diagonal of n rows; None where there are no such rows."""
        if not self.rows_without:
            return None
        deficit = np.zeros(n)
        deficit[list(self.rows_without)] = 0.5 if measure.positive else 1.0
        return deficit

    def as_dict(self) -> dict[str, Any]:
        """Return plain values, for JSON."""
        return {**asdict(self), "rows_without": list(self.rows_without)}


def to_unit_interval(S: Array) -> Array:
    """Map [-1, 1] to (0, 1] by (1 + s)/2; the floor keeps 0 out."""
    xp = namespace(S)
    return xp.clip((1 + S) / 2, float(xp.finfo(S.dtype).eps), 1.0)
