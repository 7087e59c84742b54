"""How two samples are compared, and what a comparison stands on."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._rows.xp import Array, namespace

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

    @property
    def is_plain_cosine(self) -> bool:
        """Whether it is the cosine as it stands."""
        return self.metric == "cosine" and self.epsilon == 0 and not self.positive


PLAIN = Measure()  # the cosine


@dataclass(frozen=True)
class Evidence:
    """How many pairs, and which rows, had no common features to compare."""

    pairs: int
    pairs_without: int
    rows_without: tuple[int, ...]
    min_overlap: int = 1

    @classmethod
    def combined(cls, n_p: int, without: int, zero: tuple[int, ...], queries: Evidence, measure: Measure) -> Evidence:
        """Put the counts of candidates, of candidates with queries and of queries together."""
        n = n_p + (1 + round((1 + 8 * queries.pairs) ** 0.5)) // 2
        empty = () if measure.epsilon > 0 else zero
        good = n_p - len(empty)
        without += queries.pairs_without + n_p * (n_p - 1) // 2 - good * (good - 1) // 2
        lonely = (*empty, *(n_p + k for k in queries.rows_without))
        return cls(n * (n - 1) // 2, without, lonely, measure.min_overlap)

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
