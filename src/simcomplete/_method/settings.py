"""Settings that all methods share: rank, penalty, random generator, progress, output file."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from simcomplete._rows.sink import Output


@dataclass(frozen=True)
class Settings:
    """Settings that all methods share.

    Attributes
    ----------
    rank, rank_given : int, bool
        Bound on the rank, and whether the caller set it.
    penalty : float
        Weight of the penalty.
    rng : Generator
        Source of random numbers.
    progress : bool or None
        None shows progress on a terminal, False never.
    out : Output or None
        A file for the factor.
    """

    rank: int
    penalty: float
    rng: np.random.Generator
    rank_given: bool = False
    progress: bool | None = None
    out: Output | None = None

    def rank_or(self, default: int) -> int:
        """The rank the caller set, or a method's own default."""
        return self.rank if self.rank_given else default

    def seed(self) -> int:
        """Draw an integer seed, for libraries that need one."""
        return int(self.rng.integers(2**31))

    def but(self, params: dict[str, Any], n: int) -> Settings:
        """Return the settings with `rank` (at most n) and `penalty` replaced by those in `params`, where given."""
        penalty = float(params.get("penalty", self.penalty))
        if "rank" not in params:
            return replace(self, penalty=penalty)
        return replace(self, penalty=penalty, rank=min(int(params["rank"]), n), rank_given=True)


def as_recorded(params: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parameters as recorded on a result: plain values; arrays and functions as a word."""
    return {
        name: value if isinstance(value, (int, float, str, bool, type(None), list, tuple)) else "given"
        for name, value in params.items()
    }
