"""`auto` for tables in which every row may be incomplete: compare `posterior` with the other methods.

`posterior` hides some values of some rows to learn from, and predicts them. The other methods complete the same rows
without these values. What is scored are similarities with other rows over the features that both rows had, because only
their true values are known. `posterior` runs once; the comparison adds the time that the other methods take on at most
1,100 rows.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import AllRows
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method
from simcomplete._posterior.all_rows.hidden_values import HiddenValues
from simcomplete._posterior.all_rows.scored_pairs import HoldoutResult, drawn_others
from simcomplete._posterior.all_rows.select import CHOSEN_ON
from simcomplete._posterior.method import from_rows
from simcomplete._result.completion import Completion
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete._similarity.overlap import overlap_similarity
from simcomplete._types import Mask, Matrix
from simcomplete.metrics import recall_at

ROW_METHODS = ("overlap", "smcnn", "posterior")  # compared where every row may be incomplete
# A pair is scored if the two rows had at least so many features in common; with fewer features, half of them.
MIN_COMMON = 10
MIN_PAIRS = 0.2  # of the pairs must have as many


class Score(NamedTuple):
    """Squared error relative to that of S0, recall of the ten nearest, and seconds."""

    error: float
    recall: float
    seconds: float = 0.0


class ScoredRows:
    """Rows of which values were hidden, their similarities before that, and which pairs are scored."""

    def __init__(self, lost: HiddenValues, others: NDArray[np.int64], holdout: HoldoutResult | None = None) -> None:
        used = np.union1d(lost.scored, others)
        self.holdout = holdout
        self.left: Matrix = lost.X[used]
        self.rows, self.cols = np.searchsorted(used, lost.scored), np.searchsorted(used, others)
        before = lost.before()[used]
        known = (~np.isnan(before)).astype(np.float64)
        common = known[self.rows] @ known[self.cols].T
        needed = min(MIN_COMMON, max(1, known.shape[1] // 2))
        self.pairs: Mask = np.asarray((common >= needed) & (lost.scored[:, None] != others))
        self.truth = self._of(np.asarray(overlap_similarity(before, progress=False)))
        self.overlap = self._of(np.asarray(overlap_similarity(self.left, progress=False)))

    def _of(self, S: Matrix) -> Matrix:
        return np.where(self.pairs, S[np.ix_(self.rows, self.cols)], 0.0)

    @property
    def enough(self) -> bool:
        """Whether methods can be compared: enough pairs have a known similarity, and S0 is wrong for some of them."""
        return bool(self.pairs.mean() >= MIN_PAIRS and np.any(self.overlap != self.truth))

    def score(self, S: Matrix) -> tuple[float, float]:
        """Return the score of similarities of the scored rows with the others."""
        S = np.where(self.pairs, S, 0.0)
        base = float(np.sum((self.overlap - self.truth) ** 2))
        found, wanted = (np.where(self.pairs, each, -2.0) for each in (S, self.truth))
        k = min(10, self.truth.shape[1])
        return float(np.sum((S - self.truth) ** 2)) / base, float(recall_at(found, wanted, k=k))

    def try_method(self, method: Method, settings: Settings, own: dict[str, Any]) -> Score:
        """Complete the rows with hidden values by a method, and score it."""
        began = time.perf_counter()
        problem = AllRows(HeldRows(self.left), progress=False)
        fitting = replace(settings, rank=min(settings.rank, problem.n), out=None, rng=np.random.default_rng(0))
        done = method.run(problem, replace(fitting, progress=False), own)
        S = np.asarray(to_numpy(done.similarity(self.rows, self.cols)), dtype=np.float64)
        return Score(*self.score(S), time.perf_counter() - began)

    def of_posterior(self, seconds: float) -> Score:
        """Return the score of `posterior` from the predictions it made while it learnt."""
        assert self.holdout is not None  # it has run
        return Score(*self.score(self.holdout.restricted()), seconds)


def posterior_with_holdout(
    problem: AllRows, settings: Settings, own: Mapping[str, Any]
) -> tuple[Completion, ScoredRows | None, float]:
    """Complete by `posterior`; return the completion, the rows to score methods by (or None), and the seconds."""
    seen: list[HoldoutResult] = []
    began = time.perf_counter()
    done = from_rows(problem, settings, dict(own), watch=seen.append)
    seconds = time.perf_counter() - began
    scored = ScoredRows(seen[-1].lost, seen[-1].others, seen[-1]) if seen and seen[-1].finite else None
    return done, scored if scored is not None and scored.enough else None, seconds


def rows_to_score(problem: AllRows, settings: Settings) -> ScoredRows | None:
    """Hide values of some rows, for when `posterior`, which does so itself, is not among the methods."""
    rng = np.random.default_rng(settings.seed())
    X = problem.table[np.sort(rng.permutation(problem.n)[:CHOSEN_ON])]
    lost = HiddenValues.of(X[:, ~np.isnan(X).all(axis=0)], None, rng)
    scored = None if lost is None else ScoredRows(lost, drawn_others(len(X), rng))
    return scored if scored is not None and scored.enough else None
