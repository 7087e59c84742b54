"""The posterior model: fit candidates once, calibrate on masks, then turn incomplete rows into vectors to search with.

For unit rows E[cos(p, q) | observed] = p . E[q/|q| | observed] for every candidate p, so the best estimate in the
squared sense needs one vector u per query, at most 1 long: similarities are products with it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from simcomplete._posterior.candidates.conditional import Queries, Space, unit_rows
from simcomplete._posterior.candidates.grid import Choice, Objective, choose, choose_fast, untrained
from simcomplete._posterior.candidates.local import RIDGE_MOST
from simcomplete._posterior.candidates.moments import Matrix
from simcomplete._posterior.candidates.stack import Stack, learn_stack
from simcomplete._posterior.shared.holdout import rehearse
from simcomplete._posterior.shared.neighbours import MOST, nearest
from simcomplete.errors import InputError

Effort = Literal["full", "fast", "best"]
FEW = 40  # below this many candidates there is nothing to calibrate on
SIMULATED = {"full": 200, "fast": 200, "best": 200}
BATCH = 256  # queries at a time, so that memory does not grow with them
LEARN: dict[str, Callable[[Any, Objective], Choice | Stack]] = {
    "full": choose,
    "fast": choose_fast,
    "best": learn_stack,
}


def check_settings(effort: str, objective: str = "error") -> None:
    """Refuse settings there are not."""
    if effort not in SIMULATED:
        raise InputError(f"effort={effort!r} is unknown; use 'full', 'fast' or 'best'")
    if objective not in ("error", "recall"):
        raise InputError(f"objective={objective!r} is unknown; use 'error' or 'recall'")


@dataclass(frozen=True)
class Vectors:
    """One vector per query, and its length: 1 when everything is known."""

    u: Matrix
    length: Matrix

    @property
    def spread(self) -> Matrix:
        """What error bars grow with: sqrt(1 - length^2), 0 where all is known."""
        return np.sqrt(np.where(self.length < 1, np.maximum(1 - self.length**2, 1e-4), 0.0))


@dataclass(frozen=True)
class Posterior:
    """Candidates in their spaces and, once calibrated, what was chosen for them.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> P = rng.random((60, 5))
    >>> model = Posterior.fit(P).calibrate(rng.random((20, 5)) < 0.5, rng=rng)
    >>> u = model.vectors(np.array([[0.2, np.nan, 0.4, np.nan, np.nan]])).u
    >>> u.shape, bool(np.linalg.norm(u) <= 1)
    ((1, 5), True)
    """

    P: Matrix
    unit: Matrix
    spaces: dict[str, Space]
    choice: Choice | Stack | None = None
    most: int = MOST

    @cached_property
    def squares(self) -> Matrix:
        """Squared unit rows, for overlap cosines."""
        return self.spaces["unit"].squares if "unit" in self.spaces else self.unit * self.unit

    @classmethod
    def fit(cls, P: Matrix, effort: Effort = "full") -> Posterior:
        """Take complete candidates: one pass for each space."""
        check_settings(effort)
        names = ("raw",) if len(P) < FEW else ("unit",) if effort == "fast" else ("raw", "unit")
        most = RIDGE_MOST if effort == "best" else MOST
        return cls(P, unit_rows(P), {name: Space.of(name, P) for name in names}, most=most)

    def calibrate(
        self,
        masks: NDArray[np.bool_],
        *,
        rng: np.random.Generator,
        effort: Effort = "full",
        objective: Objective = "error",
    ) -> Posterior:
        """Choose settings and learn lengths on candidates that lose what `masks` (True = observed) lack."""
        check_settings(effort, objective)
        if len(self.P) < FEW:
            return replace(self, choice=untrained(len(self.P)))
        count = min(SIMULATED[effort], len(self.P) // 4)
        rehearsal = rehearse(self.P, self.spaces, masks, count, rng, self.most)
        return replace(self, choice=LEARN[effort](rehearsal, objective))

    def with_rows(self, X: Matrix) -> Posterior:
        """The model with more candidates, by exact updates; what was chosen stays."""
        P = np.concatenate([self.P, X])
        spaces = {name: space.with_rows(X) for name, space in self.spaces.items()}
        return replace(self, P=P, unit=np.concatenate([self.unit, unit_rows(X)]), spaces=spaces)

    def without(self, gone: NDArray[np.int64]) -> Posterior:
        """The model with some candidates removed, by exact downdates; what was chosen stays."""
        rest = np.setdiff1d(np.arange(len(self.P)), gone)
        spaces = {name: space.without(rest, gone, bounds=True) for name, space in self.spaces.items()}
        return replace(self, P=self.P[rest], unit=self.unit[rest], spaces=spaces)

    def vectors(self, Q: Matrix) -> Vectors:
        """Turn rows with NaN into vectors whose products with unit candidates are expected similarities."""
        parts = [self._vectors(Q[i : i + BATCH]) for i in range(0, len(Q), BATCH)]
        return Vectors(np.concatenate([p.u for p in parts]), np.concatenate([p.length for p in parts]))

    def _vectors(self, Q: Matrix) -> Vectors:
        assert self.choice is not None  # calibrate came first
        observed = ~np.isnan(Q)
        values = np.where(observed, Q, 0.0)
        near = nearest(self.unit, values, observed.astype(float), self.most, self.squares)
        u, length = self.choice.vectors(self.spaces, self.unit, Queries(values, observed, near))
        return finished(u, length, values, observed)


def finished(u: Matrix, length: Matrix, values: Matrix, observed: NDArray[np.bool_]) -> Vectors:
    """Directions times lengths; complete rows are known exactly."""
    whole = observed.all(axis=1)
    u[whole] = unit_rows(values[whole])
    length[whole] = 1.0
    length[~u.any(axis=1)] = 0.0  # a row of zeros points nowhere
    return Vectors(u * length[:, None], length)
