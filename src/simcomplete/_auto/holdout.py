"""Choosing a method's parameters on the user's own data: hide what is known, see which setting finds it again.

Some candidates become simulated queries: they lose the features that real queries lack, each setting completes them
against the other candidates, and the one nearest to the known truth is taken. No ground truth about the real queries
is needed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from simcomplete._method.problem import CandidatesQueries, Problem
from simcomplete._method.settings import Settings
from simcomplete._method.spec import Method, Sizes
from simcomplete._result.completion import Completion
from simcomplete._rows.progress import track
from simcomplete._rows.table import HeldRows
from simcomplete._rows.xp import to_numpy
from simcomplete.errors import InputError
from simcomplete.metrics import recall_at

SIMULATED_QUERIES = 100
MAX_CANDIDATES = 2000  # that simulated queries are completed against
MIN_CANDIDATES = 8  # without which there is nothing to hide


@dataclass(frozen=True)
class Holdout:
    """Candidates as simulated queries, and their true similarities to the others and among themselves."""

    problem: CandidatesQueries
    settings: Settings
    truth: NDArray[np.float64]

    @property
    def sizes(self) -> Sizes:
        """What decides how long a method takes."""
        return Sizes(self.problem.n_candidates, self.problem.queries.n, self.problem.candidates.d, self.settings.rank)

    @cached_property
    def overlap(self) -> NDArray[np.float64]:
        """Similarities over common features of the simulated queries: an error of 1."""
        return np.asarray(to_numpy(self.problem.operator.dense())[self.problem.n_candidates :], dtype=np.float64)

    @cached_property
    def unit(self) -> float:
        """What an error is measured by: that of the overlap similarities, or the truth where nothing is missing."""
        gap = float(np.sum((self.overlap - self.truth) ** 2))
        whole = float(np.sum(self.truth**2))
        return gap if gap > 1e-20 * whole else whole or 1.0

    def score(self, method: Method, params: Mapping[str, Any]) -> tuple[float, float, Completion]:
        """Relative squared error of the queries' similarities, recall at 10, and the result itself."""
        settings = self.settings.but(dict(params), self.problem.n)
        # A source of random numbers of its own, so that no score depends on what was scored before.
        settings = replace(settings, rng=np.random.default_rng(0))
        # Ctrl-C ends all of it: the best so far of a score is of no use to anyone.
        done = method.run(self.problem, settings, own_parameters(method, {**params, "on_interrupt": None}))
        n, n_p = self.problem.n, self.problem.n_candidates
        S = to_numpy(done.matrix.block(slice(n_p, n), slice(0, n)))
        error = float(np.sum((S - self.truth) ** 2)) / self.unit
        return error, float(recall_at(S[:, :n_p], self.truth[:, :n_p], k=10)), done


def run_tuned(method: Method, problem: Problem, settings: Settings, params: dict[str, Any]) -> Completion:
    """Run a method with the best of its usual settings; what was tried is in `choice` of the result."""
    if not method.grid:
        raise InputError(f"method {method.name!r} has no settings to tune; leave tune out")
    holdout = hold_out(problem, settings)
    tried = []
    for option in track(method.grid, f"tuning {method.name}", settings.progress):
        try:
            error = holdout.score(method, {**params, **option})[0]
        except (InputError, ArithmeticError, np.linalg.LinAlgError):
            error = float("inf")  # a setting that cannot be used here loses
        tried.append({**option, "error": error if np.isfinite(error) else float("inf")})
    best = min(range(len(tried)), key=lambda i: tried[i]["error"])
    if not np.isfinite(tried[best]["error"]):
        raise InputError(f"no setting of {method.name!r} gave a finite answer on these data; choose another method")
    chosen = {**params, **method.grid[best]}
    done = method.run(problem, settings.but(chosen, problem.n), own_parameters(method, chosen))
    return replace(done, choice={"tuned": dict(method.grid[best]), "tried": tried})


def hold_out(problem: Problem, settings: Settings) -> Holdout:
    """Make simulated queries of some candidates, with the real queries' own masks."""
    if not isinstance(problem, CandidatesQueries):
        raise InputError(
            "known values of complete candidates must be hidden; give candidates and queries to complete()"
        )
    P, Q = problem.candidates, problem.queries
    if P.n < MIN_CANDIDATES:
        raise InputError(
            f"at least {MIN_CANDIDATES} candidates are needed to hide some of their values; {P.n} were given"
        )
    rng = np.random.default_rng(settings.seed())
    held = min(SIMULATED_QUERIES, P.n // 4)
    order = rng.permutation(P.n)[: held + MAX_CANDIDATES]
    hidden = np.isnan(to_numpy(Q.array))[rng.integers(Q.n, size=held)]
    true, rest = (to_numpy(P.take(np.sort(some))) for some in (order[:held], order[held:]))
    others = HeldRows(P.like(rest))
    some, measure = HeldRows(P.like(np.where(hidden, np.nan, true))), problem.measure
    shown = CandidatesQueries(others, some, measure, progress=settings.progress)
    whole = CandidatesQueries(others, HeldRows(P.like(true)), measure, progress=False)
    truth = np.asarray(to_numpy(whole.operator.dense())[others.n :], dtype=np.float64)
    return Holdout(shown, replace(settings, rank=min(settings.rank, shown.n), out=None), truth)


def own_parameters(method: Method, params: Mapping[str, Any]) -> dict[str, Any]:
    """Those parameters that are the method's own."""
    return {name: value for name, value in params.items() if name in method.parameters}
